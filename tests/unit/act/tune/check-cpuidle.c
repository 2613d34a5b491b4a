/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Switching idle states off, and choosing the kernel's idle governor.
 */
#include "tuning.h"

#define STATES 3

static void name_of(int cpu, int index, char name[TUNE_NAME])
{
        snprintf(name, TUNE_NAME, "cpu%d/cpuidle/state%d/disable", cpu, index);
}

/* The switches of a CPU's states, shallowest first: "010" is that the second is off. */
static void expect(const char *where, int cpu, const char *switches)
{
        for (int i = 0; switches[i]; i++) {
                const char text[] = { switches[i], '\0' };
                char name[TUNE_NAME];

                name_of(cpu, i, name);
                expect_value(where, name, text);
        }
}

static void found(int cpu, const char *switches)
{
        for (int i = 0; switches[i]; i++) {
                const char text[] = { switches[i], '\0' };

                put(text, "cpu%d/cpuidle/state%d/disable", cpu, i);
        }
        idle[cpu].n_states = (int)strlen(switches);
}

static void setup(void)
{
        tuning_setup();
        for (int cpu = 0; cpu < N_CPUS; cpu++)
                found(cpu, "000");
        put("acpi_idle", "cpuidle/current_driver");
        put("menu", "cpuidle/current_governor");
        put("ladder menu teo ", "cpuidle/available_governors");
        tuning_start(&actuator_cpuidle, &options);
}

static const struct {
        const char *name, *found;
        uint16_t first, second;
        const char *then, *after; /* with the first request, and with the second */
} masks[] = {
        { "nothing", "000", 0, 0, "000", "000" },
        { "the deepest", "000", 4, 0, "001", "000" },
        { "two, then another", "000", 6, 1, "011", "100" },
        { "a switch that was off stays", "010", 4, 0, "011", "010" },
        { "a switch that was off already", "001", 4, 0, "001", "001" },
        { "another program left only that on", "011", 1, 0, "011", "011" },
        { "another program left two on", "010", 5, 0, "011", "010" },
        { "another program left none on", "111", 2, 0, "111", "111" },
        { "one state", "0", 1, 0, "0", "0" },
        { "five states", "00000", 0x18, 0x10, "00011", "00001" },
        { "bits of states that are not there", "00", 0, 0, "00", "00" },
};

TEST_EACH(mask, masks)
{
        found(1, c->found);
        wishes[1].disabled = c->first;
        apply_sets(c->name, 1, c->then);
        expect(c->name, 0, "000");
        wishes[1].disabled = c->second;
        apply_sets(c->name, 1, c->after);
        wishes[1].disabled = 0;
        apply_sets(c->name, 1, c->found);
        ck_assert(!record_exists());
}

/* At no place between two requests are all states off. */
static bool all_off;

static void look(void)
{
        g_autofree char *one = value_of("cpu1/cpuidle/state0/disable");
        g_autofree char *two = value_of("cpu1/cpuidle/state1/disable");

        all_off |= g_strcmp0(one, "1") == 0 && g_strcmp0(two, "1") == 0;
}

static void change_over(void)
{
        wishes[1].disabled = 1;
        apply();
        wishes[1].disabled = 2;
        apply();
        wishes[1].disabled = 1;
        apply();
}

TEST(never_all)
{
        int n;

        found(1, "00");
        for (n = 0; killed_at(n, change_over); n++) {
                look();
                recover_all(actuator_cpuidle.kinds);
                expect("killed", 1, "00");
        }
        ck_assert_int_gt(n, 10);
        ck_assert(!all_off);
}

/* The same state has another index where CPUs have other tables. */
TEST(peer_defect_9_different_tables)
{
        found(0, "0");
        found(3, "00000");
        for (int cpu = 0; cpu < N_CPUS; cpu++)
                wishes[cpu].disabled = (uint16_t)(1u << (idle[cpu].n_states - 1));
        apply_sets("one state", 0, "0");
        expect("three states", 1, "001");
        expect("five states", 3, "00001");
        restore(knobs);
        expect("five states", 3, "00000");
}

