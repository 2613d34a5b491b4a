/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What drivers and the kernel do to frequencies: governors that vanish, boost, limits that no
 * program wrote.
 */
#include "act/tune/cpufreq-knobs.h"
#include "cpufreq-tree.h"

TEST(acpi)
{
        wishes[0].governor = g_intern_string("ondemand");
        wishes[1].governor = g_intern_string("schedutil");
        wishes[2].governor = g_intern_string("conservative");
        apply_sets("the faster one", 0, GOVERNOR, "schedutil");
        expect("the only one", 2, GOVERNOR, "conservative");
        restore(knobs);
        expect("as found", 0, GOVERNOR, "powersave");
}

static const struct {
        const char *name;
        int8_t boosts[2]; /* of the policies */
        bool split;       /* policies have a file of their own */
        const char *machine, *first, *second;
} boosts[] = {
        { "no request", { -1, -1 }, false, "1", "", "" },
        { "none wanted", { 0, 0 }, false, "0", "", "" },
        { "none wanted by one", { 0, -1 }, false, "0", "", "" },
        { "wanted by one", { 0, 1 }, false, "1", "", "" },
        { "no request, each", { -1, -1 }, true, "1", "1", "1" },
        { "none wanted, each", { 0, 0 }, true, "0", "0", "0" },
        { "none wanted by one, each", { 0, -1 }, true, "1", "0", "1" },
        { "wanted by one, each", { 0, 1 }, true, "1", "0", "1" },
};

TEST_EACH(boost, boosts)
{
        for (int i = 0; i < 2; i++) {
                if (c->split)
                        found(2 * i, "boost", "1");
                wishes[2 * i].boost = c->boosts[i];
        }
        ck_assert_int_eq(apply(), 0);
        expect_value(c->name, "cpufreq/boost", c->machine);
        if (c->split) {
                expect(c->name, 0, "boost", c->first);
                expect(c->name, 2, "boost", c->second);
        }
        ck_assert_int_eq(effective_of(0).boost,
                         *c->machine == '1' && !c->split && c->boosts[0] == 0 ? -1 : c->boosts[0]);
        end_wishes();
        expect_value(c->name, "cpufreq/boost", "1");
        ck_assert(!record_exists());
}

/* Values that the kernel shows although no program wrote them, and some that one wrote. */
static const struct {
        const char *name, *file, *now, *other_file, *other;
        int wrong;
} shown[] = {
        { "as written", MAX_FREQ, "3000000", NULL, NULL, 0 },
        { "another program's", MAX_FREQ, "2500000", NULL, NULL, 1 },
        { "another program's, higher", MAX_FREQ, "4000000", NULL, NULL, 0 },
        { "boost went", MAX_FREQ, "2500000", DIR "cpufreq/policy0/cpuinfo_max_freq", "2500000", 0 },
        { "firmware", MAX_FREQ, "2500000", DIR "cpufreq/policy0/bios_limit", "2500000", 0 },
        { "firmware allows more", MAX_FREQ, "2500000", DIR "cpufreq/policy0/bios_limit", "4000000",
          1 },
        { "hot", MAX_FREQ, "2500000", "sys/class/thermal/cooling_device0/cur_state", "1", 0 },
        { "not hot", MAX_FREQ, "2500000", "sys/class/thermal/cooling_device0/cur_state", "0", 1 },
        { "a minimum below its maximum", MIN_FREQ, "1800000", DIR "cpufreq/policy0/" MAX_FREQ,
          "1800000", 1 },
        { "another program's minimum", MIN_FREQ, "1800000", NULL, NULL, 1 },
};

TEST_EACH(held, shown)
{
        wishes[0].min_khz = 2000000;
        limit_maximum(3000000);
        scratch_file("sys/class/thermal/cooling_device0/type", "Processor\n");
        scratch_file("sys/class/thermal/cooling_device1/type", "Fan\n");
        scratch_file("sys/class/thermal/cooling_device1/cur_state", "1\n");
        found(0, c->file, c->now);
        if (c->other)
                scratch_file(c->other_file, c->other);
        if (g_str_equal(c->now, "4000000")) { /* the original: wrong, but not taken over */
                ck_assert_int_eq(knobs_verify(knobs), 1);
                return;
        }
        ck_case(c->name, knobs_verify(knobs) == c->wrong, "wrong");
}

