/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cpufreq: by load, and not to and fro. */
#include "cpufreq-machine.h"

/* In the low band (the load is 0) or the high one. */
static const struct {
        const char *name, *options;
        double busy;
        const char *wish;
} conditions[] = {
        { "low", "Governor=ondemand GovernorLow=powersave GovernorHigh=performance", 0.05,
          "governor=powersave" },
        { "middle", "Governor=ondemand GovernorLow=powersave GovernorHigh=performance", 0.5,
          "governor=ondemand" },
        { "high", "Governor=ondemand GovernorLow=powersave GovernorHigh=performance", 0.8,
          "governor=performance" },
        { "low says nothing", "Governor=ondemand GovernorHigh=performance", 0.05,
          "governor=ondemand" },
        { "only high", "MinFrequencyHigh=80%", 0.9, "min=1960000" },
        { "only high, middle", "MinFrequencyHigh=80%", 0.5, "" },
        { "own thresholds", "BoostLow=off LowLoad=60% HighLoad=70%", 0.5, "boost=0" },
};

TEST_EACH(condition, conditions)
{
        g_auto(Machine) m = machine_start(&acpi, &acpi, c->options);

        for (int i = 0; i < 12; i++) {
                for (int cpu = 0; cpu < 4; cpu++)
                        m.world->snapshot->busy[cpu] = cpu == 3 ? (float)c->busy : 0.01f;
                decide(&m, 1000000);
        }
        expect(c->name, &m, 2, c->wish);
        expect(c->name, &m, 3, c->wish);
        ck_case(c->name, m.world->wish.settled, "not settled");
}

/* Up at once, down after the dwell time, to the highest band since. */
TEST(bands)
{
        g_auto(Machine) m = machine_start(&acpi, &acpi, "BoostLow=off BoostHigh=on EnergyBias=3");
        g_autofree char *why = NULL;

        run(&m, 0, 5);
        expect("not low yet", &m, 0, "");
        ck_assert(!m.world->wish.settled);
        run(&m, 0, 1);
        expect("low", &m, 0, "boost=0");
        ck_assert(m.world->wish.settled);
        why = explain(&m, 0);
        ck_assert_ptr_nonnull(strstr(why, "boost off [BoostLow]"));
        run(&m, 0.3, 1);
        expect("middle at once", &m, 0, "");
        run(&m, 0.95, 1);
        expect("high at once", &m, 0, "boost=1");
        expect("and its neighbour", &m, 1, "boost=1");
        run(&m, 0.1, 2);
        run(&m, 0.4, 2);
        run(&m, 0.0, 1);
        expect("still high", &m, 0, "boost=1");
        run(&m, 0.0, 1);
        expect("the middle is the highest since", &m, 0, "");
        run(&m, 0.0, 5);
        expect("low in the end", &m, 0, "boost=0");
        ck_assert_uint_eq(m.world->wish.period_usec, 1000000);
}

/* About a threshold there are no more changes than Dwell lets through. */
TEST_RANGE(bands_are_steady, 0, 4)
{
        g_auto(Machine) m = machine_start(&acpi, &acpi, "BoostLow=off BoostHigh=on");
        unsigned seed = (unsigned)_i + 1, changes = 0;
        int8_t before = -1;

        for (int i = 0; i < 3600; i++) {
                run(&m, (_i % 2 ? 0.05 : 0.75) + rand_r(&seed) % 100 / 1e3, 1);
                changes += m.world->cpus[0].boost != before;
                before = m.world->cpus[0].boost;
        }
        ck_assert_msg(changes <= 2 * 3600 / 5, "%u changes", changes);
}

/* What settled promises. */
TEST_RANGE(settled_stays, 0, 20)
{
        g_auto(Machine) m = machine_start(&acpi, &intel_active, "BoostLow=off BoostHigh=on");
        unsigned seed = (unsigned)_i, settled = 0;

        for (int round = 0; round < 50; round++) {
                double busy = rand_r(&seed) % 100 / 100.0;
                int8_t before;

                run(&m, busy, 1 + rand_r(&seed) % 8);
                if (!m.world->wish.settled)
                        continue;
                settled++;
                before = m.world->cpus[0].boost;
                run(&m, busy, 30);
                ck_assert_int_eq(m.world->cpus[0].boost, before);
        }
        ck_assert_uint_gt(settled, 0);
}

UNIT("cpufreq-load")
