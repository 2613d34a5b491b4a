/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CPUs that cgroups name in cpuset.cpus, in the unified hierarchy: what containers and virtual
 * machines ask for, whether or not systemd knows of them.
 */
#ifndef IDLED_CPUSETS_H
#define IDLED_CPUSETS_H

#include "model/plan.h"

/* Adds to `affinities` the list of every cgroup that has one, with owners such as "cgroup
 * /a.slice/b (cpuset.cpus=3)". Cgroups named in `ours`, paths such as "/idledpark.slice" that end
 * with NULL, do not count by themselves: idled wrote their lists. What is below them does. CPUs
 * that the kubelet gave away are added as sense/kubelet.h says, whose result is returned. */
int cpusets_read(int root, const Topology *topology, const char *const *ours,
                 Affinities *affinities);

/* False if a list of the cgroup at `path`, or of one above it, has none of the CPUs; those of
 * `ours` do not count. */
bool cpusets_permit(int root, const char *const *ours, const char *path, const CpuSet *cpus);

typedef struct CpusetWatch CpusetWatch;

/* Watches all cgroups of the unified hierarchy below `root` from now on. -ENOENT: there is none. */
int cpuset_watch_new(int root, CpusetWatch **ret_watch);
void cpuset_watch_free(CpusetWatch *watch);

/* Why some cgroup is not watched, as negative errno; 0: all are. -ENOSPC: the user has no inotify
 * watch left. cpuset_watch_retry() tries again to watch those, and a kubelet that came. */
int cpuset_watch_error(const CpusetWatch *watch);
void cpuset_watch_retry(CpusetWatch *watch);

/* Becomes readable when a cgroup comes or its list changes; belongs to `watch`. */
int cpuset_watch_fd(const CpusetWatch *watch);

/* Root made a cgroup without systemd, such as "/docker/ID". */
typedef void (*CpusetMade)(const char *path, void *userdata);

/* Takes all events that are there. True if a list changed, a partition, or the kubelet's state.
 * `made` may be NULL. */
bool cpuset_watch_read(CpusetWatch *watch, CpusetMade made, void *userdata);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(CpusetWatch, cpuset_watch_free)

#endif
