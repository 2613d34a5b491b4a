/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How sleeps are counted: buckets without gaps, sums of squares of any length, percentiles within
 * their bucket, and the words for causes.
 */
#include "bpf/ledger.h"
#include "table.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S  (1000 * MS)

TEST(buckets_have_no_gaps)
{
        for (unsigned i = 1; i < SLEEPS_BUCKETS; i++) {
                uint64_t begin = sleep_bucket_begin(i);

                ck_assert_uint_eq(sleep_bucket(begin), i);
                ck_assert_uint_eq(sleep_bucket(begin - 1), i - 1);
                if (i > 1)
                        ck_assert(begin * 4 <= sleep_bucket_begin(i - 1) * 5);
        }
        ck_assert_uint_eq(sleep_bucket(0), 0);
        ck_assert_uint_eq(sleep_bucket(UINT64_MAX), SLEEPS_BUCKETS - 1);
}

static const struct {
        const char *name;
        uint64_t lengths[6]; /* 0 ends them */
        double mean, deviation;
} spreads[] = {
        { "one", { 5 * US }, 5e3, 0 },
        { "short and equal", { 300, 300, 300 }, 300, 0 },
        { "textbook", { 2, 4, 4, 4, 6 }, 4, 1.26491 },
        { "microseconds and seconds", { 10 * US, 2 * S }, 1.000005e9, 0.999995e9 },
        { "an hour: squares beyond 64 bits", { 3600 * S, 3600 * S, 7200 * S }, 4.8e12, 1.69706e12 },
        { "close to each other", { 10 * S, 10 * S + 2 * US }, 1e10 + 1e3, 1e3 },
};

TEST_EACH(spread, spreads)
{
        struct sleep_stats stats = { 0 };

        for (int i = 0; i < 6 && c->lengths[i]; i++)
                sleep_stats_add(&stats, c->lengths[i]);
        ck_case(c->name, fabs(sleep_mean_ns(&stats) - c->mean) < 0.5, "mean %f, expected %f",
                sleep_mean_ns(&stats), c->mean);
        ck_case(c->name,
                fabs(sleep_deviation_ns(&stats) - c->deviation) <= c->deviation * 1e-3 + 1e-3,
                "deviation %f, expected %f", sleep_deviation_ns(&stats), c->deviation);
}

/* 1 .. 1000 us: a percentile is known exactly, and a bucket is at most a quarter wide. */
TEST(percentiles)
{
        static const double shares[] = { 0.01, 0.5, 0.9, 0.99, 1 };
        struct sleep_stats stats = { 0 }, halves[2] = { 0 }, sum = { 0 };

        for (unsigned i = 1; i <= 1000; i++) {
                sleep_stats_add(&stats, i * US);
                sleep_stats_add(&halves[i % 2], i * US);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
                double found = sleep_percentile_ns(&stats, shares[i]), truth = shares[i] * 1e6;

                ck_assert_msg(fabs(found - truth) <= truth / 8, "p%g is %g, expected %g",
                              shares[i] * 100, found, truth);
        }
        ck_assert_double_eq(sleep_percentile_ns(&stats, 1), 1e6);
        ck_assert(fabs(sleep_longer_than(&stats, 400 * US) - 600) < 60);
        ck_assert_double_eq(sleep_longer_than(&stats, 2 * MS), 0);
        ck_assert_double_eq(sleep_longer_than(&stats, 1), 1000);
        sleep_stats_merge(&sum, &halves[0]);
        sleep_stats_merge(&sum, &halves[1]);
        ck_assert_mem_eq(&sum, &stats, sizeof(sum));
}

TEST(nothing)
{
        struct sleep_stats stats = { 0 }, some = { 0 };

        ck_assert(isnan(sleep_mean_ns(&stats)));
        ck_assert(isnan(sleep_deviation_ns(&stats)));
        ck_assert(isnan(sleep_percentile_ns(&stats, 0.5)));
        ck_assert_double_eq(sleep_longer_than(&stats, 0), 0);
        sleep_stats_add(&some, 7 * MS);
        sleep_stats_merge(&some, &stats);
        ck_assert_uint_eq(some.min_ns, 7 * MS);
}

static const struct {
        LedgerCause cause;
        const char *text;
} causes[] = {
        { { .kind = CAUSE_TIMER, .irq = -1, .function = "hrtimer_wakeup", .name = "cyclictest" },
          "timer hrtimer_wakeup (cyclictest)" },
        { { .kind = CAUSE_TICK, .irq = -1, .function = "tick_nohz_handler" }, "tick" },
        { { .kind = CAUSE_IRQ, .irq = 24, .name = "nvme0q1" }, "IRQ 24 nvme0q1" },
        { { .kind = CAUSE_IRQ, .irq = 0, .name = "timer" }, "IRQ 0 timer" },
        { { .kind = CAUSE_TASK, .irq = -1, .name = "sshd" }, "task sshd" },
        { { .kind = CAUSE_FUNCTION_CALL, .irq = -1, .function = "do_sync_core" },
          "function call IPI do_sync_core" },
        { { .kind = CAUSE_UNKNOWN, .irq = -1 }, "unknown" },
};

TEST_EACH(words, causes)
{
        g_autofree char *text = ledger_cause_text(&c->cause);

        ck_assert_str_eq(text, c->text);
}

UNIT("sleeps")
