/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One raw reading of the machine's counters, and the difference of two.
 *
 * Sensors fill Counters and do nothing else; everything that is computed from them is computed by
 * snapshot_compute(), which does no I/O, reads no clock and cannot fail: counters that went
 * backwards (a CPU that was offline, an overflow, garbage) count as no progress.
 */
#ifndef IDLED_COUNTERS_H
#define IDLED_COUNTERS_H

#include <glib.h>

#include "model/snapshot.h"

/* Time since boot in microseconds; /proc/stat's resolution is 10 ms. */
typedef struct CpuTimes {
        uint64_t busy_usec; /* user, nice, system, irq, softirq, steal */
        uint64_t idle_usec; /* idle and iowait: counts the sleep in progress */
} CpuTimes;

typedef struct IdleCounters {
        int n_states;
        uint64_t time_usec[IDLE_STATES_MAX]; /* grows only when the CPU leaves idle */
        uint64_t usage[IDLE_STATES_MAX];
        uint64_t above[IDLE_STATES_MAX], below[IDLE_STATES_MAX], rejected[IDLE_STATES_MAX];
        int n_barred; /* how many of the deepest states it could not enter when it last woke up */
} IdleCounters;

typedef struct EnergyCounter {
        uint64_t uj;
        uint64_t range_uj; /* the counter wraps from this value to 0 */
        bool valid;        /* false: could not be read */
        bool package;      /* of a whole package, or die of one: these do not overlap */
        int source;        /* its place among all sources: readings of two are not compared */
} EnergyCounter;

typedef struct Counters {
        uint64_t time_usec;     /* CLOCK_MONOTONIC */
        uint64_t real_usec;     /* CLOCK_REALTIME; 0: not known */
        int32_t utc_offset_sec; /* of local time then */
        unsigned have;          /* Sense flags: what was read */

        int n_cpus;
        CpuSet cpus; /* CPUs with a line in this reading */
        CpuTimes *times;
        uint64_t switches;
        unsigned running, blocked;

        double loadavg[3];
        unsigned threads;
        uint64_t pressure_usec; /* total time that some task waited for a CPU */
        bool on_battery;
        double battery_level;

        IdleCounters *idle; /* by CPU number; allocated with the first reading that needs it */
        int n_energy;
        EnergyCounter *energy;
} Counters;

/* Counters for CPU numbers below `n_cpus`, all zero. */
Counters *counters_new(int n_cpus);
void counters_free(Counters *counters);

Snapshot *snapshot_new(int n_cpus);
void snapshot_free(Snapshot *snapshot);

/*
 * Computes into `snapshot`, whose arrays are reused, what happened from `previous` to `current`.
 * `previous` may be NULL: then all shares and the interval are 0 and only what is momentary (load
 * averages, tasks, battery) is set. Both have the same `n_cpus` as the snapshot.
 *
 * Residency: share of state s = its `time` delta over the interval; idle time that /proc/stat saw
 * and cpuidle did not yet is credited to the state the CPU was last seen entering (the deepest with
 * a `usage` delta, else the one credited before, else the deepest; none of these if it is barred)
 * and marked in `estimated`; a sleep that began before the interval is not counted twice. The
 * shares are scaled so that they and `busy` sum to 1.
 *
 * Energy: delta modulo range; a delta of more than half the range or of more than ENERGY_WATTS_MAX
 * over the interval is dropped, and so is any over an interval that was so long that the counter
 * may have wrapped more than once: `valid` is false.
 */
void snapshot_compute(const Counters *previous, const Counters *current, Snapshot *snapshot);

/* A power that no domain can draw; a larger mean is a counter's error. 10 kW. */
#define ENERGY_WATTS_MAX 10000.0

/* What a domain may draw for long: how fast counters are taken to wrap. */
#define ENERGY_WATTS_SUSTAINED 500.0

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Counters, counters_free)
/* Joules that all packages drew; NAN: one of them is not known, or there are none. */
double snapshot_package_joules(const Snapshot *snapshot);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Snapshot, snapshot_free)

#endif
