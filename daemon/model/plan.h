/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan: the wishes of all policies merged into one, made safe.
 */
#ifndef IDLED_PLAN_H
#define IDLED_PLAN_H

#include "model/topology.h"
#include "model/wish.h"

/* Why the plan differs for a CPU from what policies wished. */
typedef enum Safety {
        SAFETY_NONE,
        SAFETY_LAST,      /* the set would have been empty */
        SAFETY_ISOLATED,  /* the administrator set it aside: never parked */
        SAFETY_PINNED,    /* the last CPU of someone's affinity mask or cpuset */
        SAFETY_NODE,      /* the last CPU of a NUMA node whose memory tasks are bound to */
        SAFETY_FORGOTTEN, /* parking anything would make the kernel forget an affinity */
} Safety;

typedef struct Plan {
        CpuSet allowed; /* CPUs for ordinary work; parked are the online CPUs that are not in it */
        uint64_t period_usec;
        bool settled, on_pressure;
} Plan;

/* Sets of CPUs that tasks or cpusets are restricted to, each a proper subset of the online CPUs,
 * without repetition, and the nodes that tasks' memory is bound to. What sense/pins.c reads. */
typedef struct Pins {
        int n_sets;
        CpuSet *sets;
        char **owners; /* one for each set, for people: "task 123 (name)", "cpuset /x" */
        int n_nodes;
        bool forgotten; /* some are affinities, which this kernel forgets when a cpuset changes */
        int *nodes;     /* node numbers as the kernel gives them */
} Pins;

/* A plan without any wish in it. */
void plan_init(Plan *plan);

/* Adds one policy's wish, field by field as wish.h says. */
void plan_merge(Plan *plan, const Wish *wish);

/*
 * Makes the plan one that hurts nobody, whatever the policies wished:
 * - only online CPUs are in `allowed`; isolated and nohz_full CPUs always are (not ours to park);
 * - it holds at least one usable CPU (topology_usable());
 * - all online CPUs, if there is any set in `pins` and this kernel would forget affinities;
 * - of every set of `pins` at least one online CPU;
 * - of every node of `pins` at least one usable CPU.
 * A CPU that is added is the one whose core is allowed already, else the fastest, else the first.
 * `pins` may be NULL: nobody restricts anything. If `ret_safety` is not NULL it has
 * topology->n_cpus entries and receives for each CPU that was added the reason.
 */
void plan_sanitize(Plan *plan, const Topology *topology, const Pins *pins, uint8_t *ret_safety);

/* Why, for people, static: "the last CPU of a task's affinity or of a cpuset". "" for SAFETY_NONE.
 */
const char *safety_text(Safety safety);

#endif
