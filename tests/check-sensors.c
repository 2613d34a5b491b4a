/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of sensors, /proc/stat, load averages and pressure: good texts, bad ones, real ones. */
#include <errno.h>
#include <math.h>

#include "sense.h"
#include "sense/topology-read.h"
#include "table.h"

static Tree tree;

static const char good_stat[] = "cpu  160 0 0 1840 0 0 0 0 0 0\n"
                                "cpu0 100 10 20 800 50 3 2 1 40 0\n"
                                "cpu1 0 0 0 990 10 0 0 0 0 0\n"
                                "intr 1319533 0 0 0 0 24\n"
                                "ctxt 3310634\n"
                                "btime 1795262335\n"
                                "processes 44296\n"
                                "procs_running 3\n"
                                "procs_blocked 2\n"
                                "softirq 955236 0 43341\n";
static const char good_loadavg[] = "2.65 1.72 0.09 3/114 11834\n";
static const char good_pressure[] = "some avg10=18.51 avg60=28.37 avg300=17.83 total=118605767\n"
                                    "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

static void setup(void)
{
        tree = tree_make();
        tree_put(&tree, "proc/stat", good_stat);
        tree_put(&tree, "proc/loadavg", good_loadavg);
        tree_put(&tree, "proc/pressure/cpu", good_pressure);
}

static void teardown(void)
{
        tree_done(&tree);
}

#define ALL (SENSE_LOAD | SENSE_LOADAVG | SENSE_PRESSURE)

START_TEST(good)
{
        Topology topology = plain_topology(4);
        g_autoptr(Sensors) sensors = sensors_new(tree.root, &topology);
        g_autoptr(Counters) counters = counters_new(4);

        ck_assert_uint_eq(sensors_have(sensors), ALL);
        ck_assert_int_eq(sensors_error(sensors, SENSE_LOAD), 0);
        ck_assert_int_eq(sensors_error(sensors, SENSE_ENERGY), -ENOENT);
        ck_assert_int_eq(sensors_error(sensors, SENSE_POWER), -ENOENT);
        ck_assert_int_eq(sensors_error(sensors, SENSE_RESIDENCY), -ENOENT);
        ck_assert_uint_eq(sensors_energy_deadline(sensors), UINT64_MAX);

        ck_assert_int_eq(counters_read(sensors, ~0u, counters), 0);
        ck_assert_uint_eq(counters->have, ALL);
        ck_assert_uint_gt(counters->time_usec, 0);
        ck_assert_int_eq(cpuset_count(&counters->cpus), 2);
        /* steal is busy, guest is in user already */
        ck_assert_uint_eq(counters->times[0].busy_usec, (100 + 10 + 20 + 3 + 2 + 1) * 10000);
        ck_assert_uint_eq(counters->times[0].idle_usec, (800 + 50) * 10000);
        ck_assert_uint_eq(counters->times[1].busy_usec, 0);
        ck_assert_uint_eq(counters->times[1].idle_usec, 1000 * 10000);
        ck_assert_uint_eq(counters->switches, 3310634);
        ck_assert_msg(counters->running == 2, "the reader counted");
        ck_assert_uint_eq(counters->blocked, 2);
        ck_assert(fabs(counters->loadavg[0] - 2.65) < 1e-9);
        ck_assert(fabs(counters->loadavg[1] - 1.72) < 1e-9);
        ck_assert(fabs(counters->loadavg[2] - 0.09) < 1e-9);
        ck_assert_uint_eq(counters->threads, 114);
        ck_assert_uint_eq(counters->pressure_usec, 118605767);

        ck_assert_int_eq(counters_read(sensors, 0, counters), 0);
        ck_assert_msg(counters->have == SENSE_LOAD, "read what nobody asked for");
}
END_TEST

