/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cyclic wake-ups: a thread per CPU sleeps until a time, again and again, and counts how much later
 * it runs.
 */
#ifndef IDLED_CYCLIC_H
#define IDLED_CYCLIC_H

#include "base/cpuset.h"
#include "histogram.h"

typedef struct CyclicOptions {
        uint64_t interval_nsec; /* from one wake-up to the next */
        int policy;             /* SCHED_FIFO, SCHED_RR or SCHED_OTHER */
        int priority;           /* of the first two; 0 for the last */
        bool anywhere;          /* threads run on any CPU, as other tasks do */
} CyclicOptions;

typedef struct CyclicCpu {
        int cpu;
        int error; /* negative errno: the thread could not be put there, or got no priority */
        uint64_t overruns; /* wake-ups that were left out, because the one before came later */
        Histogram *histogram;
} CyclicCpu;

typedef struct Cyclic Cyclic;

/* Starts the threads, with a timer slack of 1 ns and memory locked where that is permitted. What
 * goes wrong is in the results. */
Cyclic *cyclic_start(const CpuSet *cpus, const CyclicOptions *options);

/* Ends them, within an interval, and hands out what they counted: an array of CyclicCpu, which
 * frees its histograms. */
GArray *cyclic_stop(Cyclic *cyclic);

#endif
