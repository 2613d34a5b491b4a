/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ondemand reads again. Tasks that wait where CPUs have little to do are a load that has just come,
 * or nothing that more cores are needed for; a thread that has come may go on to take all of its
 * CPU; and a short interval alone does not show that a CPU is saturated.
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
} Interval;

/* From rest, one interval, and then a short one. */
static const struct {
        const char *name;
        const Grid *grid;
        const char *allowed;
        bool looks; /* twice: it requests an early tick */
        Interval first, second;
} cases[] = {
        { "timers woke many at once", &eight, "0", .looks = true,
          .first = { 250000, "0=0.1", 6, 0.02 }, .second = { 50000, "0=0.1", 0, 0.02 } },
        { "and again", &eight, "0", .looks = true, .first = { 250000, "0=0.1", 6, 0.02 },
          .second = { 50000, "0=0.4", 6, 0.02 } },
        { "a load has come", &eight, "0-5", .looks = true, .first = { 250000, "0=0.1", 6, 0.02 },
          .second = { 50000, "0=1", 6, 1 } },
        { "on both threads", &smt, "0-7", .looks = true,
          .first = { 4000000, "0=0.1,1=0.1", 4, 0.02 }, .second = { 50000, "0=1,1=1", 4, 1 } },
        { "on one thread only", &smt, "0-1", .looks = true,
          .first = { 250000, "0=0.1,1=0.1", 4, 0.02 }, .second = { 50000, "0=0.8,1=0.1", 4, 0.2 } },
        { "the trigger called for a load", &eight, "0-1",
          .first = { 4000000, "0=0.1", 2, 0.02, true }, .second = { 250000, "0=0.1" } },
        { "the trigger called for nothing", &eight, "0",
          .first = { 4000000, "0=0.1", 0, 0.02, true }, .second = { 250000, "0=0.1", 1, 0.02 } },
        { "the trigger called for what is over", &eight, "0",
          .first = { 250000, "0=0.14", 1, 0.0076, true }, .second = { 250000, "0=0.14" } },
        { "for what is over, and a burst fills a short interval", &eight, "0",
          .first = { 50000, "0=0.6", 1, 0.0076, true }, .second = { 250000, "0=0.14" } },
        { "for what is over, and timers wake many", &eight, "0", .looks = true,
          .first = { 250000, "0=0.14", 6, 0.0076, true }, .second = { 50000, "0=0.14", 0, 0.02 } },
        { "for a load that waits now and then", &eight, "0-1",
          .first = { 250000, "0=0.3", 1, 0.09, true }, .second = { 250000, "0=0.3" } },
        { "for a load that began before this interval", &eight, "0-1",
          .first = { 30000, "0=1", 2, 1, true }, .second = { 250000, "0=0.1" } },
        { "throttled tasks wait", &eight, "0", .looks = true, .first = { 250000, "0=0.2", 1, 0.8 },
          .second = { 50000, "0=0.2", 1, 0.8 } },
        { "pressure of a load", &eight, "0-1", .looks = true, .first = { 250000, "0=0.4", 1, 0.3 },
          .second = { 50000, "0=0.9", 1, 0.9 } },
        { "the load is gone again", &eight, "0", .looks = true,
          .first = { 250000, "0=0.4", 2, 0.3 }, .second = { 50000, "0=0.9", 1, 0.05 } },
        { "busy enough to believe at once", &eight, "0-1", .first = { 250000, "0=0.6", 2, 0.02 },
          .second = { 50000, "0=0.1" } },
        { "nothing waits", &eight, "0", .first = { 250000, "0=0.3", 1, 0.02 },
          .second = { 50000, "0=1", 1 } },
};

static void pass(World *world, const Interval *interval)
{
        world_put(world, interval->busy);
        world->snapshot->running = interval->running;
        world->snapshot->pressure = interval->pressure;
        world->snapshot->pressed = interval->pressed;
        world_decide(world, interval->usec);
}

TEST_EACH(reads_again, cases)
{
        g_autoptr(World) world = world_on(&idled_policy, c->grid);
        CpuSet rested, expected = set_of(c->allowed);
        g_autofree char *text = NULL;

        world_rest(world);
        rested = world->allowed;
        pass(world, &c->first);
        ck_case(c->name, (world->wish.period_usec == READING_USEC) == c->looks, "called in %llu us",
                (unsigned long long)world->wish.period_usec);
        if (c->looks) {
                ck_case(c->name, !world->wish.settled, "settled while in doubt");
                ck_case(c->name, cpuset_equal(&world->allowed, &rested), "changed while in doubt");
        }
        pass(world, &c->second);
        text = cpuset_format(&world->allowed);
        ck_case(c->name, cpuset_equal(&world->allowed, &expected), "allowed %s, expected %s", text,
                c->allowed);
        ck_case(c->name, world->wish.period_usec > READING_USEC, "looks a third time");
}