static const struct {
        const char *name, *text;
        int error;
        const char *cpus;
        uint64_t running;
} stat_cases[] = {
        { "empty", "", -EBADMSG, "", 0 },
        { "garbage", "garbage\n", -EBADMSG, "", 0 },
        { "only the sum", "cpu  1 2 3 4\nprocs_running 5\n", -EBADMSG, "", 0 },
        { "oldest kernel", "cpu0 1 2 3 4\nprocs_running 2\n", 0, "0", 1 },
        { "CPU 0 alone", "cpu0 1 2 3 4 5 6 7 8 9 10\n", 0, "0", 0 },
        { "no CPU 0", "cpu1 1 2 3 4\ncpu3 1 2 3 4\n", 0, "1,3", 0 },
        { "cut inside a number", "cpu0 1 2 3 4 5\ncpu1 1 2 3 4", 0, "0", 0 },
        { "cut behind the name", "cpu0 1 2 3 4 5\ncpu1", 0, "0", 0 },
        { "too few numbers", "cpu0 1 2 3\ncpu1 1 2 3 4\n", 0, "1", 0 },
        { "negative", "cpu0 1 2 3 -4 5\ncpu1 1 2 3 4\n", 0, "1", 0 },
        { "no number", "cpu0 1 2 3 4 x 6 7 8\ncpu1 1 2 3 4\n", 0, "1", 0 },
        { "number too long", "cpu0 1 2 3 99999999999999999999 5\ncpu1 1 2 3 4\n", 0, "1", 0 },
        { "no such CPU", "cpu0 1 2 3 4\ncpu4 1 2 3 4\ncpu999999999999 1 2 3 4\n", 0, "0", 0 },
        { "nobody runs", "cpu0 1 2 3 4\nprocs_running 0\n", 0, "0", 0 },
        { "too many run", "cpu0 1 2 3 4\nprocs_running 9000000000000000000\n", 0, "0", UINT32_MAX },
        { "running is garbage", "cpu0 1 2 3 4\nprocs_running many\n", 0, "0", 0 },
};

START_TEST(stat_text)
{
        typeof(stat_cases[0]) *c = &stat_cases[_i];
        Topology topology = plain_topology(4);
        g_autoptr(Sensors) sensors = sensors_new(tree.root, &topology);
        g_autoptr(Counters) counters = counters_new(4);
        g_autofree char *cpus = NULL;
        int r;

        tree_set(&tree, "proc/stat", c->text);
        r = counters_read(sensors, 0, counters);
        ck_case(c->name, r == c->error, "returned %d, expected %d", r, c->error);
        ck_assert_uint_eq(counters->have, r < 0 ? 0 : SENSE_LOAD);
        cpus = cpuset_format(&counters->cpus);
        ck_case(c->name, strcmp(cpus, c->cpus) == 0, "CPUs %s, expected %s", cpus, c->cpus);
        ck_case(c->name, counters->running == c->running, "%u running", counters->running);

        tree_set(&tree, "proc/stat", good_stat);
        ck_assert_msg(counters_read(sensors, 0, counters) == 0, "does not recover");
        ck_assert_int_eq(cpuset_count(&counters->cpus), 2);
}
END_TEST

START_TEST(stat_with_nul)
{
        static const char text[] = "cpu0 1 2 3 4 5\ncpu1 1 2\0 3 4 5\ncpu2 1 2 3 4 5\n";
        Topology topology = plain_topology(4);
        g_autoptr(Sensors) sensors = sensors_new(tree.root, &topology);
        g_autoptr(Counters) counters = counters_new(4);
        CpuSet expected = set_of("0,2");

        tree_rewrite(&tree, "proc/stat", text, sizeof(text) - 1);
        ck_assert_int_eq(counters_read(sensors, 0, counters), 0);
        ck_assert(cpuset_equal(&counters->cpus, &expected));
}
END_TEST

/* Larger than the first buffer: an `intr` line as large machines have, and one of 10 MB. */
START_TEST(stat_grows)
{
        static const size_t sizes[] = { 4000, 4095 - 40, 100000, 10 << 20, 20 << 20 };
        size_t size = sizes[_i];
        Topology topology = plain_topology(4);
        g_autoptr(Sensors) sensors = sensors_new(tree.root, &topology);
        g_autoptr(Counters) counters = counters_new(4);
        g_autoptr(GString) text = g_string_new("cpu0 1 2 3 4\nintr 5");
        int r;

        while (text->len < size)
                g_string_append(text, " 0");
        g_string_append(text, "\nctxt 77\nprocs_running 6\n");
        tree_rewrite(&tree, "proc/stat", text->str, text->len);
        r = counters_read(sensors, 0, counters);
        if (size > FILE_SIZE_MAX) {
                ck_assert_int_eq(r, -EFBIG);
                return;
        }
        ck_assert_int_eq(r, 0);
        ck_assert_uint_eq(counters->switches, 77);
        ck_assert_uint_eq(counters->running, 5);
}
END_TEST

