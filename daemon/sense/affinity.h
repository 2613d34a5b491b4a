/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One process: whose it is, and on which CPUs its threads may run.
 */
#ifndef IDLED_AFFINITY_H
#define IDLED_AFFINITY_H

#include <glib.h>
#include <sys/types.h>

#include "base/cpuset.h"

/* The CPUs that at least one thread of process `pid` may run on: affinity masks as far as cpusets
 * let them be, our own confinement included. Threads are looked at only until the set holds all of
 * `enough`, so that for most processes one is read; a process of more than 512 threads is taken to
 * run on all of these, and so is one that would make more than 1024 threads of the same user's with
 * those in `spent` (uid -> threads; NULL: there are no others), where they are added. -ESRCH: there
 * is no such process any more. */
int affinity_read(int root, pid_t pid, const CpuSet *enough, GHashTable *spent, CpuSet *ret_cpus);

/* The real and the effective user of process `pid`. -ESRCH as above; -EBADMSG: not told. */
int process_users_read(int root, pid_t pid, uid_t *ret_real, uid_t *ret_effective);

#endif
