/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Invented readings, for tests of values that are computed from two of them.
 */
#ifndef IDLED_TESTS_READINGS_H
#define IDLED_TESTS_READINGS_H

#include <math.h>

#include "model/counters.h"

#define MS 1000u

#define near(a, b) (fabs((double)(a) - (double)(b)) < 1e-4)

/* A reading of one CPU at `time_usec`. */
static inline Counters *reading(uint64_t time_usec, uint64_t busy_usec, uint64_t idle_usec)
{
        Counters *counters = counters_new(1);

        counters->time_usec = time_usec;
        counters->have = SENSE_LOAD;
        counters->times[0] = (CpuTimes){ busy_usec, idle_usec };
        cpuset_add(&counters->cpus, 0);
        return counters;
}

#endif
