/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One process: its user, and the CPUs on which its threads may run.
 */
#ifndef IDLED_AFFINITY_H
#define IDLED_AFFINITY_H

#include <glib.h>
#include <sys/types.h>

#include "base/cpuset.h"

/* The CPUs that at least one thread of process `pid` may run on: affinities within cpusets,
 * including idled's confinement. Reading stops when the set contains all of `enough`, so that for
 * most processes one thread is read. A process of more than 512 threads counts as running on all of
 * these. So does one whose threads exceed 1024 together with those of the same user in `spent` (uid
 * -> threads; NULL: none), to which they are added. -ESRCH: there is no such process any more. */
int affinity_read(int root, pid_t pid, const CpuSet *enough, GHashTable *spent, CpuSet *ret_cpus);

/* The real and the effective user of process `pid`. -ESRCH as above; -EBADMSG: not in the file. */
int process_users_read(int root, pid_t pid, uid_t *ret_real, uid_t *ret_effective);

#endif
