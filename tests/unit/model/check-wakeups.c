/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Delays of wake-ups: bins, quantiles against sorted delays, sums and differences. */
#include "model/wakeups.h"

#include <inttypes.h>
#include <math.h>

#include "model/random.h"
#include "table.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S  (1000 * MS)

static const struct {
        const char *name;
        uint64_t ns;
        unsigned bin;
} bin_cases[] = {
        { "none", 0, 0 },
        { "last of the first bin", 1023, 0 },
        { "first of the octaves", 1024, 1 },
        { "an eighth further", 1152, 2 },
        { "second octave", 2048, 9 },
        { "end of the octaves", (UINT64_C(1) << 34) - 1, WAKEUPS_BINS - 2 },
        { "16 s", 16 * S, WAKEUPS_BINS - 3 },
        { "longer", UINT64_C(1) << 34, WAKEUPS_BINS - 1 },
        { "longest", UINT64_MAX, WAKEUPS_BINS - 1 },
};

START_TEST(bin)
{
        const typeof(bin_cases[0]) *c = &bin_cases[_i];
        unsigned found = wakeups_bin(c->ns);

        ck_case(c->name, found == c->bin, "bin %u, expected %u", found, c->bin);
        ck_case(c->name, wakeups_bin_begin(found) <= c->ns, "begins behind");
        if (found < WAKEUPS_BINS - 1)
                ck_case(c->name, c->ns < wakeups_bin_begin(found + 1), "ends before");
}
END_TEST

static const struct {
        const char *name;
        struct {
                uint64_t ns;
                int n;
        } delays[3];
        double q, us, within;   /* the quantile, and how far off it may be */
        double limit_us, share; /* above the limit */
} quantile_cases[] = {
        { "nothing", { { 0 } }, 0.99, NAN, 0, 1, NAN },
        { "one", { { 50 * US, 1 } }, 0.5, 50, 4, 100, 0 },
        { "the same, above", { { 50 * US, 1 } }, 0.99, 50, 4, 10, 1 },
        { "below the tail", { { 10 * US, 98 }, { 5 * MS, 2 } }, 0.97, 10, 1, 1000, 0.02 },
        { "the tail", { { 10 * US, 98 }, { 5 * MS, 2 } }, 0.99, 5000, 500, 100, 0.02 },
        { "half", { { 3 * US, 10 }, { 300 * US, 10 } }, 0.5, 3, 0.4, 50, 0.5 },
        { "shorter than bins", { { 300, 10 } }, 0.99, 0.3, 0.01, 0.1, 2. / 3 },
        { "longer than bins", { { 20 * S, 1 }, { 1 * S, 1 } }, 1, 20e6, 1, 2e6, 0.5 },
        { "the longest is never exceeded", { { 1025, 100 } }, 1, 1.025, 1e-6, 1.026, 0 },
};

START_TEST(quantile)
{
        const typeof(quantile_cases[0]) *c = &quantile_cases[_i];
        WakeupDelays delays = { 0 };
        double us, share;

        for (unsigned i = 0; i < G_N_ELEMENTS(c->delays); i++)
                for (int n = 0; n < c->delays[i].n; n++)
                        wakeups_add(&delays, c->delays[i].ns);
        us = wakeups_quantile_us(&delays, c->q);
        share = wakeups_share_above(&delays, c->limit_us);
        ck_case(c->name, isnan(c->us) ? isnan(us) : fabs(us - c->us) <= c->within,
                "%g us, expected %g", us, c->us);
        ck_case(c->name, isnan(c->share) ? isnan(share) : fabs(share - c->share) < 1e-6,
                "share %g, expected %g", share, c->share);
}
END_TEST