START_TEST(cpu_goes_and_returns)
{
        Topology topology = plain_topology(4);
        g_autoptr(Sensors) sensors = sensors_new(tree.root, &topology);
        g_autoptr(Counters) counters = counters_new(4);

        tree_set(&tree, "proc/stat", "cpu0 1 2 3 4\n");
        ck_assert_int_eq(counters_read(sensors, 0, counters), 0);
        ck_assert(!cpuset_has(&counters->cpus, 1));
        sensors_rescan(sensors, &topology);
        tree_set(&tree, "proc/stat", good_stat);
        ck_assert_int_eq(counters_read(sensors, ~0u, counters), 0);
        ck_assert(cpuset_has(&counters->cpus, 1));
        ck_assert_uint_eq(counters->have, ALL);
}
END_TEST

/* Bad contents of the two small files: the reading is good but does not have them. */
static const struct {
        const char *name, *path, *text;
} bad_cases[] = {
        { "empty", "proc/loadavg", "" },
        { "garbage", "proc/loadavg", "garbage\n" },
        { "negative", "proc/loadavg", "-1.00 0.00 0.00 1/80 1\n" },
        { "no fraction", "proc/loadavg", "1 2 3 1/80 1\n" },
        { "exponent", "proc/loadavg", "1e5 2.00 3.00 1/80 1\n" },
        { "three decimals", "proc/loadavg", "1.000 2.00 3.00 1/80 1\n" },
        { "no threads", "proc/loadavg", "1.00 2.00 3.00 1/\n" },
        { "cut", "proc/loadavg", "1.00 2.00" },
        { "empty", "proc/pressure/cpu", "" },
        { "garbage", "proc/pressure/cpu", "garbage\n" },
        { "no total", "proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00\n" },
        { "only full", "proc/pressure/cpu", "full avg10=0.00 total=5\n" },
        { "full has it", "proc/pressure/cpu", "some avg10=0.00\nfull avg10=0.00 total=5\n" },
        { "negative", "proc/pressure/cpu", "some avg10=0.00 total=-5\n" },
        { "no number", "proc/pressure/cpu", "some avg10=0.00 total=\n" },
        { "unit", "proc/pressure/cpu", "some avg10=0.00 total=5us\n" },
        { "too long", "proc/pressure/cpu", "some total=99999999999999999999\n" },
};

START_TEST(bad)
{
        typeof(bad_cases[0]) *c = &bad_cases[_i];
        Topology topology = plain_topology(4);
        g_autoptr(Sensors) sensors = sensors_new(tree.root, &topology);
        g_autoptr(Counters) counters = counters_new(4);
        unsigned without = ALL &
                           ~(unsigned)(strstr(c->path, "loadavg") ? SENSE_LOADAVG : SENSE_PRESSURE);

        counters->loadavg[0] = 42;
        counters->pressure_usec = 42;
        tree_set(&tree, c->path, c->text);
        ck_assert_int_eq(counters_read(sensors, ALL, counters), 0);
        ck_case(c->name, counters->have == without, "%s: have %x", c->path, counters->have);
        ck_assert(without & SENSE_LOADAVG || counters->loadavg[0] == 42);
        ck_assert(without & SENSE_PRESSURE || counters->pressure_usec == 42);
}
END_TEST

