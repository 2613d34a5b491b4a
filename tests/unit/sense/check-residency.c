/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cpuidle's counters: read from trees, and on this machine together with what is made of them. */
#include <sys/resource.h>

#include "sense/topology-read.h"
#include "sensors-fixture.h"

#define CPUIDLE "sys/devices/system/cpu/cpu%d/cpuidle/state%d/%s"

static void put(int cpu, int state, const char *file, const char *text)
{
        g_autofree char *path = g_strdup_printf(CPUIDLE, cpu, state, file);

        tree_put(&tree, path, text);
}

static void set(int cpu, int state, const char *file, const char *text)
{
        g_autofree char *path = g_strdup_printf(CPUIDLE, cpu, state, file);

        tree_set(&tree, path, text);
}

/* Three CPUs: two states, three states, none; every counter has a different value. */
static void setup(void)
{
        static const char *const files[] = { "usage", "time", "above", "below", "rejected" };

        sensors_begin(4);
        tree_put(&tree, "proc/stat", "cpu0 1 2 3 4\ncpu1 1 2 3 4\ncpu2 1 2 3 4\n");
        for (int cpu = 0; cpu < 2; cpu++)
                for (int state = 0; state < 2 + cpu; state++)
                        for (int i = 0; i < 5; i++) {
                                g_autofree char *text = g_strdup_printf("%d%d%d\n", cpu + 1, state,
                                                                        i);

                                put(cpu, state, files[i], text);
                        }
}

/* The stricter one of the CPU's own limit and that of all CPUs. */
static const struct LimitCase {
        const char *name, *own;
        int32_t global_us;
        int64_t limit_us;
        uint16_t permitted; /* of states of 0, 10 and 100 us */
} limit_cases[] = {
        { "none", "0\n", 2000000000, -1, 7 },   { "own", "50\n", 2000000000, 50, 3 },
        { "of all CPUs", "0\n", 50, 50, 3 },    { "of all CPUs, zero", "0\n", 0, 0, 1 },
        { "own is stricter", "5\n", 50, 5, 1 }, { "of all CPUs is stricter", "200\n", 50, 50, 3 },
        { "own is zero", "n/a\n", 50, 0, 1 },   { "own is not a number", "x\n", 50, 50, 3 },
        { "no device", "0\n", -1, -1, 7 },
};

TEST_EACH(latency_limits, limit_cases)
{
        const struct LimitCase *it = &limit_cases[_i];
        const IdleTable table = { .n_states = 3,
                                  .states = { { .exit_latency_us = 0 },
                                              { .exit_latency_us = 10 },
                                              { .exit_latency_us = 100 } } };
        g_autofree char *dev = NULL, *path = NULL;

        tree_put(&tree, "sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us", it->own);
        dev = g_build_filename(tree.path, "dev", NULL);
        path = g_build_filename(dev, "cpu_dma_latency", NULL);
        ck_assert_int_eq(g_mkdir_with_parents(dev, 0755), 0);
        if (it->global_us >= 0)
                ck_assert(g_file_set_contents(path, (const char *)&it->global_us,
                                              sizeof(it->global_us), NULL));
        ck_assert_int_eq(idle_latency_limit(tree.root, 0), it->limit_us);
        ck_assert_uint_eq(idle_states_permitted(tree.root, 0, &table), it->permitted);
}

static void read_all(void)
{
        ck_assert_int_eq(counters_read(sensors, SENSE_IDLE_STATISTICS, counters), 0);
        ck_assert_uint_eq(counters->have, SENSE_LOAD | SENSE_RESIDENCY | SENSE_IDLE_STATISTICS);
}

/* With many descriptors to keep, and with hardly any. */
TEST_RANGE(every_counter, 0, 2)
{
        struct rlimit limit;

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = _i ? 24 : 1024;
        setrlimit(RLIMIT_NOFILE, &limit);
        open_sensors();
        for (int again = 0; again < 2; again++) {
                read_all();
                ck_assert_int_eq(counters->idle[0].n_states, 2);
                ck_assert_int_eq(counters->idle[1].n_states, 3);
                ck_assert_int_eq(counters->idle[2].n_states, 0);
                ck_assert_int_eq(counters->idle[3].n_states, 0);
                for (int cpu = 0; cpu < 2; cpu++)
                        for (int s = 0; s < 2 + cpu; s++) {
                                const IdleCounters *idle = &counters->idle[cpu];
                                uint64_t first = (uint64_t)(100 * (cpu + 1) + 10 * s);

                                ck_assert_uint_eq(idle->usage[s], first);
                                ck_assert_uint_eq(idle->time_usec[s], first + 1);
                                ck_assert_uint_eq(idle->above[s], first + 2);
                                ck_assert_uint_eq(idle->below[s], first + 3);
                                ck_assert_uint_eq(idle->rejected[s], first + 4);
                        }
        }
}

