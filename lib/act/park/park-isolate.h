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

/* Names of knobs of park_partition_kind: the lists of CPUs and the type of a partition. */
#define PARK_CPUS_OF(group)      group "/cpuset.cpus"
#define PARK_EXCLUSIVE_OF(group) group "/cpuset.cpus.exclusive"
#define PARK_TYPE_OF(group)      group "/cpuset.cpus.partition"

/* True if a partition takes the CPUs of cpuset.cpus.exclusive, whatever its siblings list
 * (Linux 6.8 and later). */
bool isolate_has_exclusive(int root);

/* The CPUs that the group takes from its siblings; empty if it is no partition or is not there. */
CpuSet isolate_cpus(int root, const char *group);

/* A sibling cgroup of `group` that has CPUs of its own, some of them in `cpus`: while it has, no
 * partition can have these. As "user.slice has CPUs 0-1 of its own", a new string; NULL: none.
 * Without `lists` that is another partition, or a sibling that would lose the last CPU of its list;
 * with it also one whose list has some of them, which matters before Linux 7.0. */
char *isolate_rival(int root, const char *group, const CpuSet *cpus, bool lists_matter);

/* After CPUs that were in `before` and are not in `parked` were unparked: makes the kernel rebuild
 * the scheduling domains of those in `allowed`, unless it did so itself. */
int isolate_rebuild(int root, const char *group, const CpuSet *before, const CpuSet *parked,
                    const CpuSet *allowed);

/* Online CPUs that the kernel lost: neither the root nor a partition has them. Early releases of
 * Linux 7.0 do not return all CPUs when overlapping partitions end. For a moment it may be CPUs
 * that move. Empty if it is not known. */
CpuSet isolate_lost(int root, const CpuSet *online);

/* 0 if the partition is active and has all of `parked`. -EBUSY: the kernel says that it is not, or
 * took CPUs from it for another partition; `*ret_why` says so, as a new string. */
int isolate_check(int root, const char *group, const CpuSet *parked, char **ret_why);

#endif