/* A light load that wakes in crowds: parked once and for all, and looked at twice, not again and
 * again. */
TEST_RANGE(crowds, 0, 20)
{
        g_autoptr(World) world = world_on(&idled_policy, &eight);
        unsigned seed = (unsigned)_i, calls = 0;
        uint64_t began = world->snapshot->time_usec;

        world_decide(world, 0);
        while (world->snapshot->time_usec - began < UINT64_C(120000000)) {
                Interval interval = { (unsigned)world->wish.period_usec, "0=0.2",
                                      (unsigned)rand_r(&seed) % 12, 0.08, false };

                pass(world, &interval);
                calls++;
        }
        ck_assert_uint_eq(world->n_changes, 1);
        ck_assert_int_eq(world_cores(world), 1);
        ck_assert_uint_le(calls, 2 * 4 * 120);
}

/* A period that is too short to distinguish 90 % from less: saturated twice in a row, on the same
 * CPU. */
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
        { "at once", &eight, 80000, { "0=1", "0=0.3", "0=0" }, false, { "0-1", "0-1", "0-1" } },
        { "too short", &eight, 30000, { "0=1", "0=1", "0=0" }, false, { "0", "0", "0" } },
        { "here and there", &smt, 50000, { "0=1", "1=1", "0=1" }, false, { "0-1", "0-1", "0-1" } },
        { "there", &smt, 50000, { "0=1", "1=1", "1=1" }, false, { "0-1", "0-1", "0-3" } },
        { "twice the same", &eight, 50000, { "0=1", "0=1", "0=1" }, true, { "0", "0", "0-1" } },
};

TEST_EACH(short_periods, short_cases)
{
        g_autoptr(World) world = world_on(&idled_policy, c->grid);

        world_set(world, "Period", "50ms");
        world_rest(world);
        for (int i = 0; i < 3; i++) {
                g_autofree char *text = NULL;

                if (i == 1 && c->again)
                        world->snapshot->time_usec -= c->usec;
                pass(world, &(Interval){ c->usec, c->busy[i], 1, 0, false });
                text = cpuset_format(&world->allowed);
                ck_case(c->name, strcmp(text, c->allowed[i]) == 0, "%d: allowed %s, expected %s", i,
                        text, c->allowed[i]);
        }
}

/* One thread that takes all it gets, from any moment of a period on: seen within a period and a
 * half, or three that are too short to distinguish 90 % from less. */
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
        { "just long enough", &eight, "Period=80ms", 160 },
        { "too short", &eight, "Period=70ms", 210 },
        { "shortest", &eight, "Period=50ms", 150 },
        { "shortest, one of four slow cores", &hybrid, "Period=50ms MinCores=4", 150 },
};