TEST(change_is_seen)
{
        open_sensors();
        read_all();
        set(1, 2, "usage", "500\n");
        set(1, 2, "time", "123456789012\n");
        set(1, 2, "below", "8\n");
        set(1, 0, "rejected", "7\n");
        read_all();
        ck_assert_uint_eq(counters->idle[1].usage[2], 500);
        ck_assert_uint_eq(counters->idle[1].time_usec[2], 123456789012);
        ck_assert_uint_eq(counters->idle[1].rejected[0], 7);
        ck_assert_uint_eq(counters->idle[1].below[2], 8);
        ck_assert_uint_eq(counters->idle[1].usage[1], 210);

        ck_assert_int_eq(counters_read(sensors, SENSE_RESIDENCY, counters), 0);
        ck_assert_uint_eq(counters->have, SENSE_LOAD | SENSE_RESIDENCY);
        ck_assert_uint_eq(counters->idle[1].usage[2], 500);
}

TEST(old_kernel)
{
        static const char *const files[] = { "above", "below", "rejected" };

        for (int state = 0; state < 2; state++)
                for (int i = 0; i < 3; i++) {
                        g_autofree char *path = g_strdup_printf(CPUIDLE, 0, state, files[i]);

                        ck_assert_int_eq(unlinkat(tree.root, path, 0), 0);
                }
        open_sensors();
        read_all();
        ck_assert_int_eq(counters->idle[0].n_states, 2);
        ck_assert_uint_eq(counters->idle[0].time_usec[1], 111);
        ck_assert_uint_eq(counters->idle[0].above[1], 0);
        ck_assert_uint_eq(counters->idle[1].above[1], 212);
}

static const struct {
        const char *name, *text;
} bad_cases[] = {
        { "empty", "" },          { "garbage", "garbage\n" },
        { "negative", "-5\n" },   { "cut", "99999" },
        { "unit", "99999 us\n" }, { "too long", "99999999999999999999999999999999999999999\n" },
        { "hex", "0x1869f\n" },
};

TEST_EACH(bad, bad_cases)
{
        open_sensors();
        read_all();
        set(0, 0, "usage", c->text);
        set(0, 1, "usage", "700\n");
        set(0, 1, "time", c->text);
        set(0, 1, "above", c->text);
        read_all();
        ck_case(c->name, counters->idle[0].usage[0] == 100, "usage taken");
        ck_case(c->name, counters->idle[0].time_usec[1] == 111, "time taken");
        ck_case(c->name, counters->idle[0].above[1] == 112, "above taken");
        ck_assert_uint_eq(counters->idle[0].usage[1], 700);
}

/* CPU 1 has three states, which take 0, 10 and 200 us to leave. */
static const struct {
        const char *name;
        const char *disable[3], *limit;
        int n_barred;
} barred_cases[] = {
        { "all on", { "0\n", "0\n", "0\n" }, "0\n", 0 },
        { "deepest off", { "0\n", "0\n", "1\n" }, "0\n", 1 },
        { "one between off", { "0\n", "1\n", "0\n" }, "0\n", 0 },
        { "two off", { "0\n", "1\n", "1\n" }, "0\n", 2 },
        { "all off", { "1\n", "1\n", "1\n" }, "0\n", 2 },
        { "limit forbids one", { "0\n", "0\n", "0\n" }, "199\n", 1 },
        { "limit permits all", { "0\n", "0\n", "0\n" }, "200\n", 0 },
        { "no latency", { "0\n", "0\n", "0\n" }, "n/a\n", 2 },
        { "both", { "0\n", "1\n", "0\n" }, "50\n", 2 },
        { "garbage", { "0\n", "0\n", "x\n" }, "what\n", 0 },
        { "no files", { NULL, NULL, NULL }, NULL, 0 },
};

/* What is off counts once the CPU has been awake since: it may still sleep in that state. */
TEST_RANGE(barred_states, 0, 2 * (int)G_N_ELEMENTS(barred_cases))
{
        static const char *const latencies[] = { "0\n", "10\n", "200\n" };
        typeof(barred_cases[0]) *c = &barred_cases[_i % (int)G_N_ELEMENTS(barred_cases)];
        bool any_descriptors = _i < (int)G_N_ELEMENTS(barred_cases);
        struct rlimit limit;

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = any_descriptors ? 1024 : 24;
        setrlimit(RLIMIT_NOFILE, &limit);
        for (int s = 0; s < 3 && c->limit; s++) {
                put(1, s, "latency", latencies[s]);
                put(1, s, "disable", "0\n");
        }
        if (c->limit)
                tree_put(&tree, "sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us",
                         "0\n");
        open_sensors();
        read_all();
        ck_case(c->name, counters->idle[1].n_barred == 0, "at first");
        for (int s = 0; s < 3 && c->limit; s++)
                set(1, s, "disable", c->disable[s]);
        if (c->limit)
                tree_set(&tree, "sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us",
                         c->limit);
        read_all();
        ck_case(c->name, counters->idle[1].n_barred == 0, "before it woke up");
        set(1, 1, "usage", "500\n");
        read_all();
        ck_case(c->name, counters->idle[1].n_barred == c->n_barred, "found %d",
                counters->idle[1].n_barred);
}

