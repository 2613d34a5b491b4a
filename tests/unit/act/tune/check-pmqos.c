/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Wake-up latencies of CPUs.
 */
#include "tuning.h"

static void name_of(int cpu, char name[TUNE_NAME])
{
        snprintf(name, TUNE_NAME, "cpu%d/power/pm_qos_resume_latency_us", cpu);
}

static void expect(const char *where, int cpu, const char *value)
{
        char name[TUNE_NAME];

        name_of(cpu, name);
        expect_value(where, name, value);
}

static void found(int cpu, const char *value)
{
        char name[TUNE_NAME];

        name_of(cpu, name);
        put(value, "%s", name);
}

static void setup(void)
{
        tuning_setup();
        for (int cpu = 0; cpu < N_CPUS; cpu++)
                found(cpu, "0");
        scratch_file("dev/cpu_dma_latency", "");
        tuning_start(&actuator_pmqos, &options);
}

static const struct {
        const char *name, *found;
        int32_t us;
        const char *value;
        int32_t effective;
} values[] = {
        { "no request", "0", -1, "0", -1 },
        { "no request, one of another program", "33", -1, "33", -1 },
        { "a limit", "0", 50, "50", 50 },
        { "zero is n/a", "0", 0, "n/a", 0 },
        { "zero was n/a", "n/a", 0, "n/a", 0 },
        { "n/a is the strictest", "n/a", 50, "n/a", 0 },
        { "a stricter one stays", "20", 50, "20", 20 },
        { "a laxer one does not", "200", 50, "50", 50 },
        { "the same", "50", 50, "50", 50 },
        { "nonsense is no limit", "?", 50, "50", 50 },
};

TEST_EACH(value, values)
{
        found(1, c->found);
        wishes[1].latency_us = c->us;
        apply_sets(c->name, 1, c->value);
        expect(c->name, 0, "0");
        ck_assert_int_eq(effective_of(1).latency_us, c->effective);
        ck_case(c->name, record_exists() == !g_str_equal(c->found, c->value), "record");

        wishes[1].latency_us = -1;
        apply_sets(c->name, 1, c->found);
        ck_assert(!record_exists());
        ck_assert_int_eq(effective_of(1).latency_us, -1);
}

/* What counts is what must be written, and that it is nothing if nothing changed. */
TEST(no_needless_write)
{
        for (int cpu = 0; cpu < N_CPUS; cpu++)
                wishes[cpu].latency_us = 100;
        ck_assert_int_eq(apply(), 0);
        ck_assert_uint_eq(knobs_writes(knobs), N_CPUS);
        ck_assert_int_eq(apply(), 0);
        ck_assert_uint_eq(knobs_writes(knobs), N_CPUS);
        wishes[2].latency_us = 50;
        ck_assert_int_eq(apply(), 0);
        ck_assert_uint_eq(knobs_writes(knobs), N_CPUS + 1);
        ck_assert_int_eq(apply_again(), 0);
        ck_assert_uint_eq(knobs_writes(knobs), N_CPUS + 1);
}

TEST(excluded)
{
        options.exclude = set_of("0-1");
        reopen();
        for (int cpu = 0; cpu < N_CPUS; cpu++)
                wishes[cpu].latency_us = 100;
        apply_sets("excluded", 1, "0");
        expect("not excluded", 2, "100");
        ck_assert_int_eq(effective_of(1).latency_us, -1);
}

TEST(not_managed)
{
        options.manage = false;
        reopen();
        wishes[1].latency_us = 100;
        plan.global_latency_us = 100;
        apply_sets("not managed", 1, "0");
        ck_assert(strstr(actuator_pmqos.describe(state), "Manage="));
}

/* A value of another program is taken over, and the other knobs go on. */
TEST(drift)
{
        const Knob *knob;
        char name[TUNE_NAME];

        wishes[1].latency_us = wishes[2].latency_us = 100;
        ck_assert_int_eq(apply(), 0);
        found(1, "70");
        ck_assert_int_eq(knobs_verify(knobs), 1);
        name_of(1, name);
        knob = knob_find(knobs, actuator_pmqos.kinds[0], name);
        ck_assert_int_eq(knob->state, KNOB_FOREIGN);
        wishes[1].latency_us = wishes[2].latency_us = 30;
        apply_sets("taken over", 1, "70");
        expect("ours", 2, "30");
        ck_assert_int_eq(effective_of(1).latency_us, -1);
        ck_assert_int_eq(effective_of(2).latency_us, 30);
        end_wishes();
        restore(knobs);
        expect("still taken over", 1, "70");
        expect("as found", 2, "0");
}

/* The kernel makes a new file when the CPU is plugged in: no other program changed it. */
TEST(returned)
{
        const CpuSet one = set_of("1");

        found(1, "500");
        wishes[1].latency_us = 100;
        ck_assert_int_eq(apply(), 0);
        found(1, "7000");
        actuator_pmqos.forget(state, knobs, &one);
        apply_sets("applied again", 1, "100");
        restore(knobs);
        expect("as found", 1, "500");
}

