/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The work of the machine: busy time by the clocks that cpufreq reports, or context switches. Two
 * cores of one thread, the first half busy, the second asleep.
 */
#include "machine.h"
#include "model/counters.h"
#include "sense/work-meter.h"
#include "table.h"

#define CPUFREQ "sys/devices/system/cpu/cpu%d/cpufreq/%s"

static Tree tree;
static int core_cpus[] = { 0, 1 };
static TopologyCore cores[] = { { .first = 0, .n_threads = 1, .capacity = CAPACITY_SCALE },
                                { .first = 1, .n_threads = 1, .capacity = CAPACITY_SCALE } };
static Topology topology = { .n_cpus = 2, .n_cores = 2, .cores = cores, .core_cpus = core_cpus };
static Snapshot *snapshot;
static WorkMeter *meter;
static float shares[] = { 0.25f, 0 };
static TaskTime tasks = { .share = shares };
static Block done;

static void put(int cpu, const char *file, const char *khz)
{
        g_autofree char *path = g_strdup_printf(CPUFREQ, cpu, file);

        tree_put(&tree, path, khz);
}

static void setup(void)
{
        tree = tree_make();
        cpuset_add(&topology.online, 0);
        cpuset_add(&topology.online, 1);
        snapshot = snapshot_new(2);
        snapshot->cpus = topology.online;
        snapshot->busy[0] = 0.5f;
        snapshot->time_usec = 1000000;
        snapshot->switches_per_sec = 3000;
        meter = g_new0(WorkMeter, 1);
        put(0, "cpuinfo_max_freq", "4000000\n");
        put(1, "cpuinfo_max_freq", "4000000\n");
        put(1, "scaling_cur_freq", "400000\n");
}

static void teardown(void)
{
        g_free(meter);
        snapshot_free(snapshot);
        tree_done(&tree);
}

/* Reads the clock of CPU 0 `sec` seconds after the beginning. */
static void read_clock(const char *khz, unsigned sec, bool block)
{
        put(0, "scaling_cur_freq", khz);
        snapshot->time_usec = 1000000 + sec * UINT64_C(1000000);
        work_meter_read(meter, tree.root, &topology, snapshot, block);
}

/* An interval of so many seconds ends, in which tasks ran for half of the busy time. */
static void add(unsigned sec)
{
        snapshot->interval_usec = sec * UINT64_C(1000000);
        work_meter_add(meter, tree.root, &topology, snapshot, &tasks, &done);
}

static double rate(void)
{
        return work_meter_rate(meter, &topology, snapshot);
}

/* The clock of the core that sleeps does not matter. A block has the mean of its readings. */
TEST(by_clocks)
{
        work_meter_choose(meter, tree.root, &topology);
        ck_assert_int_eq(meter->unit, WORK_BUSY);
        ck_assert_double_eq_tol(rate(), 0.5, 1e-6); /* not read yet */
        read_clock("2000000\n", 0, false);
        ck_assert_double_eq_tol(rate(), 0.25, 1e-6);
        add(1);
        ck_assert_double_eq_tol(rate(), 0.25, 1e-6);
        read_clock("1000000\n", 1, true);
        read_clock("3000000\n", 2, true);
        read_clock("4000000\n", 3, true);
        ck_assert_double_eq_tol(rate(), 0.5 * (1 + 3 + 4) / 12, 1e-6);
}

/* Each interval counts by its own clock; what is not known of one is not known of all. */
TEST(intervals)
{
        work_meter_choose(meter, tree.root, &topology);
        snapshot->have = SENSE_PRESSURE;
        snapshot->pressure = 0.5;
        tasks = (TaskTime){ .known = true, .share = shares, .cpus = 0.25, .switches_per_sec = 7 };
        read_clock("4000000\n", 0, true);
        add(2);
        read_clock("2000000\n", 2, true);
        add(4);
        ck_assert_double_eq_tol(done.seconds, 6, 1e-6);
        ck_assert_double_eq_tol(done.load, 0.5 * 2 + 0.25 * 4, 1e-6);
        ck_assert_double_eq_tol(done.work, done.load / 2, 1e-6);
        ck_assert_double_eq_tol(done.cpu_seconds, 1.5, 1e-6);
        ck_assert_double_eq_tol(done.switches, 42, 1e-6);
        ck_assert_double_eq_tol(done.delay, 3, 1e-6);
        tasks.known = false;
        snapshot->have = 0;
        add(1);
        ck_assert(isnan(done.switches) && isnan(done.delay));
        ck_assert_double_eq_tol(done.seconds, 7, 1e-6);
}

/* Nothing is busy, or nothing is known yet: the next tick tries again. */
TEST(nothing_to_read)
{
        work_meter_choose(meter, tree.root, &topology);
        snapshot->busy[0] = -1;
        read_clock("2000000\n", 0, false);
        snapshot->busy[0] = 0.5f;
        read_clock("2000000\n", 1, false);
        ck_assert_double_eq_tol(rate(), 0.25, 1e-6);
}

/* Between blocks clocks are read every ten seconds, at ticks that come anyway. */
TEST(seldom_between_blocks)
{
        work_meter_choose(meter, tree.root, &topology);
        read_clock("2000000\n", 0, false);
        read_clock("4000000\n", 9, false);
        ck_assert_double_eq_tol(rate(), 0.25, 1e-6);
        read_clock("4000000\n", 10, false);
        ck_assert_double_eq_tol(rate(), 0.5, 1e-6);
}

static const struct {
        const char *name, *khz;
        double rate;
} clocks[] = {
        { "turbo", "4400000\n", 0.5 }, { "garbage", "fast\n", 0.5 },  { "nothing", "0\n", 0.5 },
        { "empty", "", 0.5 },          { "half", "2000000\n", 0.25 },
};

TEST_EACH(odd_clocks, clocks)
{
        work_meter_choose(meter, tree.root, &topology);
        read_clock(c->khz, 0, true);
        ck_case(c->name, fabs(rate() - c->rate) < 1e-6, "found %g", rate());
}

TEST(by_switches)
{
        for (int cpu = 0; cpu < 2; cpu++) {
                g_autofree char *path = g_strdup_printf(CPUFREQ, cpu, "cpuinfo_max_freq");

                ck_assert_int_eq(unlinkat(tree.root, path, 0), 0);
        }
        ck_assert(work_meter_choose(meter, tree.root, &topology));
        ck_assert(!work_meter_choose(meter, tree.root, &topology));
        ck_assert_int_eq(meter->unit, WORK_SWITCHES);
        read_clock("2000000\n", 0, true);
        ck_assert_double_eq_tol(rate(), 0.3, 1e-6);
}

UNIT("work-meter", .setup = setup, .teardown = teardown)
