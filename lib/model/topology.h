/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the machine is: its CPUs and how they are grouped.
 *
 * CPUs are known by the kernel's numbers. Groups (cores, clusters, dies, packages, NUMA nodes) are
 * numbered from 0 without holes, in the order of their lowest CPU. The kernel's own ids
 * have holes and repeat from package to package; idled uses only its numbers of nodes. An offline
 * CPU belongs to no group. A core lies in one cluster, a cluster in one die, a die in one package.
 * A node may cut across all of them except cores.
 *
 * A cluster is a set of cores that share a cache beyond their own: the last-level cache (an AMD
 * CCX) or what the kernel calls a cluster (Intel's modules of E-cores), whichever is smaller,
 * provided that it is larger than one core; where there is neither, the die is the cluster. Cores
 * that have a smaller cluster of their own are not in the larger one: the P-cores of a hybrid are
 * those sharers of its last-level cache that belong to no module.
 *
 * Part of what idled installs for plugins; a plugin reads it and never changes it. Building one is
 * in topology-build.h.
 */
#ifndef IDLED_TOPOLOGY_H
#define IDLED_TOPOLOGY_H

#include <stdint.h>

#include "base/cpuset.h"

/* The capacity of the machine's fastest CPU; others are in proportion. */
#define CAPACITY_SCALE 1024

/* Kinds of cores: model/kind.c finds them. A machine whose cores are alike has none. */
typedef enum CoreKind {
        KIND_EFFICIENT = 1 << 0, /* slow, and frugal for the work it does */
        KIND_FAST = 1 << 1,      /* the others of a machine that has efficient ones; or faster than
                                    those with the largest cache */
        KIND_CACHE = 1 << 2,     /* of those that are not efficient: with the largest cache */
        KIND_ISLAND = 1 << 3,    /* efficient, on a die of its own: others' die can sleep */
} CoreKind;

/* Their names, in the order of the bits; an initializer that ends with NULL. */
#define CORE_KINDS 4
#define CORE_KIND_NAMES                                                                            \
        {                                                                                          \
                "efficient", "fast", "cache", "island", NULL                                       \
        }

typedef struct TopologyCpu {
        int16_t core, cluster, die, package, node; /* group numbers, -1 if offline */
        int16_t thread;                            /* rank among the threads of its core, from 0 */
        uint16_t capacity;                         /* 1 .. CAPACITY_SCALE */
        uint16_t kinds;                            /* bits of CoreKind; 0 if offline */
} TopologyCpu;

typedef struct TopologyCore {
        int16_t cluster, die, package, node;
        uint16_t capacity;  /* of its fastest thread */
        uint16_t n_threads; /* how many of its CPUs are online */
        uint32_t first;     /* its CPUs are core_cpus[first] .. core_cpus[first + n_threads - 1] */
} TopologyCore;

typedef struct Topology {
        int n_cpus; /* entries in `cpus`: the highest possible CPU number + 1 */
        TopologyCpu *cpus;
        int n_cores, n_clusters, n_dies, n_packages, n_nodes;
        TopologyCore *cores;
        int *core_cpus;
        int *node_ids; /* the kernel's number of each node: what tasks' memory is bound by */
        CpuSet possible, online;
        CpuSet isolated;  /* set aside by isolcpus= or an isolated partition */
        CpuSet nohz_full; /* run without a tick */
        CpuSet present;   /* the possible ones that the machine has now, online or not */
} Topology;

/* Adds to `set` the CPUs of core `core`. */
static inline void topology_add_core(const Topology *topology, int core, CpuSet *set)
{
        const TopologyCore *c = &topology->cores[core];

        for (int i = 0; i < c->n_threads; i++)
                cpuset_add(set, topology->core_cpus[c->first + i]);
}

/* The online CPUs that are of one of the kinds, bits of CoreKind. */
static inline CpuSet topology_of_kinds(const Topology *topology, unsigned kinds)
{
        CpuSet cpus = { 0 };

        for (int cpu = 0; cpu < topology->n_cpus; cpu++)
                if (topology->cpus[cpu].kinds & kinds)
                        cpuset_add(&cpus, cpu);
        return cpus;
}

/* The online CPUs that ordinary work is for: neither isolated nor nohz_full. If every CPU is set
 * aside, all that are online. */
static inline CpuSet topology_usable(const Topology *topology)
{
        CpuSet usable = topology->online;

        cpuset_subtract(&usable, &topology->isolated);
        cpuset_subtract(&usable, &topology->nohz_full);
        return cpuset_is_empty(&usable) ? topology->online : usable;
}

#endif
