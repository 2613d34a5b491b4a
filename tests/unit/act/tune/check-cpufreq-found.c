/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is taken for found of limits that a boost or a maximum of ours has moved.
 */
#include "cpufreq-tree.h"

/* A limit is first requested while our boost has moved the maximum. idled restores the maximum from
 * before the boost, or the one that another program set since. That holds if the limit was dropped
 * and requested again, or boost was switched on again next to it. */
static const struct {
        const char *name, *file;
        bool again, on;
        const char *meanwhile, *after; /* the maximum that is shown, and that comes back */
} moved[] = {
        { "the machine's", "cpufreq/boost", false, false, "2500000", "3000000" },
        { "the machine's, requested again", "cpufreq/boost", true, false, "2500000", "3000000" },
        { "the machine's, on again", "cpufreq/boost", false, true, "2500000", "3000000" },
        { "the machine's, another since", "cpufreq/boost", false, false, "1500000", "1500000" },
        { "another since, requested again", "cpufreq/boost", true, false, "1500000", "1500000" },
        { "the policy's", "cpufreq/policy0/boost", false, false, "2500000", "3000000" },
        { "the policy's, requested again", "cpufreq/policy0/boost", true, false, "2500000",
          "3000000" },
        { "the policy's, another since", "cpufreq/policy0/boost", false, false, "1500000",
          "1500000" },
};

TEST_EACH(limit_after_boost, moved)
{
        put("1", "%s", c->file);
        if (strstr(c->file, "policy"))
                found(2, "boost", "1");
        found(0, MAX_FREQ, "3000000");
        switch_boost(0);
        expect_value(c->name, c->file, "0");
        found(0, MAX_FREQ, c->meanwhile);
        found(0, "cpuinfo_max_freq", "2500000");
        limit_maximum(2000000);
        if (c->again) {
                limit_maximum(0);
                expect("given up", 0, MAX_FREQ, c->after);
                found(0, MAX_FREQ, c->meanwhile);
                limit_maximum(2000000);
        }
        if (c->on) {
                wishes[0].boost = 1;
                ck_assert_int_eq(apply(), 0);
        }
        expect(c->name, 0, MAX_FREQ, "2000000");
        restore(knobs);
        expect_value(c->name, c->file, "1");
        expect(c->name, 0, MAX_FREQ, c->after);
}

static void lower_maximum(void)
{
        found(0, MAX_FREQ, "2500000");
}

/* In older kernels intel_pstate lowers the maximum at once, and leaves cpuinfo_max_freq alone. */
static const struct {
        const char *name, *meanwhile, *after;
} turbos[] = {
        { "as the kernel put it", "2500000", "3000000" },
        { "another since", "1500000", "1500000" },
};

TEST_EACH(limit_after_turbo, turbos)
{
        drop("cpufreq/boost");
        put("0", "intel_pstate/no_turbo");
        found(0, MAX_FREQ, "3000000");
        wishes[0].boost = wishes[2].boost = 0;
        tuning_moves = lower_maximum;
        ck_assert_int_eq(apply(), 0);
        expect_value(c->name, "intel_pstate/no_turbo", "1");
        expect(c->name, 0, MAX_FREQ, "2500000");
        found(0, MAX_FREQ, c->meanwhile);
        limit_maximum(2000000);
        expect(c->name, 0, MAX_FREQ, "2000000");
        restore(knobs);
        expect_value(c->name, "intel_pstate/no_turbo", "0");
        expect(c->name, 0, MAX_FREQ, c->after);
}

/* Heat or firmware, not another program, lowers the maximum while our boost is set. */
TEST_RANGE(limit_after_boost_in_the_heat, 0, 2)
{
        found(0, MAX_FREQ, "3000000");
        switch_boost(0);
        found(0, MAX_FREQ, "1800000");
        found(0, "cpuinfo_max_freq", "2500000");
        if (_i == 0) {
                scratch_file("sys/class/thermal/cooling_device0/type", "Processor\n");
                scratch_file("sys/class/thermal/cooling_device0/cur_state", "2\n");
        } else {
                found(0, "bios_limit", "1800000");
        }
        limit_maximum(1500000);
        expect("requested", 0, MAX_FREQ, "1500000");
        restore(knobs);
        expect("as found", 0, MAX_FREQ, "3000000");
}

/* idled sets and restores boost; another program sets the maximum; then idled limits it. */
static void limit_after_old_boost(void)
{
        switch_boost(0);
        end_wishes();
        found(0, MAX_FREQ, "3000000");
        limit_maximum(2000000);
}

/* A value that was set after our boost was restored is the original value then. */
TEST(limit_long_after_boost)
{
        limit_after_old_boost();
        restore(knobs);
        expect("as found", 0, MAX_FREQ, "3000000");
}

/* What was found before a boost of long ago is not what was found before this one. */
TEST(limit_set_between_boosts)
{
        limit_after_old_boost();
        switch_boost(0);
        limit_maximum(0);
        expect("given up", 0, MAX_FREQ, "3000000");
        limit_maximum(2000000);
        restore(knobs);
        expect("as found", 0, MAX_FREQ, "3000000");
}

/* A minimum is first requested while our boost or maximum lowers the one that was found. idled
 * restores the minimum that was found, or the one that another program set since. */
