/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Columns over time in bounded space: nothing grows, and no peak, mean or gap is lost. */
#include "lab/verbs/reduce.h"
#include "table.h"

/* The numbers of an array; what is null is NaN. */
static double *numbers(json_object *array, size_t *ret_n)
{
        double *values = g_new(double, MAX(json_length(array), 1));

        *ret_n = json_length(array);
        for (size_t i = 0; i < *ret_n; i++)
                values[i] = json_element_number(array, i);
        json_object_put(array);
        return values;
}

/* A value of the last sample, of a second. */
static void put(Reduced *reduced, size_t column, double value)
{
        reduced_put(reduced, column, value, value, value, 1);
}

static double *values_of(const Reduced *reduced, size_t column, ReducedValue value)
{
        size_t n, n_times;
        double *values = numbers(reduced_values(reduced, column, value), &n);
        g_autofree double *times = numbers(reduced_times(reduced), &n_times);

        ck_assert_uint_eq(n, n_times);
        return values;
}

static double least_of(const double *values, size_t n)
{
        double least = INFINITY;

        for (size_t i = 0; i < n; i++)
                least = fmin(least, values[i]);
        return least;
}

static double greatest_of(const double *values, size_t n)
{
        double greatest = -INFINITY;

        for (size_t i = 0; i < n; i++)
                greatest = fmax(greatest, values[i]);
        return greatest;
}

static const size_t lengths[] = { 0, 1, 2, 3, 99, 100, 101, 1000, 12345 };

TEST_EACH(bounded, lengths)
{
        const size_t samples = lengths[_i], most = 50;
        g_autoptr(Reduced) reduced = reduced_new(most);
        g_autofree double *times = NULL, *least = NULL, *means = NULL, *greatest = NULL;
        g_autofree double *absent = NULL;
        double sum = 0, weighted = 0;
        size_t n;

        for (size_t i = 0; i < samples; i++) {
                double value = i == samples / 3 ? 1e6 : i == samples / 2 ? -1e6 : (double)(i % 10);

                reduced_sample(reduced, (double)i, (double)i + 1);
                put(reduced, 3, value);
                sum += value;
        }
        times = numbers(reduced_times(reduced), &n);
        least = values_of(reduced, 3, REDUCED_LEAST);
        means = values_of(reduced, 3, REDUCED_MEAN);
        greatest = values_of(reduced, 3, REDUCED_GREATEST);
        ck_assert_uint_eq(reduced->samples, samples);
        ck_assert_uint_eq(reduced->gaps, 0);
        if (samples == 0) {
                ck_assert_uint_eq(n, 0);
                return;
        }
        ck_assert_uint_le(n, 2 * most + 1);
        ck_assert_uint_ge(n, MIN(samples, most / 2));
        ck_assert(times[0] == 0 && times[n - 1] == (double)samples);
        for (size_t i = 0; i + 1 < n; i++) {
                ck_assert(times[i] < times[i + 1]);
                weighted += means[i] * (times[i + 1] - times[i]);
        }
        ck_assert(fabs(weighted - sum) < 1e-4 * (1 + fabs(sum)));
        ck_assert(samples < 4 || (greatest_of(greatest, n) == 1e6 && least_of(least, n) == -1e6));
        absent = values_of(reduced, 7, REDUCED_MEAN);
        ck_assert(isnan(absent[0]));
}

/* A gap is a point without value, between two that have one. */
TEST(gap)
{
        g_autoptr(Reduced) reduced = reduced_new(50);
        g_autofree double *times = NULL, *means = NULL;
        size_t n, gaps = 0;

        for (int i = 0; i < 1000; i++) {
                double begin = i + (i >= 500 ? 300 : 0);

                reduced_sample(reduced, begin, begin + 1);
                put(reduced, 0, 1);
        }
        times = numbers(reduced_times(reduced), &n);
        means = values_of(reduced, 0, REDUCED_MEAN);
        ck_assert_uint_eq(reduced->gaps, 1);
        for (size_t i = 0; i < n; i++) {
                gaps += isnan(means[i]);
                if (isnan(means[i]))
                        ck_assert(times[i] == 500 && times[i + 1] == 800);
        }
        ck_assert_uint_eq(gaps, 1);
}

/* Even a recording of nothing but gaps stays bounded. */
TEST(gaps)
{
        g_autoptr(Reduced) reduced = reduced_new(50);
        g_autofree double *times = NULL;
        size_t n;

        for (int i = 0; i < 10000; i++) {
                reduced_sample(reduced, 10 * i, 10 * i + 1);
                put(reduced, 0, i);
        }
        times = numbers(reduced_times(reduced), &n);
        ck_assert_uint_eq(reduced->gaps, 9999);
        ck_assert_uint_le(n, 2 * 50 + 2);
        for (size_t i = 0; i + 1 < n; i++)
                ck_assert(times[i] <= times[i + 1]);
}

/* What is not known of a sample is not there, and a column may begin late or end early. */
TEST(unknown)
{
        g_autoptr(Reduced) reduced = reduced_new(50);
        g_autofree double *means = NULL, *late = NULL;

        for (int i = 0; i < 10; i++) {
                reduced_sample(reduced, i, i + 1);
                put(reduced, 0, i == 5 ? NAN : 1);
                if (i == 8)
                        put(reduced, 1, 2);
        }
        means = values_of(reduced, 0, REDUCED_MEAN);
        late = values_of(reduced, 1, REDUCED_MEAN);
        ck_assert(means[4] == 1 && isnan(means[5]) && means[6] == 1);
        ck_assert(isnan(late[7]) && late[8] == 2 && isnan(late[9]));
}

/* A column for which there is no room changes nothing. */
TEST(no_room)
{
        g_autoptr(Reduced) reduced = reduced_new(50);
        g_autofree double *last = NULL;

        reduced_sample(reduced, 0, 1);
        put(reduced, REDUCED_COLUMNS - 1, 1);
        put(reduced, REDUCED_COLUMNS, 2);
        last = values_of(reduced, REDUCED_COLUMNS - 1, REDUCED_MEAN);
        ck_assert(last[0] == 1);
}

UNIT("reduce")
