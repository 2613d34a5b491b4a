/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signs that more cores are needed: waiting, which counts by the runs of tasks that wait; and a CPU
 * that is saturated, which a short interval alone does not show.
 */
#include "machine.h"
#include "table.h"
#include "world.h"

static const Grid eight = { 1, 1, 8, 1, 0, 0, NULL };
static const Grid smt = { 1, 1, 4, 2, 0, 0, NULL };
static const Grid hybrid = { 1, 1, 4, 2, 2, 580, NULL };

typedef struct Interval {
        unsigned usec;
        const char *busy;
        unsigned running;
        double pressure;
        bool pressed;
        double switches; /* of tasks a second */
} Interval;

/* From rest, one interval: whether tasks wait so long for each of their runs that cores are
 * unparked. */
static const struct {
        const char *name, *options;
        bool blind; /* the kernel has no pressure information */
        Interval interval;
        const char *allowed;
} cases[] = {
        { "runs wait for 0.6 ms", "", false, { 250000, "0=0.6", 2, 0.3, false, 400 }, "0-1" },
        { "for a tenth of that", "", false, { 250000, "0=0.6", 2, 0.02, false, 400 }, "0" },
        { "many runs wait for 4 us", "", false, { 250000, "0=0.6", 2, 0.1, false, 20000 }, "0" },
        { "few runs wait for 1 ms", "", false, { 250000, "0=0.6", 2, 0.25, false, 40 }, "0-1" },
        { "accepted", "MaxWait=2ms", false, { 250000, "0=0.6", 2, 0.2, false, 400 }, "0" },
        { "one for each task", "", false, { 250000, "0=0.6", 7, 0.5, false, 400 }, "0-6" },
        { "a load that the trigger reports after a long sleep",
          "",
          false,
          { 4000000, "0=0.1", 6, 0.02, true, 100 },
          "0-5" },
        { "the same waiting spread over that time",
          "",
          false,
          { 4000000, "0=0.1", 6, 0.005, false, 100 },
          "0" },
        { "more tasks than CPUs, where nothing is known of waiting",
          "",
          true,
          { 250000, "0=0.8", 3, 0, false, 400 },
          "0-2" },
        { "and the CPU has little to do", "", true, { 250000, "0=0.3", 6, 0, false, 400 }, "0" },
};

static void pass(World *world, const Interval *interval)
{
        world_put(world, interval->busy);
        world->snapshot->running = interval->running;
        world->snapshot->pressure = interval->pressure;
        world->snapshot->pressed = interval->pressed;
        world->snapshot->switches_per_sec = interval->switches;
        world_decide(world, interval->usec);
}

START_TEST(waits)
{
        typeof(cases[0]) *c = &cases[_i];
        g_autoptr(Topology) topology = grid_build(&eight);
        g_autoptr(World) world = world_new(&idled_policy, topology);
        CpuSet expected = set_of(c->allowed);
        g_autofree char *text = NULL;

        world_set_all(world, c->options);
        world_rest(world);
        if (c->blind)
                world->snapshot->have &= ~(unsigned)SENSE_PRESSURE;
        pass(world, &c->interval);
        text = cpuset_format(&world->allowed);
        ck_case(c->name, cpuset_equal(&world->allowed, &expected), "allowed %s, expected %s", text,
                c->allowed);
}
END_TEST

/* Waiting that goes on though all cores are active, and half idle, is not for cores: they are
 * parked in spite of it, and only more waiting unparks them. */
START_TEST(usual)
{
        const Interval same = { 250000, "0=0.3,3=0.2", 3, 0.3, true, 400 },
                       parked = { 250000, "0=0.5", 2, 0.3, true, 400 },
                       more = { 250000, "0=0.8", 3, 1, true, 400 };
        g_autoptr(Topology) topology = grid_build(&eight);
        g_autoptr(World) world = world_new(&idled_policy, topology);
        int n = 0;

        for (; world->n_changes == 0 && n < 400; n++)
                pass(world, &same);
        ck_assert_msg(world->n_changes == 1 && n * 250 < 5 * 5000, "not after %d ms", n * 250);
        for (int i = 0; i < 240; i++) {
                pass(world, &parked);
                ck_assert_msg(world_cores(world) == 1, "unparked after %d calls", i + 1);
        }
        for (int i = 0; i < 3; i++)
                pass(world, &more);
        ck_assert_int_gt(world_cores(world), 1);
}
END_TEST

/* A light load that wakes in crowds is parked once and for all. */
START_TEST(crowds)
{
        g_autoptr(Topology) topology = grid_build(&eight);
        g_autoptr(World) world = world_new(&idled_policy, topology);
        unsigned seed = (unsigned)_i;

        for (int i = 0; i < 480; i++)
                pass(world, &(Interval){ 250000, "0=0.2", (unsigned)rand_r(&seed) % 12, 0.03, false,
                                         400 });
        ck_assert_uint_eq(world->n_changes, 1);
        ck_assert_int_eq(world_cores(world), 1);
}
END_TEST