TEST(vanished)
{
        wishes[0].governor = g_intern_string("schedutil");
        ck_assert_int_eq(apply(), 0);
        found(0, GOVERNOR, "powersave"); /* another driver, which has no schedutil */
        policies[0].governors = (char **)words_of_pstate;
        ck_assert_int_eq(apply_again(), -EINVAL);
        expect("untouched", 0, GOVERNOR, "powersave");
        wishes[0].governor = g_intern_string("performance");
        ck_assert_int_eq(apply(), 0);
        restore(knobs);
        expect("as found", 0, GOVERNOR, "powersave");
}

/* The kernel moves limits when boost changes; they stay ours, and come back as they were found. */
TEST(disturbed)
{
        const Knob *knob;

        found(0, MAX_FREQ, "1500000");
        limit_maximum(3000000);
        switch_boost(0);
        expect_value("requested", "cpufreq/boost", "0");
        expect("requested", 0, MAX_FREQ, "3000000");
        knob = knob_find(knobs, actuator_cpufreq.kinds[2], "cpufreq/policy0/" MAX_FREQ);
        ck_assert_int_eq(knob->state, KNOB_OURS);
        restore(knobs);
        expect_value("as found", "cpufreq/boost", "1");
        expect("as found", 0, MAX_FREQ, "1500000");
}

/* What is found of limits is on record before boost moves them. */
TEST(recorded_before)
{
        g_autofree char *text = NULL;

        wishes[0].max_khz = 3000000;
        switch_boost(0);
        expect_value("requested", "cpufreq/boost", "0");
        expect("requested", 0, MAX_FREQ, "3000000");
        ck_assert_int_eq(file_read(scratch_fd, "undo", &text), 0);
        ck_assert_ptr_nonnull(strstr(text, MAX_FREQ));
        ck_assert(strstr(text, MAX_FREQ) < strstr(text, "cpufreq/boost"));
        restore(knobs);
}

/* Only limits are read once more when boost was switched. */
TEST(governor_left_alone)
{
        const KnobKind *kind = actuator_cpufreq.kinds[0];

        wishes[0].governor = g_intern_string("schedutil");
        ck_assert_int_eq(apply(), 0);
        found(0, GOVERNOR, "performance");
        switch_boost(0);
        ck_assert_int_eq(knob_find(knobs, kind, "cpufreq/policy0/" GOVERNOR)->state, KNOB_OURS);
        ck_assert_int_eq(knobs_verify(knobs), 1);
}

/* As the kernel rounds values: a minimum to the next frequency above, a maximum to the next
 * below. */
static const struct {
        const char *name;
        uint32_t min, max;
        const char *then_min, *then_max;
} rounded[] = {
        { "of the table", 1600000, 2400000, "1600000", "2400000" },
        { "between", 1700000, 2500000, "2400000", "2400000" },
        { "a little too much", 1600001, 3999999, "2400000", "3200000" },
        { "the ends", 800000, 4000000, "800000", "4000000" },
        { "beyond the ends", 1, 5000000, "800000", "4000000" },
};

TEST_EACH(rounds, rounded)
{
        static uint32_t table[] = { 800000, 1600000, 2400000, 3200000, 4000000, 0 };
        CpuWish limits;

        for (int i = 0; i < 2; i++)
                policies[i].frequencies = table;
        wishes[0].min_khz = c->min;
        wishes[0].max_khz = c->max;
        apply_sets(c->name, 0, MIN_FREQ, c->then_min);
        expect(c->name, 0, MAX_FREQ, c->then_max);
        limits = effective_of(0);
        ck_assert_uint_eq(limits.min_khz, (uint32_t)atoi(c->then_min));
        ck_assert_uint_eq(limits.max_khz, (uint32_t)atoi(c->then_max));
}

TEST(refused_again)
{
        wishes[0].boost = wishes[2].boost = 0;
        tuning_refusal = EIO;
        ck_assert_int_eq(apply(), -EIO);
        ck_assert_msg(apply() == -EIO, "it counts as done");
        tuning_refusal = 0;
        ck_assert_int_eq(apply(), 0);
        expect_value("in the end", "cpufreq/boost", "0");
}