/* A CPU that is away has no request, and its knob is not lost. */
TEST(offline)
{
        const CpuSet one = set_of("1");
        char name[TUNE_NAME];

        name_of(1, name);
        found(1, "500");
        wishes[1].latency_us = 100;
        ck_assert_int_eq(apply(), 0);
        put("0", "cpu1/online");
        drop(name);
        cpuset_remove(&topology->online, 1);
        ck_assert_int_eq(knobs_verify(knobs), 0);
        ck_assert_int_eq(apply_again(), 0);
        put("1", "cpu1/online");
        found(1, "0");
        cpuset_add(&topology->online, 1);
        actuator_pmqos.forget(state, knobs, &one);
        apply_sets("applied again", 1, "100");
        restore(knobs);
        expect("as found at first", 1, "500");
}

static int global_value(void)
{
        g_autofree char *text = scratch_text("dev/cpu_dma_latency");
        int us = -1;

        if (text && *text)
                memcpy(&us, text, sizeof(us));
        return us;
}

TEST(all_cpus)
{
        wishes[1].latency_us = 20;
        ck_assert_int_eq(apply(), 0);
        ck_assert_int_eq(global_value(), -1);
        plan.global_latency_us = 0x01020304;
        ck_assert_int_eq(apply(), 0);
        ck_assert_int_eq(global_value(), 0x01020304);
        plan.global_latency_us = 0x01020301;
        ck_assert_int_eq(apply(), 0);
        ck_assert_int_eq(global_value(), 0x01020301);
        plan.global_latency_us = -1;
        ck_assert_int_eq(apply(), 0);
        ck_assert_int_eq(unlinkat(scratch_fd, "dev/cpu_dma_latency", 0), 0);
        plan.global_latency_us = 5;
        ck_assert_int_eq(apply(), -ENOENT);
}

/* A limit for all CPUs would be one for those that are left alone, too. */
TEST(all_cpus_but_some_excluded)
{
        cpuset_add(&options.exclude, 2);
        reopen();
        wishes[1].latency_us = 20;
        plan.global_latency_us = 10;
        apply_sets("not excluded", 1, "20");
        ck_assert_int_eq(global_value(), -1);
}

TEST(not_there)
{
        const ActContext context = { .root = scratch_fd };
        char name[TUNE_NAME];
        void *none;

        name_of(0, name);
        drop(name);
        ck_assert_int_eq(actuator_pmqos.open(&context, &options, &none), -ENOENT);
        drop("online");
        ck_assert_int_eq(actuator_pmqos.open(&context, &options, &none), -EOPNOTSUPP);
}

/* A file that went between looking and writing is one failure, and the others' latencies hold. */
TEST(one_fails)
{
        char name[TUNE_NAME];

        name_of(1, name);
        drop(name);
        wishes[1].latency_us = wishes[2].latency_us = 20;
        ck_assert_int_eq(apply(), -ENOENT);
        expect("the other", 2, "20");
        found(1, "0");
        apply_sets("tried again", 1, "20");
}

static const struct {
        const char *name;
        int refusal, result;
} refusals[] = {
        { "EIO", EIO, -EIO },          { "EBUSY", EBUSY, -EBUSY }, { "EINVAL", EINVAL, -EINVAL },
        { "EACCES", EACCES, -EACCES }, { "short", -1, -EIO },
};

/* A write that is refused leaves what was there, degrades that knob, and is tried again. */
TEST_EACH(refused, refusals)
{
        const Knob *knob;
        char name[TUNE_NAME];

        name_of(1, name);
        wishes[1].latency_us = 50;
        tuning_refusal = c->refusal;
        ck_case(c->name, apply() == c->result, "another error");
        knob = knob_find(knobs, actuator_pmqos.kinds[0], name);
        ck_assert_int_eq(knob->state, KNOB_FAILED);
        ck_assert_int_eq(knob->error, c->result);
        ck_assert_int_eq(effective_of(1).latency_us, -1);
        tuning_refusal = 0;
        apply_sets(c->name, 1, "50");
        ck_assert_int_eq(effective_of(1).latency_us, 50);
        restore(knobs);
        expect(c->name, 1, "0");
}

static void live_and_die(void)
{
        no_wishes();
        wishes[1].latency_us = 0;
        wishes[2].latency_us = 100;
        apply();
        wishes[2].latency_us = 50;
        apply();
        wishes[1].latency_us = -1;
        apply();
}

TEST(killed)
{
        int n;

        found(2, "n/a");
        found(1, "300");
        found(3, "200");
        for (n = 0; killed_at(n, live_and_die); n++) {
                recover_all(actuator_pmqos.kinds);
                expect("killed", 1, "300");
                expect("killed", 2, "n/a");
        }
        ck_assert_int_gt(n, 5);
}

UNIT("pmqos", .setup = setup, .teardown = tuning_teardown)