/* Periods that are too short to tell 90 % from less: a CPU is saturated after several. */
static const struct {
        const char *name;
        const Grid *grid;
        unsigned usec;
        const char *busy[3];
        bool again; /* the second call is with the first interval */
        const char *allowed[3];
} short_cases[] = {
        { "once", &eight, 50000, { "0=1", "0=0.3", "0=1" }, false, { "0", "0", "0" } },
        { "twice", &eight, 50000, { "0=0.8", "0=1", "0=1" }, false, { "0", "0", "0-1" } },
        { "in one interval",
          &eight,
          125000,
          { "0=1", "0=0.3", "0=0" },
          false,
          { "0-1", "0-1", "0-1" } },
        { "too short", &eight, 30000, { "0=1", "0=1", "0=0" }, false, { "0", "0", "0" } },
        { "here and there", &smt, 50000, { "0=1", "1=1", "0=1" }, false, { "0-1", "0-1", "0-1" } },
        { "there", &smt, 60000, { "0=1", "1=1", "1=1" }, false, { "0-1", "0-1", "0-3" } },
        { "the same twice", &eight, 60000, { "0=1", "0=1", "0=1" }, true, { "0", "0", "0-1" } },
};

START_TEST(short_periods)
{
        typeof(short_cases[0]) *c = &short_cases[_i];
        g_autoptr(Topology) topology = grid_build(c->grid);
        g_autoptr(World) world = world_new(&idled_policy, topology);

        world_set(world, "Period", "50ms");
        world_rest(world);
        for (int i = 0; i < 3; i++) {
                g_autofree char *text = NULL;

                if (i == 1 && c->again)
                        world->snapshot->time_usec -= c->usec;
                pass(world, &(Interval){ c->usec, c->busy[i], 1, 0, false, 400 });
                text = cpuset_format(&world->allowed);
                ck_case(c->name, strcmp(text, c->allowed[i]) == 0, "%d: allowed %s, expected %s", i,
                        text, c->allowed[i]);
        }
}
END_TEST

/* One thread that takes all it gets, from any moment of a period on: seen within a period and a
 * half, or three that are too short to tell 90 % from less. */
static const struct {
        const char *name;
        const Grid *grid;
        const char *options;
        unsigned within_ms;
} lone_cases[] = {
        { "one core", &eight, "", 375 },
        { "one core of two threads", &smt, "", 375 },
        { "a slow core", &hybrid, "", 375 },
        { "one of four slow cores", &hybrid, "MinCores=4", 375 },
        { "a second", &eight, "Period=1s", 1500 },
        { "just long enough", &eight, "Period=80ms", 240 },
        { "too short", &eight, "Period=70ms", 210 },
        { "shortest", &eight, "Period=50ms", 200 },
        { "shortest, one of four slow cores", &hybrid, "Period=50ms MinCores=4", 200 },
};

START_TEST(lone_thread)
{
        typeof(lone_cases[0]) *c = &lone_cases[_i];
        g_autoptr(Topology) topology = grid_build(c->grid);
        unsigned period_ms = 10;

        for (unsigned offset_ms = 0; offset_ms < period_ms; offset_ms += 10) {
                g_autoptr(World) world = world_new(&idled_policy, topology);
                unsigned changes, ms = 0, due_ms;
                const double idle = 0, thread = 1;

                world_set_all(world, c->options);
                world_rest(world);
                changes = world->n_changes;
                due_ms = period_ms = (unsigned)(world->wish.period_usec / 1000);
                for (; world->n_changes == changes && ms < 10000; ms += 10) {
                        world_run(world, ms < offset_ms ? &idle : &thread, 1, 10000);
                        if (ms + 10 < due_ms)
                                continue;
                        world_decide(world, 0);
                        due_ms = ms + 10 + (unsigned)(world->wish.period_usec / 1000);
                        ck_case(c->name, ms < offset_ms || !world->wish.settled, "settled");
                }
                ck_case(c->name, ms - offset_ms <= c->within_ms, "from %u ms: seen after %u ms",
                        offset_ms, ms - offset_ms);
        }
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("ondemand-signs");
        TCase *tcase = tcase_create("ondemand-signs");

        tcase_add_loop_test(tcase, waits, 0, G_N_ELEMENTS(cases));
        tcase_add_test(tcase, usual);
        tcase_add_loop_test(tcase, crowds, 0, 20);
        tcase_add_loop_test(tcase, short_periods, 0, G_N_ELEMENTS(short_cases));
        tcase_add_loop_test(tcase, lone_thread, 0, G_N_ELEMENTS(lone_cases));
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
