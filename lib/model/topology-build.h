/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Building a topology from the kernel's data about each CPU.
 *
 * sense/topology-read.c, or a test, fills one CpuFacts for each CPU; topology_build() finds the
 * groups.
 */
#ifndef IDLED_TOPOLOGY_BUILD_H
#define IDLED_TOPOLOGY_BUILD_H

#include <glib.h>

#include "model/topology.h"

/* What the kernel calls a core's type. */
typedef enum CoreType { CORE_TYPE_UNKNOWN, CORE_TYPE_SMALL, CORE_TYPE_LARGE, CORE_TYPES } CoreType;

/* A number that the kernel does not give is -1. Ids need only be equal within a group and different
 * between groups of the same package. A group is known by its id or by its lowest CPU, whichever
 * more CPUs have; the lowest CPU where as many have both. */
typedef struct CpuFacts {
        int package_id, die_id, core_id, cluster_id;
        int cache_id; /* lowest CPU that shares the last-level cache */
        int core_first, cluster_first, die_first,
                package_first; /* lowest CPU of the kernel's lists */
        int node;              /* the kernel's number */
        uint64_t capacity;     /* in any unit that is the same for all CPUs; 0 unknown */
        uint32_t cache_kib;    /* size of the last-level cache; 0 unknown */
        int cache_level;       /* of the last-level cache; 0 unknown */
        CoreType type;
} CpuFacts;

/* The machine of `n_cpus` facts, of which those in `online` count. `isolated` and `nohz_full` may
 * be NULL. Never fails: a group that the facts do not name is the next larger one, except that a
 * CPU without a core has one of its own. A CPU of unknown capacity is as fast as the fastest.
 * Groups nest whatever the facts say: a larger one that cuts a smaller one in two makes two of it.
 */
Topology *topology_build(int n_cpus, const CpuFacts *facts, const CpuSet *possible,
                         const CpuSet *online, const CpuSet *isolated, const CpuSet *nohz_full);

void topology_free(Topology *topology);

/* How many cores have a CPU among `cpus`. */
int topology_count_cores(const Topology *topology, const CpuSet *cpus);

/* True if both describe the same machine in the same state. */
bool topology_equal(const Topology *a, const Topology *b);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Topology, topology_free)

#endif