static const struct {
        const char *name, *file; /* of the boost; NULL: by a maximum */
        bool again;
        const char *meanwhile, *after; /* the minimum that is shown, and that comes back */
} lowered[] = {
        { "the machine's", "cpufreq/boost", false, "2500000", "3000000" },
        { "the machine's, requested again", "cpufreq/boost", true, "2500000", "3000000" },
        { "the machine's, another since", "cpufreq/boost", false, "1000000", "1000000" },
        { "the policy's", "cpufreq/policy0/boost", false, "2500000", "3000000" },
        { "a maximum", NULL, false, "2500000", "3000000" },
        { "a maximum, requested again", NULL, true, "2500000", "3000000" },
        { "a maximum, another since", NULL, false, "1000000", "1000000" },
};

TEST_EACH(minimum_after_maximum, lowered)
{
        put("1", "%s", c->file ?: "cpufreq/boost");
        if (c->file && strstr(c->file, "policy"))
                found(2, "boost", "1");
        found(0, MIN_FREQ, "3000000");
        if (c->file)
                wishes[0].boost = wishes[2].boost = 0;
        else
                wishes[0].max_khz = 2500000;
        ck_assert_int_eq(apply(), 0);
        found(0, MAX_FREQ, "2500000");
        found(0, MIN_FREQ, c->meanwhile);
        for (int i = 0; i <= c->again; i++) {
                wishes[0].min_khz = 1200000;
                apply_sets(c->name, 0, MIN_FREQ, "1200000");
                if (i == c->again)
                        break;
                wishes[0].min_khz = 0;
                apply_sets("given up", 0, MIN_FREQ, c->after);
                found(0, MIN_FREQ, c->meanwhile);
        }
        restore(knobs);
        expect(c->name, 0, MIN_FREQ, c->after);
}

/* The maximum is shown only after idled has waited for it, when it has lowered the minimum already.
 * Both come back. */
TEST(minimum_after_late_maximum)
{
        found(0, MIN_FREQ, "3000000");
        wishes[0].max_khz = 2500000;
        tuning_refusal = TUNING_LATE;
        ck_assert_int_eq(apply(), -EPERM);
        tuning_refusal = 0;
        found(0, MAX_FREQ, "2500000");
        found(0, MIN_FREQ, "2500000");
        wishes[0].min_khz = 1200000;
        apply_sets("lowered", 0, MIN_FREQ, "1200000");
        restore(knobs);
        expect("as found", 0, MIN_FREQ, "3000000");
        expect("as found", 0, MAX_FREQ, "4000000");
}

/* idled switches boost and nothing else. The kernel moves the maximum with it, and Linux 7.3 leaves
 * it there when boost is restored: idled restores the maximum, unless another program set one. That
 * holds when the request ends, when idled ends, and after a kill. */
static const struct {
        const char *name, *boost, *before, *with, *restored;
        const char *after; /* the maximum; `with`: that which the kernel makes of it */
} switched[] = {
        { "on, stays", "0", "2500000", "4000000", "4000000", "2500000" },
        { "on, follows", "0", "2500000", "4000000", "2500000", "2500000" },
        { "on, below both", "0", "2000000", "2000000", "2000000", "2000000" },
        { "on, forgotten", "0", "2000000", "4000000", "2500000", "2000000" },
        { "off, forgotten", "1", "3000000", "2500000", "4000000", "3000000" },
        { "another since", "0", "2500000", "1500000", "1500000", "1500000" },
};
static typeof(switched[0]) *switching;

static void move_maximum(void)
{
        found(0, MAX_FREQ, switching->with);
}

static void move_maximum_back(void)
{
        found(0, MAX_FREQ, switching->restored);
}

TEST_RANGE(boost_alone, 0, 3 * G_N_ELEMENTS(switched))
{
        int end = _i / (int)G_N_ELEMENTS(switched);

        switching = &switched[_i % (int)G_N_ELEMENTS(switched)];
        put(switching->boost, "cpufreq/boost");
        found(0, "scaling_available_frequencies", "2500000 2000000 1500000 800000");
        found(0, MAX_FREQ, switching->before);
        wishes[0].boost = wishes[2].boost = *switching->boost == '0';
        tuning_moves = move_maximum;
        apply_sets(switching->name, 0, MAX_FREQ, switching->with);
        tuning_moves = move_maximum_back;
        if (end == 0) {
                end_wishes();
        } else if (end == 1) {
                restore(knobs);
        } else {
                recover_all(actuator_cpufreq.kinds);
        }
        expect_value(switching->name, "cpufreq/boost", switching->boost);
        expect(switching->name, 0, MAX_FREQ, switching->after);
        ck_assert(!record_exists());
}

/* Linux 7.3 leaves a maximum that was restored where it is, as if it were a user's. */
TEST(boost_again)
{
        switching = &switched[0];
        put("0", "cpufreq/boost");
        found(0, "scaling_available_frequencies", "2500000 2000000 1500000 800000");
        found(0, MAX_FREQ, switching->before);
        wishes[0].boost = wishes[2].boost = 1;
        tuning_moves = move_maximum;
        ck_assert_int_eq(apply(), 0);
        tuning_moves = NULL;
        for (int i = 0; i < 2; i++) {
                end_wishes();
                expect("without", 0, MAX_FREQ, switching->before);
                switch_boost(1);
                expect("again", 0, MAX_FREQ, switching->with);
        }
        restore(knobs);
        expect("restored", 0, MAX_FREQ, switching->before);
        ck_assert(!record_exists());
}

/* Boost is as requested: nothing is written, and nothing stays on record. */
TEST(boost_as_requested)
{
        switch_boost(1);
        ck_assert_uint_eq(knobs_writes(knobs), 0);
        ck_assert(!record_exists());
}

UNIT("cpufreq-found", .setup = acpi_setup, .teardown = tuning_teardown)
