/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Histograms of latencies: buckets of 100 ns up to 10 ms, above that coarse ones of 100 us up to 1
 * s.
 */
#ifndef IDLED_HISTOGRAM_H
#define IDLED_HISTOGRAM_H

#include <glib.h>
#include <stdint.h>

#define HISTOGRAM_BUCKET_NSEC 100
#define HISTOGRAM_BUCKETS     100000
#define HISTOGRAM_COARSE_NSEC 100000
#define HISTOGRAM_COARSE      10000
#define HISTOGRAM_SLOTS       (HISTOGRAM_BUCKETS + HISTOGRAM_COARSE)

typedef struct Histogram {
        uint64_t count, above; /* `above` of them are HISTOGRAM_BUCKETS or more */
        uint64_t min_nsec, max_nsec;
        double sum_nsec;
        uint32_t buckets[HISTOGRAM_SLOTS]; /* bucket i: from i to i + 1 times HISTOGRAM_BUCKET_NSEC;
                                            * behind HISTOGRAM_BUCKETS with HISTOGRAM_COARSE_NSEC */
} Histogram;

/* To be freed by g_free(). */
Histogram *histogram_new(void);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Histogram, g_free)

void histogram_add(Histogram *histogram, uint64_t nsec);

/* Adds the counts of another one. */
void histogram_merge(Histogram *histogram, const Histogram *other);

/* A new histogram that also counts the wake-ups which were due, one in each interval, while another
 * was late: after a latency L, those with L - interval, L - 2 interval, ... down to 0. */
Histogram *histogram_correct(const Histogram *histogram, uint64_t interval_nsec);

/* The latency that a share (0 .. 1) of all samples does not exceed, in microseconds, to half a
 * bucket; the maximum for share 1, and above all buckets. NaN without samples. */
double histogram_quantile(const Histogram *histogram, double share);

/* In microseconds; NaN without samples. */
double histogram_mean(const Histogram *histogram);
double histogram_min(const Histogram *histogram);

#endif