/* While amd-pstate chooses EPP itself it refuses every word; a person reads why. */
static const struct {
        const char *name, *dynamic;
        int error;
        bool explained;
} busy[] = {
        { "on", "enabled", EBUSY, true },          { "on, as a number", "1", EBUSY, true },
        { "off", "disabled", EBUSY, false },       { "another error", "enabled", EIO, false },
        { "an older kernel", NULL, EBUSY, false },
};

TEST_EACH(epp_busy, busy)
{
        g_autofree char *why = NULL;

        make_policy(0, "amd-pstate-epp", words_of_pstate);
        if (c->dynamic)
                put(c->dynamic, "amd_pstate/dynamic_epp");
        wishes[0].preference = g_intern_string("power");
        tuning_refusal = c->error;
        ck_assert_int_eq(apply(), -c->error);
        tuning_refusal = 0;
        why = knob_failure(knobs, knob_find(knobs, &cpufreq_choice_kind, "cpufreq/policy0/" EPP));
        ck_case(c->name, g_str_has_prefix(why, g_strerror(c->error)), "%s", why);
        ck_case(c->name, (strstr(why, "dynamic_epp") != NULL) == c->explained, "%s", why);
}

/* The word dynamic is a choice as others are, and slower than those that ask for speed. */
TEST(epp_dynamic)
{
        found(0, EPP, "dynamic");
        wishes[0].preference = g_intern_string("power");
        apply_sets("requested", 0, EPP, "power");
        wishes[1].preference = g_intern_string("dynamic");
        apply_sets("the faster one", 0, EPP, "dynamic");
        ck_assert_str_eq(effective_of(0).preference, "dynamic");
        wishes[0].preference = g_intern_string("balance_performance");
        apply_sets("the faster one", 0, EPP, "balance_performance");
        restore(knobs);
        expect("as found", 0, EPP, "dynamic");
}

/* A value that was there already counts as in effect for as long as it is requested, and no
 * longer. */
TEST(there_already)
{
        CpuWish limits;

        wishes[0].boost = wishes[2].boost = 1;
        limit_maximum(4000000);
        limits = effective_of(0);
        ck_assert_int_eq(limits.boost, 1);
        ck_assert_uint_eq(limits.max_khz, 4000000);
        end_wishes();
        limits = effective_of(0);
        ck_assert_int_eq(limits.boost, -1);
        ck_assert_uint_eq(limits.max_khz, 0);
}

/* A policy that was away with its CPUs comes back with values of the kernel's. */
TEST(away_and_back)
{
        static const struct {
                const char *file, *wished, *again;
        } files[] = {
                { GOVERNOR, "schedutil", "performance" },
                { MAX_FREQ, "3000000", "4000000" },
                { "boost", "0", "1" },
        };
        CpuSet returned = policies[0].cpus;

        for (int i = 0; i < 2; i++)
                found(2 * i, "boost", "1");
        wishes[0].governor = g_intern_string("schedutil");
        wishes[0].max_khz = 3000000;
        wishes[0].boost = 0;
        ck_assert_int_eq(apply(), 0);
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
                found(0, files[i].file, files[i].again);
        actuator_cpufreq.forget(state, knobs, &returned);
        ck_assert_int_eq(apply(), 0);
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
                expect("again", 0, files[i].file, files[i].wished);
}

/* The directory without any policy is that of a kernel with cpufreq on a machine without. */
TEST(not_there)
{
        g_autofree char *bare = g_build_filename(scratch, "bare", NULL);
        g_autofree char *dir = g_build_filename(bare, TUNE_DIR "cpufreq", NULL);
        void *none;

        ck_assert_int_eq(g_mkdir_with_parents(dir, 0755), 0);
        _fd_ int root = root_open(bare);
        ck_assert_int_eq(actuator_cpufreq.open(&(ActContext){ .root = root }, &options, &none),
                         -ENOENT);
}

UNIT("cpufreq-drivers", .setup = acpi_setup, .teardown = tuning_teardown)