TEST_EACH(lone_thread, lone_cases)
{
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

/* Light use, until cores are parked. */
static void wait_parked(World *world, const char *busy)
{
        const Interval light = { 250000, busy, 0, 0.02, false };
        unsigned changes = world->n_changes;

        for (int i = 0; i < 400 && world->n_changes == changes; i++)
                pass(world, &light);
        ck_assert_uint_eq(world->n_changes, changes + 1);
}

/* Calls the policy with the snapshot that it knows, as the manager does when CPUs become unsafe. */
static void call_again(World *world)
{
        PolicyInput input = { .topology = world->topology,
                              .snapshot = world->snapshot,
                              .allowed = &world->allowed,
                              .options = world->options };

        wish_init(&world->wish);
        world->policy->decide(world->state, &input, &world->wish);
        world->allowed = world->topology->online;
        cpuset_and(&world->allowed, &world->wish.allowed);
}

/* Waiting counts once, and what called for cores does not count for those that it got. */
TEST(begins_again)
{
        const Interval waits = { 1000000, "0=0.85", 2, 0.9, false },
                       after = { 250000, "0=0.85,1=0.85", 3, 0.4, false };
        g_autoptr(World) world = world_on(&idled_policy, &eight);

        world_set(world, "MaxWait", "1s");
        world_rest(world);
        pass(world, &waits);
        call_again(world);
        ck_assert_int_eq(world_cores(world), 1);
        pass(world, &waits);
        ck_assert_int_eq(world_cores(world), 2);
        pass(world, &after);
        ck_assert_int_eq(world_cores(world), 2);
}

/* The trigger fires for a load that then needs no more than it had: from then on the policy takes a
 * second reading, until the load has needed more. */
TEST(learns_of_false_alarms)
{
        const Interval alarm = { 4000000, "0=0.3", 2, 0.09, true },
                       same = { 50000, "0=0.3", 0, 0.09, false };
        const Interval heavy = { 50000, "0=1", 2, 1, false },
                       lasts = { 4000000, "0=1,1=1", 3, 1, false };
        g_autoptr(World) world = world_on(&idled_policy, &eight);

        world_rest(world);
        for (int i = 0; i < 20; i++) {
                pass(world, &alarm);
                if (i > 0) {
                        ck_assert_uint_eq(world->wish.period_usec, READING_USEC);
                        pass(world, &same);
                }
                ck_assert_int_eq(world_cores(world), i == 0 ? 2 : 1);
                if (i == 0)
                        wait_parked(world, "0=0.3");
        }
        pass(world, &alarm);
        pass(world, &heavy);
        ck_assert_int_eq(world_cores(world), 2);
        pass(world, &lasts);
        while (world_cores(world) > 1)
                wait_parked(world, "0=0.3");
        pass(world, &alarm);
        ck_assert_int_gt(world_cores(world), 1);
}

/* Waiting that goes on though all cores are in use, and half idle, is not for cores: they are
 * parked, and the same waiting calls for none until the load has needed more. */
TEST(learns_of_lasting_alarms)
{
        const Interval alarm = { 250000, "0=0.3,3=0.2", 3, 0.3, true },
                       parked = { 250000, "0=0.5", 2, 0.3, true },
                       same = { 50000, "0=0.5", 2, 0.3, true },
                       burst = { 50000, "0=1", 1, 0.1, false },
                       heavy = { 50000, "0=1", 3, 1, true };
        g_autoptr(World) world = world_on(&idled_policy, &eight);
        int n = 0;

        for (; world->n_changes == 0 && n < 400; n++)
                pass(world, &alarm);
        ck_assert_msg(world->n_changes == 1 && n * 250 < 3 * 5000, "not after %d ms", n * 250);
        for (int i = 0; i < 20; i++) {
                pass(world, &parked);
                ck_assert_uint_eq(world->wish.period_usec, READING_USEC);
                pass(world, i % 2 ? &same : &burst);
                ck_assert_int_eq(world_cores(world), 1);
        }
        pass(world, &parked);
        pass(world, &heavy);
        ck_assert_int_gt(world_cores(world), 1);
}

/* With a Dwell that is shorter than the time between two calls of the trigger, too. */
TEST(learns_with_a_short_dwell)
{
        const Interval alarm = { 500000, "0=0.3,3=0.2", 3, 0.3, true };
        g_autoptr(World) world = world_on(&idled_policy, &eight);

        world_set(world, "Dwell", "400ms");
        for (int n = 0; n < 10; n++)
                pass(world, &alarm);
        ck_assert_uint_eq(world->n_changes, 1);
}

/* With MaxWait= tasks wait for that time beyond a quarter of the time, and then no longer. */
static const struct {
        const char *name, *options;
        Interval interval; /* again and again, from rest */
        unsigned grows_ms; /* 0: never */
} accepted[] = {
        { "not at all", "", { 250000, "0=0.8", 1, 0.5, false }, 250 },
        { "a second at half the time", "MaxWait=1s", { 250000, "0=0.8", 1, 0.5, false }, 4000 },
        { "a second all the time", "MaxWait=1s", { 250000, "0=0.8", 1, 1, false }, 1500 },
        { "a quarter of the time", "MaxWait=1s", { 250000, "0=0.8", 1, 0.25, false }, 0 },
        { "tasks at the end", "MaxWait=1s", { 250000, "0=0.8", 2, 0, false }, 5000 },
        { "the trigger", "MaxWait=1s", { 250000, "0=0.8", 1, 0.2, true }, 6250 },
        { "a saturated CPU", "MaxWait=1s", { 250000, "0=1", 1, 0, false }, 1000 },
};

TEST_EACH(accepts_waiting, accepted)
{
        g_autoptr(World) world = world_on(&idled_policy, &eight);
        unsigned changes, ms = 0;

        world_set_all(world, c->options);
        world_rest(world);
        changes = world->n_changes;
        for (; world->n_changes == changes && ms < 60000; ms += c->interval.usec / 1000)
                pass(world, &c->interval);
        ck_case(c->name, ms == (c->grows_ms ? c->grows_ms : 60000), "grew after %u ms", ms);
}

/* While contracts judge delays, no waiting counts, as many cores as they need are active within the
 * options, and tasks that compute get more. From rest with one core, after one call and a minute.
 */
static const struct {
        const char *name, *options;
        unsigned contract;
        Interval interval; /* again and again */
        int first, cores;
} judged[] = {
        { "nothing waits", "", 1, { 250000, "0=0.3", 0, 0, false }, 1, 1 },
        { "tasks wait", "", 1, { 250000, "0=0.3", 1, 0.9, false }, 1, 1 },
        { "tasks wait at the end", "", 1, { 250000, "0=0.3", 6, 0.9, false }, 1, 1 },
        { "the trigger", "", 1, { 250000, "0=0.3", 2, 0.9, true }, 1, 1 },
        { "a contract needs more", "", 3, { 250000, "0=0.3", 0, 0, false }, 3, 3 },
        { "MinCores is more", "MinCores=4", 3, { 250000, "0=0.3", 0, 0, false }, 4, 4 },
        { "MaxCores is less", "MaxCores=2", 3, { 250000, "0=0.3", 0, 0, false }, 2, 2 },
        { "more than there are", "", 9, { 250000, "0=0.3", 0, 0, false }, 8, 8 },
        { "tasks compute", "", 1, { 250000, "0=1,1=1", 1, 0.9, false }, 2, 3 },
        { "Park=no", "Park=no", 1, { 250000, "0=0.3", 1, 0.9, false }, 8, 8 },
};

TEST_EACH(leaves_waiting_to_contracts, judged)
{
        g_autoptr(World) world = world_on(&idled_policy, &eight);

        world_rest(world);
        world_set_all(world, c->options);
        world->contract_cores = c->contract;
        pass(world, &c->interval);
        ck_case(c->name, world_cores(world) == c->first, "%d cores at first", world_cores(world));
        for (int i = 0; i < 240; i++) {
                pass(world, &c->interval);
                ck_case(c->name, world->wish.period_usec != READING_USEC, "looks twice");
        }
        ck_case(c->name, world_cores(world) == c->cores, "%d cores", world_cores(world));
}

/* Where the trigger calls and CPUs are busy, saturation is seen after half a period; and once
 * nothing is judged any more, waiting counts again, from its begin. */
TEST(waits_without_contracts)
{
        const Interval light = { 250000, "0=0.3", 2, 0.2, true },
                       called = { 250000, "0=0.7", 2, 0.2, true },
                       waits = { 250000, "0=0.8", 1, 1, false };
        g_autoptr(World) world = world_on(&idled_policy, &eight);

        world_set_all(world, "MaxWait=1s");
        world_rest(world);
        world->contract_cores = 1;
        pass(world, &light);
        pass(world, &light);
        ck_assert_uint_eq(world->wish.period_usec, 250000);
        pass(world, &called);
        ck_assert_uint_eq(world->wish.period_usec, 125000);
        for (int i = 0; i < 40; i++)
                pass(world, &waits);
        world->contract_cores = 0;
        for (int i = 0; i < 5; i++) {
                pass(world, &waits);
                ck_assert_int_eq(world_cores(world), 1);
        }
        pass(world, &waits);
        ck_assert_int_eq(world_cores(world), 2);
}

/* Waiting that is over is forgotten. */
TEST(forgets_waiting)
{
        const Interval waits = { 250000, "0=0.8", 1, 1, false },
                       rests = { 1000000, "0=0.8", 1, 0, false };
        g_autoptr(World) world = world_on(&idled_policy, &eight);

        world_set_all(world, "MaxWait=1s");
        world_rest(world);
        for (int i = 0; i < 20; i++) {
                for (int n = 0; n < 5; n++)
                        pass(world, &waits);
                for (int n = 0; n < 4; n++)
                        pass(world, &rests);
                ck_assert_int_eq(world_cores(world), 1);
        }
}

UNIT("ondemand-waiting")
