/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan: the requests of all policies, merged and made safe.
 */
#ifndef IDLED_PLAN_H
#define IDLED_PLAN_H

#include <glib.h>

#include "model/idle-table.h"
#include "model/topology.h"
#include "model/wish.h"

/* Why the plan differs for a CPU from what policies requested. */
typedef enum Safety {
        SAFETY_NONE,
        SAFETY_LAST,     /* the set would have been empty */
        SAFETY_ISOLATED, /* the administrator isolated it: never parked */
        SAFETY_PINNED,   /* the last CPU of a task's affinity or a cpuset */
        SAFETY_NODE,     /* the last CPU of a NUMA node whose memory tasks are bound to */
        SAFETY_UNKNOWN,  /* tasks that depend on it are not known yet */
        SAFETY_KEPT,     /* a policy requests this CPU, or a number of cores, to be active */
        SAFETY_UNIT,     /* the last CPU of those that a loaded unit names */
        SAFETY_GROUP,    /* the last CPU of those that a cgroup names */
        SAFETY_WINDOW,   /* a program starts, or a person types */
        SAFETY_REFUSED,  /* it was refused to a process or a unit, because it was parked */
} Safety;

typedef struct Plan {
        CpuSet allowed; /* active CPUs; the other online CPUs are parked */
        CpuSet kept;    /* CPUs that are in it for that reason alone, too */
        CpuSet widest; /* what a window makes of it; all CPUs unless the administrator named some */
        unsigned min_cores, contract_cores;
        uint64_t period_usec, wake_at_usec;
        bool settled, on_pressure;
        unsigned reads; /* Sense flags of the next reading */
        const char *idle_governor, *platform;
        int32_t global_latency_us;
        uint32_t p99_us; /* of a contract for all units without one; 0: none */
        CpuSet resting; /* what is left out of `allowed`, or only a window adds: what `quiet` is for
                         */
        QuietWish quiet;
        int n_cpus;
        CpuWish *
                cpus; /* by CPU number, merged; NULL: no policy requests anything for single CPUs */
} Plan;

/* Sets of CPUs that tasks, units or cgroups are restricted to, without repetition, and the nodes
 * that tasks' memory is bound to. */
typedef struct Affinities {
        int n_sets;
        CpuSet *sets;
        char **owners; /* one for each set, for people: "process 123 (sleep) may run on CPUs 2-3
                          only", "a.service has CPUAffinity=3". NULL: not known */
        int n_nodes;
        int *nodes;         /* node numbers as the kernel gives them */
        char **node_owners; /* one for each node, a task whose memory is bound to it, for people;
                               NULL: not known */
} Affinities;

/* What depends on particular CPUs. Each may be NULL: nothing does. */
typedef struct Dependents {
        const Affinities *tasks;   /* that run: sense/affinities.h */
        const Affinities *units;   /* that systemd has loaded: model/unit-cpus.h */
        const Affinities *groups;  /* whose cpuset names CPUs: sense/cpusets.h */
        const Affinities *refused; /* to which CPUs were refused: model/refused-cpus.h */
        const char *window;        /* what opened the window that is open; NULL: none is */
} Dependents;

/* Adds a set, unless it is there; `owner` is taken over. */
void affinities_add(Affinities *affinities, const CpuSet *set, char *owner);
void affinities_free(Affinities *affinities);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Affinities, affinities_free)

/* A plan without requests. `cpus`, with room for `n_cpus` entries, takes the requests for single
 * CPUs and stays the caller's; NULL: they are left out. */
void plan_init(Plan *plan, CpuWish *cpus, int n_cpus);

/* Adds one policy's request, field by field as wish.h says, in the order of the policies' rank.
 * Texts are interned, because the options that they came from may change. */
void plan_merge(Plan *plan, const Wish *wish);

/* plan_merge()'s part for single CPUs, the idle governor, the platform profile and the global
 * latency. */
void plan_merge_cpus(Plan *plan, const Wish *wish);

/* The merged frequency request for CPUs that share a cpufreq policy; the other fields have no
 * request. The strictest wins: the highest minimum, the lowest maximum (raised to the minimum), and
 * the fastest governor, EPP, EPB and boost, because performance matters more than the saving. A
 * word whose speed is not known counts as slowest. */
CpuWish plan_shared_wish(const Plan *plan, const CpuSet *cpus);

/* Makes the part `quiet` safe: no request while `resting` is empty, and times are bounded. */
void plan_sanitize_quiet(Plan *plan);

/* True if both request the same of that, for the same CPUs. */
bool plan_equal_quiet(const Plan *a, const Plan *b);

/* Makes the requests for single CPUs safe. The shallowest state stays enabled, bits of states that
 * the CPU does not have are cleared, and max_khz is not below min_khz. `idle` has the tables of all
 * CPUs; if it is NULL no state is disabled. */
void plan_sanitize_cpus(Plan *plan, const IdleTable *idle);

/* True if both request the same: for one CPU, for all. */
bool cpu_wish_equal(const CpuWish *a, const CpuWish *b);
bool plan_equal_cpus(const Plan *a, const Plan *b);

/* True if both request the same, whatever their periods. */
bool plan_equal(const Plan *a, const Plan *b);

/* Why a CPU was added to the plan: by CPU number, each with room for topology->n_cpus entries. */
typedef struct SafetyNotes {
        uint8_t *safety;     /* SAFETY_NONE: it was not added */
        const char **owners; /* what needs it, a string of the Dependents; NULL: nothing names it.
                                May be NULL itself */
} SafetyNotes;

/*
 * Makes the plan safe, whatever the policies requested:
 * - only online CPUs are in `allowed`; isolated and nohz_full CPUs always are, because idled never
 * parks them;
 * - it holds at least one usable CPU (topology_usable());
 * - while a window is open, all online CPUs of `widest`;
 * - the online CPUs of `kept` are, and as many cores as `min_cores` says if there are so many;
 * - of every set of `who` at least one online CPU;
 * - of every node at least one usable CPU.
 * A CPU that is added is the one whose core is allowed already, else the fastest, else the first.
 * `resting` is what is left out then, or was before a window was open. Call plan_sanitize_quiet()
 * when no more CPUs are added.
 * `who` may be NULL: nothing restricts anything. `notes` may be NULL.
 */
void plan_sanitize(Plan *plan, const Topology *topology, const Dependents *who,
                   const SafetyNotes *notes);

/* Why, for people, static: "the last CPU of a task's affinity or of a cpuset". "" for SAFETY_NONE.
 */
const char *safety_text(Safety safety);

#endif