/* Another driver has fewer states: those that are gone cannot be restored, the others are. */
TEST(fewer_states)
{
        char name[TUNE_NAME];

        wishes[1].disabled = 6;
        ck_assert_int_eq(apply(), 0);
        name_of(1, 2, name);
        drop(name);
        wishes[1].disabled = 4;
        ck_assert_int_eq(apply(), -ENOENT);
        idle[1].n_states = 2;
        wishes[1].disabled = 2;
        ck_assert_int_eq(apply_again(), 0);
        expect("two states", 1, "01");
        wishes[1].disabled = 0;
        apply_sets("as found", 1, "00");
        ck_assert(!record_exists());
}

TEST(no_needless_write)
{
        for (int cpu = 0; cpu < N_CPUS; cpu++)
                wishes[cpu].disabled = 4;
        plan.idle_governor = "teo";
        ck_assert_int_eq(apply(), 0);
        ck_assert_uint_eq(knobs_writes(knobs), N_CPUS + 1);
        ck_assert_int_eq(apply(), 0);
        ck_assert_int_eq(apply_again(), 0);
        ck_assert_uint_eq(knobs_writes(knobs), N_CPUS + 1);
        ck_assert_uint_eq(effective_of(2).disabled, 4);
}

TEST(governor)
{
        plan.idle_governor = "teo";
        ck_assert_int_eq(apply(), 0);
        expect_value("requested", "cpuidle/current_governor", "teo");
        plan.idle_governor = "haltpoll";
        ck_assert_int_eq(apply(), -EINVAL);
        expect_value("not offered", "cpuidle/current_governor", "teo");
        plan.idle_governor = NULL;
        ck_assert_int_eq(apply(), 0);
        expect_value("as found", "cpuidle/current_governor", "menu");
        ck_assert(!record_exists());
}

TEST(excluded)
{
        options.exclude = set_of("0");
        reopen();
        wishes[0].disabled = wishes[1].disabled = 4;
        plan.idle_governor = "teo";
        apply_sets("excluded", 0, "000");
        expect("not excluded", 1, "001");
        expect_value("it would be for CPU 0, too", "cpuidle/current_governor", "menu");
}

TEST(drift)
{
        wishes[1].disabled = wishes[2].disabled = 4;
        plan.idle_governor = "teo";
        ck_assert_int_eq(apply(), 0);
        put("ladder", "cpuidle/current_governor");
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(apply_again(), 0);
        expect_value("taken over", "cpuidle/current_governor", "ladder");
        restore(knobs);
        expect_value("taken over", "cpuidle/current_governor", "ladder");
        expect("as found", 1, "000");
}

/* A state that another program left on and then switched off does not stay on. */
TEST(found_off)
{
        g_autofree char *path = NULL;
        char name[TUNE_NAME];

        wishes[1].disabled = 4;
        ck_assert_int_eq(apply(), 0);
        name_of(1, 2, name);
        path = g_strconcat(DIR, name, NULL);
        ck_assert_int_eq(file_write(scratch_fd, path, "0"), 0);
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(knob_find(knobs, actuator_cpuidle.kinds[0], name)->state, KNOB_FOREIGN);
        ck_assert_int_eq(file_write(scratch_fd, path, "1"), 0);
        wishes[1].disabled = 3;
        apply_sets("one stays on", 1, "011");
        restore(knobs);
        expect("taken over", 1, "001");
}

TEST(returned)
{
        const CpuSet one = set_of("1");

        found(1, "010");
        wishes[1].disabled = 4;
        ck_assert_int_eq(apply(), 0);
        found(1, "000");
        actuator_cpuidle.forget(state, knobs, &one);
        apply_sets("applied again", 1, "001");
}

TEST(not_there)
{
        const ActContext context = { .root = scratch_fd };
        void *none;

        put("none", "cpuidle/current_driver");
        ck_assert_int_eq(actuator_cpuidle.open(&context, &options, &none), -ENOENT);
        drop("cpuidle/current_driver");
        ck_assert_int_eq(actuator_cpuidle.open(&context, &options, &none), -ENOENT);
}

UNIT("cpuidle", .setup = setup, .teardown = tuning_teardown)
