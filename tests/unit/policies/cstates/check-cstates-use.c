/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cstates: CPUs that are used are held one idle state shallower, and not every other moment. */
#include "cstates-world.h"

/* CPU 0 for `seconds` as described, after the same for 100 s if `rested`; what is off then. */
static const struct {
        const char *name, *table, *options;
        double busy;
        uint32_t sleeps;
        int seconds;
        const char *off;
        bool settled;
} uses[] = {
        { "idle", CLIENT, "", 0.01, 10, 10, "", true },
        { "at the threshold", CLIENT, "", 0.015625, 10, 10, "", true },
        { "above it, not yet", CLIENT, "", 0.02, 10, 1, "", false },
        { "above it", CLIENT, "", 0.02, 10, 10, "C7s", true },
        { "own threshold", CLIENT, "UtilizationThreshold=30%", 0.2, 10, 10, "", true },
        { "own dwell time", CLIENT, "UtilizationDwell=20s", 0.2, 10, 19, "", false },
        { "is over", CLIENT, "UtilizationDwell=20s", 0.2, 10, 21, "C7s", true },
        { "no dwell time", CLIENT, "UtilizationDwell=0", 0.2, 10, 1, "C7s", true },
        { "sleeps of 450 us fit C6", CLIENT, "", 0.1, 2000, 10, "C6,C7s", true },
        { "of 112 us C3", CLIENT, "", 0.1, 8000, 10, "C3,C6,C7s", true },
        { "of 90 us C1E", CLIENT, "", 0.1, 10000, 10, "C1E,C3,C6,C7s", true },
        { "of 9 us C1, and that stays", CLIENT, "", 0.1, 100000, 10, "C1E,C3,C6,C7s", true },
        { "without sleeps nothing is known", CLIENT, "", 1, 0, 10, "C7s", true },
        { "never to a polling state", GUEST, "", 0.5, 100, 10, "", true },
        { "two states that both sleep", "WFI:1:1 CPUSLEEP:150:500", "", 0.5, 100, 10, "CPUSLEEP",
          true },
        { "below the limit", CLIENT, "DeepestState=C3", 0.5, 100, 10, "C3,C6,C7s", true },
        { "the limit was lower", CLIENT, "DeepestState=C1", 0.5, 100, 10, "C1E,C3,C6,C7s", true },
        { "one state", "C1:1:1", "", 0.5, 100, 10, "", true },
};

TEST_EACH(use, uses)
{
        g_autofree char *options = g_strconcat("UtilizationAware=yes", *c->options ? " " : "",
                                               c->options, NULL);
        g_auto(Machine) m = machine_start(c->table, c->table, options);

        for (int i = 0; i < c->seconds; i++) {
                sleep_put(&m, 0, c->busy, 0, c->sleeps);
                decide(&m, 1000000);
        }
        expect_off(c->name, &m, 0, c->off);
        ck_case(c->name, m.world->wish.settled == c->settled, "settled %d", m.world->wish.settled);
        ck_case(c->name, m.world->wish.period_usec == 1000000, "period");
}

/* A load that flickers about the threshold, and one that keeps about it, change nothing often. */
TEST_RANGE(use_is_steady, 0, 4)
{
        g_auto(Machine) m = machine_start(CLIENT, CLIENT, "UtilizationAware=yes");
        unsigned seed = (unsigned)_i + 1, changes = 0, n = 3600;
        uint16_t before = 0;

        for (unsigned i = 0; i < n; i++) {
                double busy = _i % 2 ? (i % 2 ? 0.001 : 0.5) : 0.01 + rand_r(&seed) % 100 / 1e4;

                sleep_put(&m, 0, busy, 2, 100 + (uint32_t)rand_r(&seed) % 4000);
                decide(&m, 1000000);
                changes += m.world->cpus[0].disabled != before;
                before = m.world->cpus[0].disabled;
        }
        ck_assert_msg(changes <= n / 12, "%u changes in %u s", changes, n);
}

TEST(use_ends)
{
        g_auto(Machine) m = machine_start(CLIENT, CLIENT, "UtilizationAware=yes");
        Reason reasons[EXPLAIN_MAX];

        for (int i = 0; i < 5; i++) {
                sleep_put(&m, 0, 0.5, 0, 100);
                decide(&m, 1000000);
        }
        expect_off("used", &m, 0, "C7s");
        ck_assert_int_eq(explain(&m, 0, reasons), 1);
        ck_assert_str_eq(reasons[0].option, "UtilizationRelease");
        ck_assert_str_eq(reasons[0].inputs[2].name, "C6");
        for (int i = 0; i < 20; i++) {
                sleep_put(&m, 0, 0.012, 0, 100);
                decide(&m, 1000000);
        }
        expect_off("between the thresholds", &m, 0, "C7s");
        for (int i = 0; i < 5; i++) {
                sleep_put(&m, 0, 0.005, 0, 100);
                decide(&m, 1000000);
        }
        expect_off("not used", &m, 0, "");
        ck_assert_int_eq(explain(&m, 0, reasons), 1);
        ck_assert_str_eq(reasons[0].option, "UtilizationThreshold");
}

/* Asked again about a reading, because a hold came or went, it acts no earlier and not otherwise.
 */
TEST_RANGE(same_reading, 0, 20)
{
        g_auto(Machine) m = machine_start(CLIENT, SERVER, "UtilizationAware=yes");
        g_auto(Machine) again = machine_start(CLIENT, SERVER, "UtilizationAware=yes");
        unsigned seed = (unsigned)_i;

        for (int i = 0; i < 200; i++) {
                double busy = rand_r(&seed) % 400 / 1e4;
                uint32_t sleeps = (uint32_t)rand_r(&seed) % 20000;

                sleep_put(&m, 0, busy, 1, sleeps);
                sleep_put(&again, 0, busy, 1, sleeps);
                decide(&m, 500000);
                decide(&again, 500000);
                for (int times = rand_r(&seed) % 3; times > 0; times--) {
                        again.world->interval_sec = 0.5;
                        decide(&again, 0);
                }
                ck_assert_int_eq(again.world->cpus[0].disabled, m.world->cpus[0].disabled);
                ck_assert_int_eq(again.world->wish.settled, m.world->wish.settled);
        }
}

/* What settled promises: the same load, and nothing changes however long it lasts. */
TEST_RANGE(settled_stays, 0, 20)
{
        g_auto(Machine)
                m = machine_start(CLIENT, SERVER, "UtilizationAware=yes DeepestState=150us");
        unsigned seed = (unsigned)_i, settled = 0;

        for (int round = 0; round < 100; round++) {
                uint16_t before[4];

                for (int cpu = 0; cpu < 4; cpu++)
                        sleep_put(&m, cpu, rand_r(&seed) % 400 / 1e4, 1,
                                  (uint32_t)rand_r(&seed) % 20000);
                for (int i = rand_r(&seed) % 6; i >= 0; i--)
                        decide(&m, 1000000);
                if (!m.world->wish.settled)
                        continue;
                settled++;
                for (int cpu = 0; cpu < 4; cpu++)
                        before[cpu] = m.world->cpus[cpu].disabled;
                for (int i = 0; i < 20; i++) {
                        decide(&m, 1000000);
                        for (int cpu = 0; cpu < 4; cpu++)
                                ck_assert_int_eq(m.world->cpus[cpu].disabled, before[cpu]);
                }
        }
        ck_assert_uint_gt(settled, 0);
}

UNIT("cstates-use")
