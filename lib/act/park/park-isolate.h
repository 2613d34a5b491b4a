/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One isolated partition of cgroup v2 directly below the root. idled or another program made its
 * cgroup.
 */
#ifndef IDLED_PARK_ISOLATE_H
#define IDLED_PARK_ISOLATE_H

#include "act/park/park-common.h"

/* The two cgroups there can be: one that we make, and that of a slice of systemd's. */
#define PARK_GROUP "idled.parked"
#define PARK_SLICE "idledpark.slice"

/* Names of knobs of park_partition_kind: the list of CPUs and the type of a partition. */
#define PARK_CPUS_OF(group) group "/cpuset.cpus"
#define PARK_TYPE_OF(group) group "/cpuset.cpus.partition"

/* True if the kernel has isolated partitions; kernels before Linux 6.1, and unknown ones, do
 * not. */
bool isolate_is_known(int root);

/* The CPUs of the group's list; empty if it has none or is not there. */
CpuSet isolate_cpus(int root, const char *group);

/* A sibling cgroup of `group` that has CPUs of its own, some of them in `cpus`: while it has, no
 * partition can have these. As "user.slice has CPUs 0-1 of its own", a new string; NULL: none. */
char *isolate_rival(int root, const char *group, const CpuSet *cpus);

/* After CPUs that were in `before` and are not in `parked` were unparked: makes the kernel rebuild
 * the scheduling domains of those in `allowed`, unless it did so itself. */
int isolate_rebuild(int root, const char *group, const CpuSet *before, const CpuSet *parked,
                    const CpuSet *allowed);

/* 0 if the partition is active. -EBUSY: the kernel says that it is not; `*ret_why` is the kernel's
 * reason, as a new string. */
int isolate_check(int root, const char *group, char **ret_why);

#endif