static int by_value(const void *a, const void *b)
{
        const uint64_t *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* Against sorted delays: within 5 %, as the bill promises. */
START_TEST(sorted)
{
        static const double qs[] = { 0.1, 0.5, 0.9, 0.99 };
        enum { N = 20000 };
        g_autofree uint64_t *all = g_new(uint64_t, N);
        WakeupDelays delays = { 0 };
        uint64_t seed = 4711 + (uint64_t)_i;

        for (int i = 0; i < N; i++) {
                double even = (double)(random_next(&seed) >> 11) / 9007199254740992.0;

                /* A heavy tail: Pareto from 2 us. */
                all[i] = (uint64_t)(2000 / pow(1 - even, 1 / 1.3));
                wakeups_add(&delays, all[i]);
        }
        qsort(all, N, sizeof(all[0]), by_value);
        for (unsigned i = 0; i < G_N_ELEMENTS(qs); i++) {
                double truth = (double)all[(int)(qs[i] * N)] / 1000;
                double found = wakeups_quantile_us(&delays, qs[i]);

                ck_assert_msg(fabs(found / truth - 1) < 0.05, "seed %d, %g: %g us, sorted %g", _i,
                              qs[i], found, truth);
                ck_assert_double_eq_tol(wakeups_share_above(&delays, found), 1 - qs[i], 1e-9);
        }
}
END_TEST

static const struct {
        const char *name;
        uint64_t before, between[2]; /* ns; 0: none */
        double longest_us, within;
} subtract_cases[] = {
        { "nothing new", 10 * US, { 0 }, 0, 0 },
        { "longer than before", 10 * US, { 20 * US, 5 * MS }, 5000, 0 },
        { "shorter than before", 10 * MS, { 20 * US, 300 * US }, 300, 37 },
        { "about as long", 10 * MS, { 20 * US, 10 * MS - 1 }, 10000, 0 },
};

START_TEST(subtract)
{
        const typeof(subtract_cases[0]) *c = &subtract_cases[_i];
        UnitWakeups later = { 0 }, earlier = { 0 }, between = { 0 }, again = { 0 };
        uint64_t n = 0;

        wakeups_add(&earlier.idle[2], c->before);
        unit_wakeups_merge(&later, &earlier);
        for (int i = 0; i < 2 && c->between[i]; i++, n++)
                wakeups_add(&later.idle[2], c->between[i]);
        unit_wakeups_subtract(&later, &earlier, &between);
        ck_case(c->name, between.idle[2].count == n && wakeups_binned(&between.idle[2]) == n,
                "%" PRIu64 " and %" PRIu64 " in bins, expected %" PRIu64, between.idle[2].count,
                wakeups_binned(&between.idle[2]), n);
        ck_case(c->name, fabs((double)between.idle[2].max_ns / 1000 - c->longest_us) <= c->within,
                "longest %" PRIu64 " ns, expected %g us", between.idle[2].max_ns, c->longest_us);
        /* Counts that shrank began again. */
        if (n > 0) {
                unit_wakeups_subtract(&earlier, &later, &again);
                ck_case(c->name, again.idle[2].count == 1, "began again with %" PRIu64,
                        again.idle[2].count);
        }
}
END_TEST

START_TEST(full)
{
        WakeupDelays a = { .count = UINT32_MAX, .bins = { [5] = UINT32_MAX - 1 } }, b = a;

        wakeups_merge(&a, &b);
        ck_assert_uint_eq(a.bins[5], UINT32_MAX);
        ck_assert_uint_eq(a.count, UINT64_C(2) * UINT32_MAX);
        wakeups_add(&a, wakeups_bin_begin(5));
        ck_assert_uint_eq(a.bins[5], UINT32_MAX);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("wakeups");
        TCase *tcase = tcase_create("wakeups");

        tcase_add_loop_test(tcase, bin, 0, G_N_ELEMENTS(bin_cases));
        tcase_add_loop_test(tcase, quantile, 0, G_N_ELEMENTS(quantile_cases));
        tcase_add_loop_test(tcase, sorted, 0, 5);
        tcase_add_loop_test(tcase, subtract, 0, G_N_ELEMENTS(subtract_cases));
        tcase_add_test(tcase, full);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
