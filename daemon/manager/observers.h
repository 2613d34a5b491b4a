/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Readings for queries, and their sums since the start.
 */
#ifndef IDLED_OBSERVERS_H
#define IDLED_OBSERVERS_H

#include "model/snapshot.h"
#include "sense/readings.h"

/* The shortest time that a power shown to any client is averaged over. */
#define OBSERVERS_ENERGY_USEC 1000000

/* One energy domain since the start. */
typedef struct EnergyTotal {
        double joules;
        uint64_t dropped; /* readings that could not be true */
} EnergyTotal;

/* What one CPU did since the start, by the readings for queries: times in microseconds, by idle
 * state. The times of sleeps in progress are estimates, as in Residency. */
typedef struct CpuTotal {
        double busy_usec;
        double idle_usec[IDLE_STATES_MAX];
        uint64_t entered[IDLE_STATES_MAX], above[IDLE_STATES_MAX], below[IDLE_STATES_MAX],
                rejected[IDLE_STATES_MAX];
} CpuTotal;

typedef struct Observers Observers;

/* Makes the first reading of each kind. `sensors` stays the caller's. */
Observers *observers_new(Sensors *sensors, int n_cpus);
void observers_free(Observers *observers);

/* What the machine did since the last query of the same kind, at least 100 ms (for energy 1 s) ago.
 * Soon after the start the first interval may be as short as 20 ms, and before that is over there
 * is none: interval and shares are 0. With SENSE_RESIDENCY or SENSE_ENERGY (one of them) in
 * `senses` that is read, else what measured.c shows. NULL if the load cannot be read. */
const Snapshot *observers_read(Observers *observers, unsigned senses);

/* Sums since the start; all is 0 before the first interval. */
const CpuTotal *observers_cpu(const Observers *observers, int cpu);
EnergyTotal observers_energy(const Observers *observers, int domain);

/* Its domains are other ones: sums begin again. */
void observers_forget_energy(Observers *observers);

/* In which some task waited for a CPU. */
double observers_pressure_usec(const Observers *observers);

#endif
