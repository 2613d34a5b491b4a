/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of sensors: what is there and what is not, on made-up, described and real machines. */
#include "proc-texts.h"
#include "sense/topology-read.h"

TEST(good)
{
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
        ck_assert_msg(counters->have == SENSE_LOAD, "read counters that were not requested");
}

/* True if the kernel accepts this trigger from the user that runs this test. */
static bool kernel_takes(const char *text)
{
        _fd_ int fd = open("/proc/pressure/cpu", O_RDWR | O_CLOEXEC);

        return fd >= 0 && write(fd, text, strlen(text) + 1) > 0;
}

TEST(trigger)
{
        g_autofree char *path = g_build_filename(tree.path, "proc/pressure/cpu", NULL);
        g_autofree char *text = NULL;
        _fd_ int fd = pressure_trigger_open(tree.root, PRESSURE_TRIGGER_FAST), again = -1;

        ck_assert_int_ge(fd, 0);
        ck_assert(g_file_get_contents(path, &text, NULL, NULL));
        ck_assert(g_str_has_prefix(text, "some 40000 500000"));
        ck_assert_int_eq(unlink(path), 0);
        again = pressure_trigger_open(tree.root, PRESSURE_TRIGGER_FAST);
        ck_assert_int_eq(again, -ENOENT);
}

/* The running kernel, asked by a user other than root. */
TEST(trigger_of_the_unprivileged)
{
        _fd_ int root = root_open("/"), fd = -1;
        uid_t user = geteuid();
        bool any;

        ck_assert_int_eq(seteuid(user == 0 ? 65534 : user), 0);
        any = kernel_takes("some 40000 500000");
        fd = pressure_trigger_open(root, PRESSURE_TRIGGER_FAST);
        ck_assert_int_eq(seteuid(user), 0);
        ck_assert_msg((fd >= 0) == any, "%s", fd < 0 ? g_strerror(-fd) : "opened");
}

TEST(cpu_goes_and_returns)
{
        tree_set(&tree, "proc/stat", "cpu0 1 2 3 4\n");
        ck_assert_int_eq(counters_read(sensors, 0, counters), 0);
        ck_assert(!cpuset_has(&counters->cpus, 1));
        sensors_rescan(sensors, &topology);
        tree_set(&tree, "proc/stat", good_stat);
        ck_assert_int_eq(counters_read(sensors, ~0u, counters), 0);
        ck_assert(cpuset_has(&counters->cpus, 1));
        ck_assert_uint_eq(counters->have, ALL);
}

/* What a file is instead of a file. */
TEST_RANGE(unreadable, 0, 3)
{
        static const struct {
                const char *path;
                Sense sense;
        } files[] = {
                { "proc/stat", SENSE_LOAD },
                { "proc/loadavg", SENSE_LOADAVG },
                { "proc/pressure/cpu", SENSE_PRESSURE },
        };
        const char *path = files[_i].path;

        ck_assert_int_eq(unlinkat(tree.root, path, 0), 0);
        for (int directory = 0; directory < 2; directory++) {
                int error = directory ? -EISDIR : -ENOENT, r;

                if (directory)
                        ck_assert_int_eq(mkdirat(tree.root, path, 0755), 0);
                sensors_free(sensors);
                open_sensors();
                r = counters_read(sensors, ALL, counters);
                ck_assert_int_eq(r, files[_i].sense == SENSE_LOAD ? error : 0);
                ck_assert_uint_eq(counters->have & files[_i].sense, 0);
                ck_assert_int_eq(sensors_error(sensors, files[_i].sense), error);
        }
}

TEST(permission_denied)
{
        ck_assert_int_eq(fchmodat(tree.root, "proc/pressure/cpu", 0, 0), 0);
        sensors_free(sensors);
        sensors = sensors_new_unprivileged(&tree, &topology);
        ck_assert_int_eq(sensors_error(sensors, SENSE_PRESSURE), -EACCES);
        ck_assert_uint_eq(sensors_have(sensors), SENSE_LOAD | SENSE_LOADAVG);
}

/* Where nothing is, opening is no failure, only reading. */
TEST(nothing_there)
{
        g_auto(Tree) empty = tree_make();

        sensors_free(sensors);
        sensors = sensors_new(empty.root, &topology);
        ck_assert_uint_eq(sensors_have(sensors), 0);
        ck_assert_int_eq(counters_read(sensors, ~0u, counters), -ENOENT);
        tree_put(&empty, "proc/stat", good_stat);
        sensors_rescan(sensors, &topology);
        ck_assert_int_eq(counters_read(sensors, ~0u, counters), 0);
}

static void use_machine(int root, const Topology *of)
{
        sensors_free(sensors);
        counters_free(counters);
        sensors = sensors_new(root, of);
        counters = counters_new(of->n_cpus);
}

/* This machine. */
TEST(real)
{
        _fd_ int root = root_open("/");
        g_autoptr(Topology) here = NULL;

        ck_assert_int_eq(topology_read(root, &here), 0);
        use_machine(root, here);
        ck_assert(sensors_have(sensors) & SENSE_LOAD);
        ck_assert_int_eq(counters_read(sensors, ~0u, counters), 0);
        ck_assert_uint_eq(counters->have, sensors_have(sensors));
        ck_assert(cpuset_equal(&counters->cpus, &here->online));
        CPUSET_FOREACH(cpu, &counters->cpus)
                ck_assert_uint_gt(counters->times[cpu].idle_usec + counters->times[cpu].busy_usec,
                                  0);
        ck_assert_uint_gt(counters->switches, 0);
        if (counters->have & SENSE_LOADAVG)
                ck_assert_uint_gt(counters->threads, 0);
}

/* All CPUs of a machine are read, each with its own states. */
static void check_machine(const char *name)
{
        g_auto(Tree) machine = tree_make();
        g_autoptr(Topology) here = NULL;
        IdleState states[IDLE_STATES_MAX];

        ck_assert_msg(tree_build(&machine, name), "cannot build %s", name);
        ck_assert_int_eq(topology_read(machine.root, &here), 0);
        use_machine(machine.root, here);
        ck_assert_int_eq(counters_read(sensors, ~0u, counters), 0);
        ck_case(name, cpuset_equal(&counters->cpus, &here->online), "other CPUs");
        ck_case(name, counters->have == sensors_have(sensors), "has %x, reads %x",
                sensors_have(sensors), counters->have);
        CPUSET_FOREACH(cpu, &counters->cpus) {
                int n = counters->idle ? counters->idle[cpu].n_states : 0;

                ck_case(name, n == idle_states_read(machine.root, cpu, states),
                        "CPU %d has %d states", cpu, n);
        }
}

TEST(described)
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

UNIT("sensors", .setup = setup, .teardown = sensors_end, .timeout = 60)
