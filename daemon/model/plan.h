/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan: the wishes of all policies merged into one, made safe.
 */
#ifndef IDLED_PLAN_H
#define IDLED_PLAN_H

#include "model/idle-table.h"
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
        SAFETY_UNKNOWN,   /* who depends on it is not known yet */
        SAFETY_KEPT,      /* a policy wishes that nobody parks it, or so many cores in use */
} Safety;

typedef struct Plan {
        CpuSet allowed; /* CPUs for ordinary work; parked are the online CPUs that are not in it */
        CpuSet kept;    /* CPUs that are in it for that reason alone, too */
        unsigned min_cores;
        uint64_t period_usec, wake_at_usec;
        bool settled, on_pressure;
        unsigned reads; /* Sense flags of the next reading */
        const char *idle_governor;
        int32_t global_latency_us;
        int n_cpus;
        CpuWish *cpus; /* by CPU number, merged; NULL: no policy wishes anything for single CPUs */
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

/* A plan without any wish in it. `cpus`, with room for `n_cpus` entries, takes the wishes for
 * single CPUs and stays the caller's; NULL: they are left out. */
void plan_init(Plan *plan, CpuWish *cpus, int n_cpus);

/* Adds one policy's wish, field by field as wish.h says; the policies come in the order of their
 * rank. Texts are kept by interning them, since options that they came from may change. */
void plan_merge(Plan *plan, const Wish *wish);

/* plan_merge()'s part for single CPUs, the idle governor and the global latency. */
void plan_merge_cpus(Plan *plan, const Wish *wish);

/* What CPUs that share a cpufreq policy get together, of the fields that are about frequency; the
 * others say "no wish". Where they differ the strictest counts: the highest minimum, the lowest
 * maximum (raised to the minimum), and of governors, EPP, EPB and boost the one that makes them
 * fastest, for somebody waits for the work and nobody for the saving. A word whose speed is not
 * known is slower than one whose is. */
CpuWish plan_shared_wish(const Plan *plan, const CpuSet *cpus);

/* Makes the wishes for single CPUs harmless: of `idle`, the tables of all CPUs (NULL: not known,
 * then no state is switched off), at least the shallowest state stays, bits of states that the CPU
 * does not have go, and no max_khz is below min_khz. */
void plan_sanitize_cpus(Plan *plan, const IdleTable *idle);

/* True if both ask the same of single CPUs. */
bool plan_equal_cpus(const Plan *a, const Plan *b);

/* True if both ask for the same, whatever their periods. */
bool plan_equal(const Plan *a, const Plan *b);

/*
 * Makes the plan one that hurts nobody, whatever the policies wished:
 * - only online CPUs are in `allowed`; isolated and nohz_full CPUs always are (not ours to park);
 * - it holds at least one usable CPU (topology_usable());
 * - all online CPUs, if there is any set in `pins` and this kernel would forget affinities;
 * - the online CPUs of `kept` are, and as many cores as `min_cores` says if there are so many;
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
