/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the machine did between two readings.
 *
 * A snapshot is the difference of two Counters (counters.h) and has its own time, so that
 * policies need no clock. What the machine does not have, or what was not requested, is absent from
 * `have`, and its fields are 0 or NULL.
 *
 * Part of what idled installs for plugins.
 */
#ifndef IDLED_SNAPSHOT_H
#define IDLED_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "model/idle-table.h"

/* What a reading can contain; a set of these is what a policy needs and what a snapshot has. */
typedef enum Sense {
        SENSE_LOAD = 1 << 0,            /* busy share per CPU, running tasks; always read */
        SENSE_LOADAVG = 1 << 1,         /* load averages */
        SENSE_PRESSURE = 1 << 2,        /* PSI of the CPU */
        SENSE_POWER = 1 << 3,           /* battery or AC */
        SENSE_RESIDENCY = 1 << 4,       /* idle states; costs two files per CPU and state */
        SENSE_ENERGY = 1 << 5,          /* RAPL */
        SENSE_IDLE_STATISTICS = 1 << 6, /* of idle states: above, below, rejected; costs three files
                                           more for each state in use; implies SENSE_RESIDENCY */
} Sense;

#define SENSE_EVERYTHING (2 * SENSE_IDLE_STATISTICS - 1) /* up to the last flag */

/* /proc/stat counts in steps of 10 ms: over a shorter interval a share means nothing. So
 * nothing new is read sooner, and policies get the last snapshot again. */
#define READING_USEC 50000

/* The pressure trigger: 40 ms of waiting within 500 ms, the shortest window the kernel takes. It
 * checks ten times a window, so that two tasks on one CPU are seen after 50 ms. */
#define PRESSURE_USEC        40000
#define PRESSURE_WINDOW_USEC 500000

/* One CPU's idle states over the interval. The shares of all states and `busy` add up to 1. */
typedef struct Residency {
        int n_states;
        float busy; /* C0 */
        float share[IDLE_STATES_MAX];
        uint32_t entered[IDLE_STATES_MAX]; /* entries into the state */
        /* the following only with SENSE_IDLE_STATISTICS, else 0 */
        uint32_t above[IDLE_STATES_MAX]; /* of these, woken before the target residency: too deep */
        uint32_t below[IDLE_STATES_MAX]; /* of these, a deeper state would have fitted */
        uint32_t rejected[IDLE_STATES_MAX]; /* entries that the platform refused */
        int8_t estimated; /* the state that a sleep still in progress was credited to; -1 none */
} Residency;

/* One energy domain over the interval. Domains overlap: add up none but packages. */
typedef struct EnergyUse {
        double joules; /* in the interval */
        double watts;  /* mean over the interval */
        bool valid;    /* false: the counter went backwards or impossibly far, and was not used */
        bool package;  /* of a whole package, or die of one */
} EnergyUse;

typedef struct Snapshot {
        uint64_t time_usec;     /* CLOCK_MONOTONIC at its end */
        uint64_t real_usec;     /* CLOCK_REALTIME at its end; 0: not known, as in a replay */
        int32_t utc_offset_sec; /* of local time then: snapshot_time_of_day() */
        uint64_t interval_usec; /* 0 in the first snapshot: then shares are 0 too */
        unsigned have;          /* Sense flags */

        int n_cpus;       /* entries in the arrays by CPU number */
        CpuSet cpus;      /* CPUs that were read at both ends */
        float *busy;      /* share of the interval that the CPU was not idle, 0 .. 1 */
        double load;      /* sum of `busy`: how many CPUs were busy on average */
        unsigned running; /* tasks runnable at the end, the reader itself not counted */
        unsigned blocked; /* tasks waiting for I/O at the end */
        double switches_per_sec;

        double loadavg[3]; /* 1, 5 and 15 minutes */
        unsigned threads;  /* that exist */
        double pressure;   /* share of the interval in which some task waited for a CPU, 0 .. 1 */
        bool pressed;      /* called by the pressure trigger: tasks waited for a CPU for at least
                              PRESSURE_USEC of the last PRESSURE_WINDOW_USEC, however long the
                              interval is; the kernel may report an earlier call late */
        bool on_battery;   /* a battery is discharging and no mains supply is online */
        double battery_level; /* 0 .. 1; negative if there is no battery */

        Residency *residency; /* by CPU number */
        int n_energy;
        EnergyUse *energy; /* in the order of the energy sensor's domains */
} Snapshot;

/* Seconds since local midnight, 0 .. 86399; -1 if not known. When the clock or the time zone is
 * set, policies are asked at once. */
static inline int32_t snapshot_time_of_day(const Snapshot *snapshot)
{
        int64_t local = (int64_t)(snapshot->real_usec / 1000000) + snapshot->utc_offset_sec;

        return snapshot->real_usec ? (int32_t)(local % 86400) : -1;
}

#endif