TEST_RANGE(cpu_goes_and_returns, 0, 2)
{
        open_sensors();
        read_all();
        tree_set(&tree, "proc/stat", "cpu0 1 2 3 4\ncpu2 1 2 3 4\n");
        read_all();
        ck_assert_int_eq(counters->idle[1].n_states, 0);
        ck_assert_int_eq(counters->idle[0].n_states, 2);
        tree_set(&tree, "proc/stat", "cpu0 1 2 3 4\ncpu1 1 2 3 4\n");
        if (_i)
                sensors_rescan(sensors, &topology);
        read_all();
        ck_assert_int_eq(counters->idle[1].n_states, 3);
        ck_assert_uint_eq(counters->idle[1].usage[2], 220);
}

TEST(no_states)
{
        g_auto(Tree) empty = tree_make();
        void *state = NULL;

        tree_put(&empty, "sys/devices/system/cpu/cpu0/cpuidle/unrelated", "");
        ck_assert_int_eq(sensor_residency.open(empty.root, &topology, &state), -ENOENT);
}

TEST(static_facts)
{
        static const IdleState expected[] = {
                { "POLL", 0, 0 }, { "C1E", 2, 4 }, { "C6", 170, 500 }, { "C10", 230, 700 }
        };
        g_auto(Tree) laptop = tree_make();
        IdleState states[IDLE_STATES_MAX];

        ck_assert(tree_build(&laptop, "synthetic-laptop"));
        ck_assert_int_eq(idle_states_read(laptop.root, 0, states), 4);
        for (int s = 0; s < 4; s++) {
                ck_assert_str_eq(states[s].name, expected[s].name);
                ck_assert_uint_eq(states[s].exit_latency_us, expected[s].exit_latency_us);
                ck_assert_uint_eq(states[s].target_residency_us, expected[s].target_residency_us);
        }
        ck_assert_msg(idle_states_read(laptop.root, 4, states) == 3, "E-cores have others");
        ck_assert_int_eq(idle_states_read(laptop.root, 99, states), 0);
}

/* 20 intervals of 0.1 s on this machine: rows add up, and an idle CPU's are idle. */
TEST(real)
{
        _fd_ int root = root_open("/");
        g_autoptr(Topology) here = NULL;
        g_autoptr(Counters) previous = NULL, current = NULL;
        g_autoptr(Snapshot) snapshot = NULL;

        ck_assert_int_eq(topology_read(root, &here), 0);
        sensors = sensors_new(root, here);
        if (!(sensors_have(sensors) & SENSE_RESIDENCY)) {
                case_skip("real", "this machine reports no idle states");
                return;
        }
        previous = counters_new(here->n_cpus);
        current = counters_new(here->n_cpus);
        snapshot = snapshot_new(here->n_cpus);
        counters_read(sensors, SENSE_RESIDENCY, previous);
        for (int i = 0; i < 20; i++) {
                Counters *swap = previous;

                g_usleep(100000);
                counters_read(sensors, SENSE_RESIDENCY, current);
                snapshot_compute(previous, current, snapshot);
                CPUSET_FOREACH(cpu, &snapshot->cpus) {
                        const Residency *row = &snapshot->residency[cpu];
                        uint64_t slept = current->times[cpu].idle_usec -
                                         previous->times[cpu].idle_usec;
                        bool was_idle = current->times[cpu].busy_usec ==
                                                previous->times[cpu].busy_usec &&
                                        slept + 10000 >= snapshot->interval_usec;
                        double idle = 0;

                        for (int s = 0; s < row->n_states; s++)
                                idle += row->share[s];
                        ck_assert_msg(row->n_states == 0 || fabs(idle + row->busy - 1) < 1e-6,
                                      "CPU %d: %g + %g", cpu, idle, row->busy);
                        if (was_idle)
                                ck_assert_msg(idle >= 0.99 || row->n_states == 0,
                                              "CPU %d is idle and has %g", cpu, idle);
                }
                previous = current;
                current = swap;
        }
}

UNIT("residency", .setup = setup, .teardown = sensors_end, .timeout = 30)
