/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Histograms.
 */
#include "histogram.h"

#include <math.h>
#include <stdbool.h>

#define NSEC_PER_USEC 1000.0

Histogram *histogram_new(void)
{
        Histogram *histogram = g_new0(Histogram, 1);

        histogram->min_nsec = UINT64_MAX;
        return histogram;
}

void histogram_add(Histogram *histogram, uint64_t nsec)
{
        uint64_t slot = nsec / HISTOGRAM_BUCKET_NSEC;
        bool above = slot >= HISTOGRAM_BUCKETS;

        if (above)
                slot = HISTOGRAM_BUCKETS + nsec / HISTOGRAM_COARSE_NSEC;
        if (slot < HISTOGRAM_SLOTS)
                histogram->buckets[slot]++;
        histogram->above += above;
        histogram->count++;
        histogram->sum_nsec += (double)nsec;
        histogram->min_nsec = MIN(histogram->min_nsec, nsec);
        histogram->max_nsec = MAX(histogram->max_nsec, nsec);
}

void histogram_merge(Histogram *histogram, const Histogram *other)
{
        for (int i = 0; i < HISTOGRAM_SLOTS; i++)
                histogram->buckets[i] += other->buckets[i];
        histogram->count += other->count;
        histogram->above += other->above;
        histogram->sum_nsec += other->sum_nsec;
        histogram->min_nsec = MIN(histogram->min_nsec, other->min_nsec);
        histogram->max_nsec = MAX(histogram->max_nsec, other->max_nsec);
}

/* The middle of a slot. */
static uint64_t middle_of(int slot)
{
        return slot < HISTOGRAM_BUCKETS
                       ? (uint64_t)slot * HISTOGRAM_BUCKET_NSEC + HISTOGRAM_BUCKET_NSEC / 2
                       : (uint64_t)(slot - HISTOGRAM_BUCKETS) * HISTOGRAM_COARSE_NSEC +
                                 HISTOGRAM_COARSE_NSEC / 2;
}

/* Adds what was due while `n` samples were late by so much, or as the longest, if that is less. */
static void add_missed(Histogram *histogram, uint64_t late_nsec, uint64_t interval_nsec, uint64_t n)
{
        late_nsec = MIN(late_nsec, histogram->max_nsec);
        for (; n > 0 && late_nsec >= interval_nsec; late_nsec -= interval_nsec)
                for (uint64_t i = 0; i < n; i++)
                        histogram_add(histogram, late_nsec - interval_nsec);
}

Histogram *histogram_correct(const Histogram *histogram, uint64_t interval_nsec)
{
        Histogram *corrected = histogram_new();
        uint64_t beyond = histogram->count;

        histogram_merge(corrected, histogram);
        for (int i = 0; i < HISTOGRAM_SLOTS; i++) {
                add_missed(corrected, middle_of(i), interval_nsec, histogram->buckets[i]);
                beyond -= histogram->buckets[i];
        }
        if (beyond > 0) /* above 1 s only the longest is known */
                add_missed(corrected, histogram->max_nsec, interval_nsec, 1);
        return corrected;
}

double histogram_quantile(const Histogram *histogram, double share)
{
        uint64_t rank = (uint64_t)ceil(CLAMP(share, 0, 1) * (double)histogram->count), seen = 0;
        uint64_t nsec = histogram->max_nsec;

        if (histogram->count == 0)
                return NAN;
        rank = MAX(rank, 1);
        for (int i = 0; i < HISTOGRAM_SLOTS && rank < histogram->count; i++) {
                seen += histogram->buckets[i];
                if (seen < rank)
                        continue;
                nsec = middle_of(i);
                break;
        }
        return (double)CLAMP(nsec, histogram->min_nsec, histogram->max_nsec) / NSEC_PER_USEC;
}

double histogram_mean(const Histogram *histogram)
{
        return histogram->count ? histogram->sum_nsec / (double)histogram->count / NSEC_PER_USEC
                                : NAN;
}

double histogram_min(const Histogram *histogram)
{
        return histogram->count ? (double)histogram->min_nsec / NSEC_PER_USEC : NAN;
}
