/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cyclic wake-ups: a thread per CPU sleeps until a time, again and again, and counts how much later
 * it runs.
 */
#ifndef IDLED_CYCLIC_H
#define IDLED_CYCLIC_H

#include <pthread.h>

#include "base/cpuset.h"
#include "histogram.h"

/* The first wake-ups of a thread find cold caches: they are not counted. */
#define CYCLIC_WARM_UPS 3

typedef struct CyclicOptions {
        uint64_t interval_nsec; /* from one wake-up to the next */
        int policy;             /* SCHED_FIFO, SCHED_RR or SCHED_OTHER */
        int priority;           /* of the first two; 0 for the last */
        bool anywhere;          /* threads run on any CPU, as other tasks do */
        uint64_t for_nsec;      /* how long; 0: until cyclic_stop() */
} CyclicOptions;

typedef struct CyclicCpu {
        int cpu;
        int error; /* negative errno: the thread could not be put there, or got no priority */
        uint64_t overruns; /* wake-ups that were left out: the thread still ran, or rested */
        Histogram *histogram;
        struct Cyclic *cyclic; /* this and its thread are its own */
        pthread_t thread;
} CyclicCpu;

typedef struct Cyclic Cyclic;

/* Starts the threads at the same time, with a timer slack of 1 ns and memory locked where that is
 * permitted. What goes wrong is in the results. */
Cyclic *cyclic_start(const CpuSet *cpus, const CyclicOptions *options);

/* Waits until `for_nsec` are over, and hands out what the threads counted: an array of CyclicCpu,
 * which frees its histograms. Each has for_nsec / interval_nsec wake-ups: samples, overruns, and
 * CYCLIC_WARM_UPS. */
GArray *cyclic_finish(Cyclic *cyclic);

/* The same without waiting for longer than an interval. */
GArray *cyclic_stop(Cyclic *cyclic);

#endif
