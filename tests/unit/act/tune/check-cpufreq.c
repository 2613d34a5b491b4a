/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Governors, EPP, EPB and frequency limits.
 */
#include "cpufreq-tree.h"

TEST(everything)
{
        CpuWish limits;

        wishes[1] = (CpuWish){ .latency_us = 5,
                               .bias = 15,
                               .boost = 0,
                               .min_khz = 1000000,
                               .max_khz = 2000000,
                               .governor = g_intern_string("powersave"),
                               .preference = g_intern_string("power") };
        wishes[3].boost = 0;
        apply_sets("requested", 0, EPP, "power");
        expect("requested", 0, MIN_FREQ, "1000000");
        expect("requested", 0, MAX_FREQ, "2000000");
        expect("not requested", 2, EPP, "balance_power");
        expect("not requested", 2, MAX_FREQ, "4000000");
        expect_value("EPB is of each CPU", "cpu0/power/energy_perf_bias", "15");
        expect_value("EPB is of each CPU", "cpu1/power/energy_perf_bias", "15");
        expect_value("not requested", "cpu2/power/energy_perf_bias", "6");
        expect_value("the other way round", "intel_pstate/no_turbo", "1");
        limits = effective_of(0);
        ck_assert_uint_eq(limits.max_khz, 2000000);
        ck_assert_str_eq(limits.preference, "power");
        ck_assert_str_eq(limits.governor, "powersave");
        ck_assert_int_eq(limits.bias, 15);
        ck_assert_int_eq(limits.boost, 0);
        ck_assert_int_eq(limits.latency_us, -1);
        limits = effective_of(2);
        ck_assert_uint_eq(limits.max_khz, 0);
        ck_assert_ptr_null(limits.governor);
        end_wishes();
        expect("as found", 0, EPP, "balance_power");
        expect("as found", 0, MIN_FREQ, "800000");
        expect("as found", 0, MAX_FREQ, "4000000");
        expect_value("as found", "cpu1/power/energy_perf_bias", "6");
        expect_value("as found", "intel_pstate/no_turbo", "0");
        ck_assert(!record_exists());
}

TEST(no_needless_write)
{
        unsigned writes;

        for (int cpu = 0; cpu < N_CPUS; cpu++) {
                wishes[cpu].max_khz = 2000000;
                wishes[cpu].preference = g_intern_string("power");
        }
        ck_assert_int_eq(apply(), 0);
        writes = knobs_writes(knobs);
        ck_assert_uint_eq(writes, 4); /* once for each policy */
        ck_assert_int_eq(apply(), 0);
        ck_assert_int_eq(apply_again(), 0);
        ck_assert_uint_eq(knobs_writes(knobs), writes);
        wishes[0].latency_us = 3;
        wishes[1].max_khz = 3000000; /* CPU 0 still wants less */
        ck_assert_int_eq(apply(), 0);
        ck_assert_uint_eq(knobs_writes(knobs), writes);
        wishes[2].max_khz = wishes[3].max_khz = 3000000;
        ck_assert_int_eq(apply(), 0);
        ck_assert_uint_eq(knobs_writes(knobs), writes + 1);
}

/* Plain files accept the limits in any order, so a child is stopped after each write and the limits
 * are read: the minimum may never exceed the maximum. */
static uint32_t from_min, from_max, to_min, to_max;

static void change_limits(void)
{
        wishes[0].min_khz = from_min;
        wishes[0].max_khz = from_max;
        apply();
        wishes[0].min_khz = to_min;
        wishes[0].max_khz = to_max;
        apply();
        no_wishes();
        apply();
}

static const struct {
        const char *name;
        uint32_t from_min, from_max, to_min, to_max;
} orders[] = {
        { "up", 900000, 1000000, 2000000, 3000000 },
        { "down", 2000000, 3000000, 900000, 1000000 },
        { "narrower", 900000, 3000000, 1500000, 2000000 },
        { "wider", 1500000, 2000000, 900000, 3000000 },
        { "only a maximum, then only a minimum", 0, 1000000, 3000000, 0 },
        { "only a minimum, then only a maximum", 3000000, 0, 0, 1000000 },
};

TEST_EACH(order, orders)
{
        from_min = c->from_min;
        from_max = c->from_max;
        to_min = c->to_min;
        to_max = c->to_max;
        for (int n = 0; killed_at(n, change_limits); n++) {
                g_autofree char *min = value_of("cpufreq/policy0/" MIN_FREQ);
                g_autofree char *max = value_of("cpufreq/policy0/" MAX_FREQ);

                ck_case(c->name, atoi(min) <= atoi(max), "%s above %s at %d", min, max, n);
                recover_all(actuator_cpufreq.kinds);
                expect(c->name, 0, MIN_FREQ, "800000");
                expect(c->name, 0, MAX_FREQ, "4000000");
        }
}

static const struct {
        const char *name, *found, *governor, *preference; /* "" no request */
        int r;
        const char *then, *then_epp;
} choices[] = {
        { "powersave and EPP", "powersave", "powersave", "power", 0, "powersave", "power" },
        { "performance has no other EPP", "powersave", "performance", "power", 0, "performance",
          "balance_power" },
        { "another driver's governor", "powersave", "schedutil", "power", -EINVAL, "powersave",
          "power" },
        { "default is no value", "powersave", "", "default", 0, "powersave", "balance_power" },
        { "EPP alone", "powersave", "", "performance", 0, "powersave", "performance" },
        { "out of performance", "performance", "powersave", "power", 0, "powersave", "power" },
};

TEST_EACH(choice, choices)
{
        found(0, GOVERNOR, c->found);
        wishes[0].governor = *c->governor ? g_intern_string(c->governor) : NULL;
        wishes[0].preference = *c->preference ? g_intern_string(c->preference) : NULL;
        ck_assert_int_eq(apply(), c->r);
        expect(c->name, 0, GOVERNOR, c->then);
        expect(c->name, 0, EPP, c->then_epp);
        restore(knobs);
        expect(c->name, 0, GOVERNOR, c->found);
        expect(c->name, 0, EPP, "balance_power");
}

/* EPP is ours, then the governor that does not have it is chosen, and back. */
TEST(there_and_back)
{
        wishes[0].preference = g_intern_string("power");
        ck_assert_int_eq(apply(), 0);
        wishes[0].governor = g_intern_string("performance");
        apply_sets("restored before", 0, EPP, "balance_power");
        found(0, EPP, "performance"); /* the driver */
        ck_assert_int_eq(knobs_verify(knobs), 0);
        wishes[0].governor = NULL;
        found(0, EPP, "balance_power"); /* the driver again */
        apply_sets("back", 0, GOVERNOR, "powersave");
        expect("back", 0, EPP, "power");
        restore(knobs);
        expect("as found", 0, EPP, "balance_power");
}

TEST(lower_cpu_wins)
{
        wishes[0].max_khz = 9000000;
        wishes[2].min_khz = 100;
        apply_sets("no more than there is", 0, MAX_FREQ, "4000000");
        expect("no less than there is", 2, MIN_FREQ, "800000");
        ck_assert(!record_exists());
}

TEST(excluded)
{
        options.exclude = set_of("1");
        reopen();
        for (int cpu = 0; cpu < N_CPUS; cpu++) {
                wishes[cpu].preference = g_intern_string("power");
                wishes[cpu].boost = 0;
        }
        apply_sets("shares a policy with it", 0, EPP, "balance_power");
        expect("not excluded", 2, EPP, "power");
        expect_value("it is for all", "intel_pstate/no_turbo", "0");
}

UNIT("cpufreq", .setup = setup, .teardown = tuning_teardown)
