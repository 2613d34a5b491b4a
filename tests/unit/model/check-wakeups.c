/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Delays of wake-ups: bins, quantiles against sorted delays, sums. */
#include "model/unit-wakeups.h"

#include <inttypes.h>

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

TEST_EACH(bin, bin_cases)
{
        unsigned found = wakeups_bin(c->ns);

        ck_case(c->name, found == c->bin, "bin %u, expected %u", found, c->bin);
        ck_case(c->name, wakeups_bin_begin(found) <= c->ns, "begins behind");
        if (found < WAKEUPS_BINS - 1)
                ck_case(c->name, c->ns < wakeups_bin_begin(found + 1), "ends before");
}

static const struct {
        const char *name;
        struct {
                uint64_t ns;
                int n;
        } delays[3];
        double q, us, within; /* the quantile, and how far off it may be */
} quantile_cases[] = {
        { "nothing", { { 0 } }, 0.99, NAN, 0 },
        { "one", { { 50 * US, 1 } }, 0.5, 50, 4 },
        { "the same, p99", { { 50 * US, 1 } }, 0.99, 50, 4 },
        { "below the tail", { { 10 * US, 98 }, { 5 * MS, 2 } }, 0.97, 10, 1 },
        { "the tail", { { 10 * US, 98 }, { 5 * MS, 2 } }, 0.99, 5000, 500 },
        { "half", { { 3 * US, 10 }, { 300 * US, 10 } }, 0.5, 3, 0.4 },
        { "shorter than bins", { { 300, 10 } }, 0.99, 0.3, 0.01 },
        { "longer than bins", { { 20 * S, 1 }, { 1 * S, 1 } }, 1, 20e6, 1 },
        { "the longest is never exceeded", { { 1025, 100 } }, 1, 1.025, 1e-6 },
};

TEST_EACH(quantile, quantile_cases)
{
        WakeupDelays delays = { 0 };
        double us;

        for (unsigned i = 0; i < G_N_ELEMENTS(c->delays); i++)
                for (int n = 0; n < c->delays[i].n; n++)
                        wakeups_add(&delays, c->delays[i].ns);
        us = wakeups_quantile_us(&delays, c->q);
        ck_case(c->name, isnan(c->us) ? isnan(us) : fabs(us - c->us) <= c->within,
                "%g us, expected %g", us, c->us);
}

static const struct {
        const char *name;
        uint64_t ns, less_ns;
        double p99_us, within;
        uint64_t longest_ns; /* of a tenth of them; 0: as the others */
        uint64_t least_ns;
} shorter_cases[] = {
        { "an idle state less", 190 * US, 140 * US, 50, 7, 0, 0 },
        { "two CPUs left it", 620 * US, 600 * US, 20, 40, 1210 * US, 0 },
        { "two that overlap", 620 * US, 600 * US, 20, 40, 1000 * US, 0 },
        { "something else, too", 620 * US, 600 * US, 3800, 400, 5 * MS, 0 },
        { "by nothing", 190 * US, 0, 190, 12, 0, 0 },
        { "by more than all", 50 * US, 1 * MS, 0, 1.1, 0, 0 },
        { "by little of much", 20 * S, 1 * US, 20e6, 2e6, 0, 0 },
        { "shorter than the state takes", 60 * US, 188 * US, 18, 3, 150 * US, 18 * US },
        { "shorter than the least", 10 * US, 188 * US, 10, 1, 0, 18 * US },
};

TEST_EACH(shorter, shorter_cases)
{
        WakeupDelays from = { 0 }, delays = { 0 };
        double us;

        for (int i = 0; i < 100; i++)
                wakeups_add(&from, c->longest_ns && i % 10 == 0 ? c->longest_ns : c->ns);
        wakeups_add(&delays, 0);
        wakeups_merge_shorter(&delays, &from, c->less_ns, c->least_ns);
        us = wakeups_quantile_us(&delays, 0.99);
        ck_case(c->name, fabs(us - c->p99_us) <= c->within, "%g us, expected %g", us, c->p99_us);
        ck_case(c->name, wakeups_binned(&delays) == 101 && delays.count == 101, "%g of 101",
                (double)wakeups_binned(&delays));
}

static int by_value(const void *a, const void *b)
{
        const uint64_t *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* Against sorted delays: within 5 %, as the bill promises. */
TEST_RANGE(sorted, 0, 5)
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
        }
}

/* Kinds add up, and those that are not asked for stay out. */
TEST(kinds)
{
        g_autoptr(GHashTable) rows = unit_wakeups_new();
        const UnitWakeups *unit;
        WakeupDelays one = { 0 }, sum;

        wakeups_add(&one, 50 * US);
        for (unsigned kind = 1; kind < WAKEUPS_KINDS; kind++)
                unit_wakeups_add(rows, "/a.service", "", kind, &one);
        unit_wakeups_add(rows, "/a.service", "", WAKEUPS_PARKED, &one);
        unit_wakeups_add(rows, "/a.service", "program", WAKEUPS_PARKED, &one);
        ck_assert_uint_eq(g_hash_table_size(rows), 2);
        unit = g_hash_table_lookup(rows, "/a.service\n");
        ck_assert_ptr_null(unit->kinds[0]);
        unit_wakeups_sum(unit, 0, WAKEUPS_KINDS - 1, &sum);
        ck_assert_uint_eq(sum.count, WAKEUPS_KINDS);
        unit_wakeups_sum(unit, WAKEUPS_WAITING, WAKEUPS_PARKED, &sum);
        ck_assert_uint_eq(sum.count, 3);
        ck_assert_uint_eq(sum.bins[wakeups_bin(50 * US)], 3);
}

TEST(full)
{
        WakeupDelays a = { .count = UINT32_MAX,
                           .bins = { [5] = UINT32_MAX - 1 },
                           .late = { [2] = UINT32_MAX - 1 } };
        WakeupDelays b = a;

        wakeups_merge(&a, &b);
        ck_assert_uint_eq(a.bins[5], UINT32_MAX);
        ck_assert_uint_eq(a.late[2], UINT32_MAX);
        ck_assert_uint_eq(a.count, UINT64_C(2) * UINT32_MAX);
        wakeups_add(&a, wakeups_bin_begin(5));
        ck_assert_uint_eq(a.bins[5], UINT32_MAX);
}

UNIT("wakeups")
