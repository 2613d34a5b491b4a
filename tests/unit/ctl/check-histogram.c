/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Histograms: quantiles to half a bucket, whatever the samples; and the wake-ups that fill them. */
#include <sched.h>

#include "lab/verbs/cyclic.h"
#include "lab/verbs/histogram.h"
#include "table.h"

#define near(a, b) (fabs((a) - (b)) <= 0.05 + 1e-9)

TEST(empty)
{
        g_autoptr(Histogram) histogram = histogram_new();

        ck_assert(isnan(histogram_quantile(histogram, 0.5)));
        ck_assert(isnan(histogram_mean(histogram)));
        ck_assert(isnan(histogram_min(histogram)));
        ck_assert(isnan(histogram_quantile(histogram, 1)));
}

TEST(buckets)
{
        g_autoptr(Histogram) histogram = histogram_new();

        histogram_add(histogram, 0);
        histogram_add(histogram, 99);
        histogram_add(histogram, 100);
        histogram_add(histogram, (uint64_t)HISTOGRAM_BUCKETS * HISTOGRAM_BUCKET_NSEC - 1);
        histogram_add(histogram, (uint64_t)HISTOGRAM_BUCKETS * HISTOGRAM_BUCKET_NSEC);
        ck_assert_uint_eq(histogram->buckets[0], 2);
        ck_assert_uint_eq(histogram->buckets[1], 1);
        ck_assert_uint_eq(histogram->buckets[HISTOGRAM_BUCKETS - 1], 1);
        ck_assert_uint_eq(histogram->above, 1);
        ck_assert_uint_eq(histogram->count, 5);
}

/* Above 10 ms the buckets are coarse, above 1 s the maximum is what is known. */
TEST(coarse)
{
        g_autoptr(Histogram) histogram = histogram_new();

        for (int i = 1; i <= 100; i++)
                histogram_add(histogram, (uint64_t)i * 5000000);
        ck_assert(fabs(histogram_quantile(histogram, 0.5) - 250000) <= 50);
        ck_assert(fabs(histogram_quantile(histogram, 0.9) - 450000) <= 50);
        histogram_add(histogram, 20000000000);
        histogram_add(histogram, 30000000000);
        ck_assert(near(histogram_quantile(histogram, 0.99), 30000000));
}

/* 99 samples in time and one that was late by 100 intervals, in which as many were due. */
TEST(correct)
{
        g_autoptr(Histogram) histogram = histogram_new(), corrected = NULL, same = NULL;

        for (int i = 0; i < 99; i++)
                histogram_add(histogram, 5000);
        histogram_add(histogram, 10000000 - 50);
        ck_assert(histogram_quantile(histogram, 0.9) < 10);
        corrected = histogram_correct(histogram, 100000);
        ck_assert_uint_eq(corrected->count, 100 + 99);
        ck_assert(fabs(histogram_quantile(corrected, 0.9) - 8000) < 150);
        ck_assert(near(histogram_quantile(corrected, 1), histogram_quantile(histogram, 1)));
        same = histogram_correct(histogram, 20000000);
        ck_assert_uint_eq(same->count, 100);
}

/* The middle of a coarse bucket may be above the longest sample: no wake-up was so late. */
TEST(correct_coarse)
{
        g_autoptr(Histogram) histogram = histogram_new(), corrected = NULL;

        histogram_add(histogram, 5000);
        histogram_add(histogram, 23409170);
        corrected = histogram_correct(histogram, 10000);
        ck_assert_uint_eq(corrected->count, 2 + 2340);
        ck_assert(near(histogram_quantile(corrected, 1), histogram_quantile(histogram, 1)));
}

TEST(above)
{
        g_autoptr(Histogram) histogram = histogram_new();

        for (int i = 0; i < 9; i++)
                histogram_add(histogram, 5000);
        histogram_add(histogram, 123456789);
        ck_assert(near(histogram_quantile(histogram, 0.9), 5));
        ck_assert(near(histogram_quantile(histogram, 0.999), 123456.789));
        ck_assert(near(histogram_quantile(histogram, 1), 123456.789));
}

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* Against sorting, with one histogram and with two merged. */
TEST_RANGE(quantiles, 0, 8)
{
        static const double shares[] = { 0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1 };
        g_autoptr(Histogram) histogram = histogram_new(), other = histogram_new();
        g_autoptr(GRand) random = g_rand_new_with_seed((guint32)_i);
        int n = _i * _i * 37 + 1;
        g_autofree double *samples = g_new(double, (gsize)n);
        double sum = 0;

        for (int i = 0; i < n; i++) {
                uint64_t nsec = (uint64_t)exp(g_rand_double_range(random, 0, 15));

                samples[i] = (double)nsec / 1000;
                sum += samples[i];
                histogram_add(i % 3 ? histogram : other, nsec);
        }
        histogram_merge(histogram, other);
        qsort(samples, (size_t)n, sizeof(*samples), compare);
        for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
                int rank = MAX((int)ceil(shares[i] * n), 1) - 1;
                double found = histogram_quantile(histogram, shares[i]);

                ck_assert_msg(near(found, samples[rank]), "%d samples, %f: %f, expected %f", n,
                              shares[i], found, samples[rank]);
        }
        ck_assert(near(histogram_mean(histogram), sum / n));
        ck_assert(near(histogram_min(histogram), samples[0]));
        ck_assert(near(histogram_quantile(histogram, 1), samples[n - 1]));
}

/* In place of the C library's: how long a thread takes until it is prepared. */
int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
        g_usleep(30000);
        return 0;
}

/* A thread that needs longer for its start than what is measured then wakes as often as asked. */
TEST(late_start)
{
        const CyclicOptions options = { .interval_nsec = 1000000,
                                        .policy = SCHED_OTHER,
                                        .anywhere = true,
                                        .for_nsec = 20000000 };
        g_autoptr(GArray) results = NULL;
        CpuSet one = { 0 };
        CyclicCpu *cpu;

        cpuset_add(&one, 0);
        results = cyclic_finish(cyclic_start(&one, &options));
        cpu = &g_array_index(results, CyclicCpu, 0);
        ck_assert_int_eq(cpu->error, 0);
        ck_assert_msg(cpu->histogram->count > 0, "%lu overruns", (unsigned long)cpu->overruns);
        ck_assert_uint_eq(cpu->histogram->count + cpu->overruns + CYCLIC_WARM_UPS, 20);
}

UNIT("histogram")
