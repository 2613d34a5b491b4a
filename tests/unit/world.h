/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A world for a policy to live in: a machine, a clock of its own, and a load that reacts.
 *
 * The policy is called as the manager calls it, in virtual time. A test sets the load in the
 * snapshot, or adds streams of work that a small model of a scheduler puts on the CPUs that the
 * policy allows. Work that does not fit waits, and shows as saturation, runnable tasks and
 * pressure.
 */
#ifndef IDLED_TESTS_WORLD_H
#define IDLED_TESTS_WORLD_H

#include "idled-policy.h"
#include "model/counters.h"
#include "model/topology-build.h"

/* A machine of equal packages. Each has `clusters` clusters of `cores` cores with `threads` CPUs,
 * then `slow_clusters` clusters of four single-thread cores with capacity `slow` (of 1024). CPUs of
 * a core are neighbours. */
typedef struct Grid {
        int packages, clusters, cores, threads;
        int slow_clusters, slow;
        const char *isolated; /* NULL: none */
} Grid;

Topology *grid_build(const Grid *grid);

#define STREAMS_MAX 64

typedef struct World {
        const IdledPolicy *policy;
        const Topology *topology;
        Topology *own; /* to be freed with it; NULL: none */
        Snapshot *snapshot;
        CpuSet allowed;        /* active: online and requested */
        bool ignored;          /* what the policy requests */
        const CpuSet *offered; /* NULL: all */
        const CpuSet *kept;    /* NULL: none */
        const Contract *contracts;
        int n_contracts;
        unsigned contract_cores;
        const IdleTable *idle; /* by CPU number; NULL: no idle states */
        const FreqPolicy *frequency;
        const Hold *holds;
        int n_frequency, n_holds;
        void *options, *state;
        Wish wish;
        CpuWish *cpus;               /* of the request; NULL: the policy has none */
        unsigned n_changes;          /* of `allowed` */
        double backlog[STREAMS_MAX]; /* seconds of the fastest CPU that a stream waits for */
        double busy_sec[CPUSET_MAX]; /* of the interval so far */
        double waited_sec, interval_sec;
} World;

World *world_new(const IdledPolicy *policy, const Topology *topology);

/* On a machine of its own. */
World *world_on(const IdledPolicy *policy, const Grid *grid);
void world_free(World *world);

/* Gives the snapshot idle-state counters (of zeroes), as with SENSE_IDLE_STATISTICS. */
void world_add_residency(World *world);

/* Sets an option as a file would; fails the test if it is wrong. */
void world_set(World *world, const char *key, const char *text);

/* Sets the CPUs' busy shares in the snapshot: "0=1,3=0.5", the others 0. */
void world_put(World *world, const char *text);

/* Sets options, "KEY=VALUE KEY=VALUE"; in a value '+' stands for a blank. */
void world_set_all(World *world, const char *text);

/* Lets `usec` pass with the streams' demand (CPUs of the fastest kind, at most 1 each), in steps of
 * 10 ms, and fills the snapshot; the interval goes on until world_decide(). */
void world_run(World *world, const double *streams, int n_streams, uint64_t usec);

/* Ends the interval of `usec` (0: what world_run() ran) and calls the policy; checks that the
 * request leaves a usable CPU. */
void world_decide(World *world, uint64_t usec);

/* Idles until the policy is settled, at most ten minutes. */
void world_rest(World *world);

/* Cores with at least one CPU in use that may be parked. */
int world_cores(const World *world);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(World, world_free)

#endif