START_TEST(huge_and_nul)
{
        g_autofree char *text = g_malloc0(10 << 20);
        Topology topology = plain_topology(4);
        g_autoptr(Sensors) sensors = sensors_new(tree.root, &topology);
        g_autoptr(Counters) counters = counters_new(4);

        memset(text, _i ? '1' : 0, 10 << 20);
        tree_rewrite(&tree, "proc/loadavg", text, 10 << 20);
        tree_rewrite(&tree, "proc/pressure/cpu", text, 10 << 20);
        ck_assert_int_eq(counters_read(sensors, ALL, counters), 0);
        ck_assert_uint_eq(counters->have, SENSE_LOAD);
        tree_rewrite(&tree, "proc/stat", text, 10 << 20);
        ck_assert_int_eq(counters_read(sensors, ALL, counters), -EBADMSG);
}
END_TEST

/* What a file is instead of a file. */
START_TEST(unreadable)
{
        static const struct {
                const char *path;
                Sense sense;
        } files[] = {
                { "proc/stat", SENSE_LOAD },
                { "proc/loadavg", SENSE_LOADAVG },
                { "proc/pressure/cpu", SENSE_PRESSURE },
        };
        Topology topology = plain_topology(4);
        g_autoptr(Counters) counters = counters_new(4);
        const char *path = files[_i].path;

        ck_assert_int_eq(unlinkat(tree.root, path, 0), 0);
        for (int directory = 0; directory < 2; directory++) {
                g_autoptr(Sensors) sensors = NULL;
                int error = directory ? -EISDIR : -ENOENT, r;

                if (directory)
                        ck_assert_int_eq(mkdirat(tree.root, path, 0755), 0);
                sensors = sensors_new(tree.root, &topology);
                r = counters_read(sensors, ALL, counters);
                ck_assert_int_eq(r, files[_i].sense == SENSE_LOAD ? error : 0);
                ck_assert_uint_eq(counters->have & files[_i].sense, 0);
                ck_assert_int_eq(sensors_error(sensors, files[_i].sense), error);
        }
}
END_TEST

START_TEST(permission_denied)
{
        Topology topology = plain_topology(4);

        if (geteuid() == 0)
                return;
        ck_assert_int_eq(fchmodat(tree.root, "proc/pressure/cpu", 0, 0), 0);
        g_autoptr(Sensors) sensors = sensors_new(tree.root, &topology);

        ck_assert_int_eq(sensors_error(sensors, SENSE_PRESSURE), -EACCES);
}
END_TEST

/* Where nothing is, opening is no failure, only reading. */
START_TEST(nothing_there)
{
        Tree empty = tree_make();
        Topology topology = plain_topology(4);
        g_autoptr(Sensors) sensors = sensors_new(empty.root, &topology);
        g_autoptr(Counters) counters = counters_new(4);

        ck_assert_uint_eq(sensors_have(sensors), 0);
        ck_assert_int_eq(counters_read(sensors, ~0u, counters), -ENOENT);
        tree_put(&empty, "proc/stat", good_stat);
        sensors_rescan(sensors, &topology);
        ck_assert_int_eq(counters_read(sensors, ~0u, counters), 0);
        tree_done(&empty);
}
END_TEST

/* This machine. */
START_TEST(real)
{
        _fd_ int root = root_open("/");
        g_autoptr(Topology) topology = NULL;
        g_autoptr(Sensors) sensors = NULL;
        g_autoptr(Counters) counters = NULL;

        ck_assert_int_eq(topology_read(root, &topology), 0);
        sensors = sensors_new(root, topology);
        counters = counters_new(topology->n_cpus);
        ck_assert(sensors_have(sensors) & SENSE_LOAD);
        ck_assert_int_eq(counters_read(sensors, ~0u, counters), 0);
        ck_assert_uint_eq(counters->have, sensors_have(sensors));
        ck_assert(cpuset_equal(&counters->cpus, &topology->online));
        CPUSET_FOREACH(cpu, &counters->cpus)
                ck_assert_uint_gt(counters->times[cpu].idle_usec + counters->times[cpu].busy_usec,
                                  0);
        ck_assert_uint_gt(counters->switches, 0);
        if (counters->have & SENSE_LOADAVG)
                ck_assert_uint_gt(counters->threads, 0);
}
END_TEST

