/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks that depend on particular CPUs: affinities, and memory bound to NUMA nodes.
 *
 * The scan visits every thread in /proc and is too expensive for every tick. The manager scans
 * before it parks CPUs, and only so often that the cost stays under one percent. With many threads
 * the scan would delay clients, so it can be made in steps.
 */
#ifndef IDLED_AFFINITIES_H
#define IDLED_AFFINITIES_H

#include "model/plan.h"

typedef struct AffinityScan AffinityScan;

/* Begins to scan the tasks below `root`/proc. `confined` are the CPUs that are active now, NULL if
 * no task is confined: a task that may run on exactly these is not pinned but confined by idled. A
 * set that contains all usable CPUs is no restriction either. Kernel threads do not count: they are
 * bound to their CPU, and parking does not affect them. A task that exits meanwhile is skipped.
 * Nodes are those of tasks whose cpuset leaves out some node that has memory; mbind(2) and
 * set_mempolicy(2) are not visible. Fails only if there is no `root`/proc. */
int affinity_scan_new(int root, const Topology *topology, const CpuSet *confined,
                      AffinityScan **ret_scan);

/* Tasks that may run on exactly these CPUs are confined by idled, too. */
void affinity_scan_permit(AffinityScan *scan, const CpuSet *cpus);

/* Looks at so many tasks more, 1 or more; true if that may not have been all. */
bool affinity_scan_step(AffinityScan *scan, unsigned tasks);

/* What was found; frees the scan. */
Affinities *affinity_scan_end(AffinityScan *scan);
void affinity_scan_free(AffinityScan *scan);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(AffinityScan, affinity_scan_free)

#endif
