/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Watching the machine: one reading after the other, and what happened in between.
 *
 * Reading wakes no CPU. Energy is the exception (the kernel asks a CPU of each package), and so it
 * is read only when asked for and at most once a second, however often the rest is read.
 */
#ifndef IDLED_WATCH_H
#define IDLED_WATCH_H

#include <glib.h>

#include "model/counters.h"
#include "model/topology.h"
#include "sense/readings.h"

/* States of all CPUs together; hybrid machines have two tables. */
#define WATCH_STATES_MAX 20

/* What stands for them where the kernel has none: only how long a CPU was idle is known. */
#define WATCH_IDLE "Idle"

typedef struct Watch {
        int root;
        Topology *topology;
        Sensors *sensors;
        const Snapshot
                *seen; /* over the last interval; its interval is 0 before the second sample */

        /* Names of the idle states of all CPUs, shallowest first, NULL at the end. */
        char *states[WATCH_STATES_MAX + 1];
        int n_states;
        int8_t *state_of; /* [cpu * IDLE_STATES_MAX + its own state]: where in `states`; -1 none */

        /* By package of the topology, over at least the last second; NaN: not known (yet). */
        double *package_watts, *core_watts, *dram_watts;
        double package_joules, core_joules, dram_joules; /* of all packages since watch_begin() */
        uint64_t energy_usec;       /* when they were last computed (CLOCK_MONOTONIC); 0: never */
        int energy_error;           /* 0, or negative errno of why there are none */
        EnergySource energy_source; /* of these counters */

        struct WatchParts *parts;
} Watch;

/* Begins to watch the machine below `root`, which the caller keeps open. Negative errno: its CPUs
 * cannot be read. */
int watch_new(int root, Watch **ret_watch);
void watch_free(Watch *watch);

/* Reads what `senses` says (Sense flags; the load always) and computes what happened since the last
 * sample. CPUs that came or went are noticed. With `energy` the watts follow. Negative errno: there
 * is no load to read, and nothing is known of this interval. */
int watch_sample(Watch *watch, unsigned senses, bool energy);

/* The same, and forgets the sample before, so that the next interval begins now; with `energy` also
 * that of the watts. */
int watch_begin(Watch *watch, unsigned senses, bool energy);

/* Reads energy alone, if a second has gone by: for intervals in which its counters may wrap. */
void watch_energy(Watch *watch);

/* Adds up in `shares` (n_states + 1 of them: C0, then `states`) the mean shares of the time, 0 ..
 * 1, of the CPUs in `cpus` that were seen. Returns how many CPUs that were; then the shares add up
 * to
 * 1. `*ret_estimated`, unless NULL, says whether a sleep in progress was credited. */
int watch_shares(const Watch *watch, const CpuSet *cpus, double *shares, bool *ret_estimated);

/* The online CPUs of a package. */
CpuSet watch_package(const Watch *watch, int package);

/* Why there are no watts, for people: part of a sentence. */
const char *watch_energy_problem(const Watch *watch);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Watch, watch_free)

#endif
