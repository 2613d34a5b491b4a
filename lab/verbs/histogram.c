/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Histograms.
 */
#include "histogram.h"

#include <math.h>

#define NSEC_PER_USEC 1000.0

Histogram *histogram_new(void)
{
        Histogram *histogram = g_new0(Histogram, 1);

        histogram->min_nsec = UINT64_MAX;
        histogram->buckets = g_new0(uint32_t, HISTOGRAM_BUCKETS);
        histogram->coarse = g_new0(uint32_t, HISTOGRAM_COARSE);
        return histogram;
}

void histogram_free(Histogram *histogram)
{
        if (!histogram)
                return;
        g_free(histogram->buckets);
        g_free(histogram->coarse);
        g_free(histogram);
}

void histogram_add(Histogram *histogram, uint64_t nsec)
{
        uint64_t bucket = nsec / HISTOGRAM_BUCKET_NSEC, coarse = nsec / HISTOGRAM_COARSE_NSEC;

        if (bucket < HISTOGRAM_BUCKETS) {
                histogram->buckets[bucket]++;
        } else {
                histogram->above++;
                if (coarse < HISTOGRAM_COARSE)
                        histogram->coarse[coarse]++;
        }
        histogram->count++;
        histogram->sum_nsec += (double)nsec;
        histogram->min_nsec = MIN(histogram->min_nsec, nsec);
        histogram->max_nsec = MAX(histogram->max_nsec, nsec);
}

void histogram_merge(Histogram *histogram, const Histogram *other)
{
        for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
                histogram->buckets[i] += other->buckets[i];
        for (int i = 0; i < HISTOGRAM_COARSE; i++)
                histogram->coarse[i] += other->coarse[i];
        histogram->count += other->count;
        histogram->above += other->above;
        histogram->sum_nsec += other->sum_nsec;
        histogram->min_nsec = MIN(histogram->min_nsec, other->min_nsec);
        histogram->max_nsec = MAX(histogram->max_nsec, other->max_nsec);
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
        uint64_t beyond = histogram->above;

        histogram_merge(corrected, histogram);
        for (uint64_t i = interval_nsec / HISTOGRAM_BUCKET_NSEC; i < HISTOGRAM_BUCKETS; i++)
                add_missed(corrected, i * HISTOGRAM_BUCKET_NSEC + HISTOGRAM_BUCKET_NSEC / 2,
                           interval_nsec, histogram->buckets[i]);
        for (uint64_t i = 0; i < HISTOGRAM_COARSE; i++) {
                add_missed(corrected, i * HISTOGRAM_COARSE_NSEC + HISTOGRAM_COARSE_NSEC / 2,
                           interval_nsec, histogram->coarse[i]);
                beyond -= histogram->coarse[i];
        }
        if (beyond > 0) /* above 1 s only the longest is known */
                add_missed(corrected, histogram->max_nsec, interval_nsec, 1);
        return corrected;
}

/* The middle of the bucket in which sample number `rank` is, counted on from `*seen`; NaN: in none.
 */
static double find_rank(const uint32_t *buckets, int n, double nsec, uint64_t rank, uint64_t *seen)
{
        for (int i = 0; i < n; i++) {
                *seen += buckets[i];
                if (*seen >= rank)
                        return (i + 0.5) * nsec;
        }
        return NAN;
}

double histogram_quantile(const Histogram *histogram, double share)
{
        uint64_t rank = (uint64_t)ceil(CLAMP(share, 0, 1) * (double)histogram->count), seen = 0;
        double nsec = NAN;

        if (histogram->count == 0)
                return NAN;
        rank = MAX(rank, 1);
        if (rank < histogram->count) {
                nsec = find_rank(histogram->buckets, HISTOGRAM_BUCKETS, HISTOGRAM_BUCKET_NSEC, rank,
                                 &seen);
                if (isnan(nsec))
                        nsec = find_rank(histogram->coarse, HISTOGRAM_COARSE, HISTOGRAM_COARSE_NSEC,
                                         rank, &seen);
        }
        if (isnan(nsec))
                nsec = (double)histogram->max_nsec;
        return CLAMP(nsec, (double)histogram->min_nsec, (double)histogram->max_nsec) /
               NSEC_PER_USEC;
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

double histogram_max(const Histogram *histogram)
{
        return histogram->count ? (double)histogram->max_nsec / NSEC_PER_USEC : NAN;
}