/* All CPUs of a machine are read, each with its own states. */
static void check_machine(const char *name)
{
        Tree machine = tree_make();
        g_autoptr(Topology) topology = NULL;
        g_autoptr(Sensors) sensors = NULL;
        g_autoptr(Counters) counters = NULL;
        IdleStateInfo states[IDLE_STATES_MAX];

        ck_assert_msg(tree_build(&machine, name), "cannot build %s", name);
        ck_assert_int_eq(topology_read(machine.root, &topology), 0);
        sensors = sensors_new(machine.root, topology);
        counters = counters_new(topology->n_cpus);
        ck_assert_int_eq(counters_read(sensors, ~0u, counters), 0);
        ck_case(name, cpuset_equal(&counters->cpus, &topology->online), "other CPUs");
        ck_case(name, counters->have == sensors_have(sensors), "has %x, reads %x",
                sensors_have(sensors), counters->have);
        CPUSET_FOREACH(cpu, &counters->cpus) {
                int n = counters->idle ? counters->idle[cpu].n_states : 0;

                ck_case(name, n == idle_states_read(machine.root, cpu, states),
                        "CPU %d has %d states", cpu, n);
        }
        tree_done(&machine);
}

START_TEST(described)
{
        static const char *const machines[] = { "adl0",
                                                "gnr3",
                                                "cwf0",
                                                "synthetic-bare",
                                                "synthetic-laptop",
                                                "synthetic-offline",
                                                "synthetic-sparse" };

        for (size_t i = 0; i < G_N_ELEMENTS(machines); i++)
                check_machine(machines[i]);
}
END_TEST

/* Texts with a few bytes changed, cut somewhere: the sensors say what they can make of them. */
START_TEST(damaged)
{
        static const struct {
                const char *path, *text;
        } files[] = {
                { "proc/stat", good_stat },
                { "proc/loadavg", good_loadavg },
                { "proc/pressure/cpu", good_pressure },
        };
        Topology topology = plain_topology(4);
        g_autoptr(Sensors) sensors = sensors_new(tree.root, &topology);
        g_autoptr(Counters) counters = counters_new(4);
        CpuSet all = set_of("0-3");

        for (guint32 seed = 0; seed < 3000; seed++) {
                g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
                size_t i = seed % 3;
                gint32 size = (gint32)strlen(files[i].text);
                g_autofree char *text = g_memdup2(files[i].text, (gsize)size);
                int r;

                for (int n = g_rand_int_range(rand, 0, 6); n > 0; n--)
                        text[g_rand_int_range(rand, 0, size)] = (char)g_rand_int_range(rand, 0,
                                                                                       256);
                if (g_rand_boolean(rand))
                        size = g_rand_int_range(rand, 0, size);
                tree_rewrite(&tree, files[i].path, text, (size_t)size);
                r = counters_read(sensors, ALL, counters);
                ck_assert_msg(r == 0 || (r == -EBADMSG && i == 0), "seed %u: %d", seed, r);
                ck_assert(cpuset_is_subset(&counters->cpus, &all));
                tree_set(&tree, files[i].path, files[i].text);
        }
        ck_assert_int_eq(counters_read(sensors, ALL, counters), 0);
        ck_assert_uint_eq(counters->have, ALL);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("sensors");
        TCase *tcase = tcase_create("sensors");

        tcase_set_timeout(tcase, 60);
        tcase_add_checked_fixture(tcase, setup, teardown);
        tcase_add_test(tcase, good);
        tcase_add_loop_test(tcase, stat_text, 0, G_N_ELEMENTS(stat_cases));
        tcase_add_test(tcase, stat_with_nul);
        tcase_add_loop_test(tcase, stat_grows, 0, 5);
        tcase_add_test(tcase, cpu_goes_and_returns);
        tcase_add_loop_test(tcase, bad, 0, G_N_ELEMENTS(bad_cases));
        tcase_add_loop_test(tcase, huge_and_nul, 0, 2);
        tcase_add_loop_test(tcase, unreadable, 0, 3);
        tcase_add_test(tcase, permission_denied);
        tcase_add_test(tcase, nothing_there);
        tcase_add_test(tcase, real);
        tcase_add_test(tcase, described);
        tcase_add_test(tcase, damaged);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
