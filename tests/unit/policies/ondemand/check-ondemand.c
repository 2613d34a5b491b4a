/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ondemand: single decisions on machines of all kinds, from the rest or from a load. */
#include "machine.h"
#include "ondemand/ondemand.h"
#include "table.h"
#include "world.h"

#include "base/setting-value.h"

static const Grid eight = { 1, 1, 8, 1, 0, 0, NULL };
static const Grid smt = { 1, 1, 4, 2, 0, 0, NULL };
static const Grid two = { 1, 1, 2, 1, 0, 0, NULL };
static const Grid one = { 1, 1, 1, 1, 0, 0, NULL };
static const Grid hybrid = { 1, 1, 4, 2, 2, 580, NULL };
static const Grid packages = { 2, 2, 2, 2, 0, 0, NULL };
static const Grid isolated = { 1, 1, 8, 1, 0, 0, "4-7" };
static const Grid half_isolated = { 1, 1, 4, 2, 0, 0, "1,4-7" };
static const Grid all_isolated = { 1, 1, 4, 1, 0, 0, "0-3" };

/* From rest (all idle until settled), one interval of 250 ms, one decision. */
static const struct {
        const char *name;
        const Grid *grid;
        const char *options;
        const char *rested; /* allowed at rest */
        const char *busy;
        unsigned running;
        double pressure;
        bool pressed;
        const char *allowed; /* after the decision */
        const char *option;  /* of the reason; NULL not looked at */
} cases[] = {
        { "idle", &eight, "", "0", "", 0, 0, false, "0", "DownThreshold" },
        { "light", &eight, "", "0", "0=0.5", 1, 0.02, false, "0", NULL },
        { "saturated", &eight, "", "0", "0=0.95", 1, 0, false, "0-1", "UpThreshold" },
        { "just not saturated", &eight, "", "0", "0=0.89", 1, 0, false, "0", NULL },
        { "own threshold", &eight, "UpThreshold=80%", "0", "0=0.89", 1, 0, false, "0-1", NULL },
        { "two runnable", &eight, "", "0", "0=0.6", 2, 0, false, "0-1", NULL },
        { "five runnable", &eight, "", "0", "0=0.6", 5, 0, false, "0-4", NULL },
        { "more than there are", &eight, "", "0", "0=1", 500, 1, false, "0-7", NULL },
        { "pressure", &eight, "", "0", "0=0.6", 1, 0.26, false, "0-1", "MaxWait" },
        { "little pressure", &eight, "", "0", "0=0.6", 1, 0.24, false, "0", NULL },
        { "trigger", &eight, "", "0", "0=0.6", 1, 0.09, true, "0-1", "MaxWait" },
        { "trigger, accepted", &eight, "MaxWait=41ms", "0", "0=0.6", 1, 0.09, true, "0", NULL },
        { "two runnable, accepted", &eight, "MaxWait=51ms", "0", "0=0.6", 2, 0, false, "0", NULL },
        { "pressure, accepted", &eight, "MaxWait=1s", "0", "0=0.6", 1, 1, true, "0", NULL },
        { "saturated, accepted", &eight, "MaxWait=251ms", "0", "0=1", 1, 0, false, "0", NULL },
        { "saturated for longer", &eight, "MaxWait=250ms", "0", "0=1", 1, 0, false, "0-1",
          "UpThreshold" },
        { "trigger, no task runs", &eight, "", "0", "0=0.6", 0, 0.09, true, "0", NULL },
        { "trigger, over already", &eight, "", "0", "0=0.6", 1, 0.01, true, "0", NULL },
        { "doubles", &eight, "MinCores=3", "0-2", "0=0.8,1=0.8", 4, 0.2, false, "0-5", NULL },
        { "one of three saturated", &eight, "MinCores=3", "0-2", "0=1", 1, 0, false, "0-2", NULL },
        { "two of three saturated", &eight, "MinCores=3", "0-2", "0=1,1=1,2=0.5", 3, 0, false,
          "0-2", NULL },
        { "and the rest needs two", &eight, "MinCores=3", "0-2", "0=1,1=1,2=0.8", 3, 0, false,
          "0-3", "UpThreshold" },
        { "all three saturated", &eight, "MinCores=3", "0-2", "0=1,1=1,2=1", 3, 0, false, "0-5",
          "UpThreshold" },
        { "bounded above", &eight, "MaxCores=2", "0", "0=1", 9, 1, false, "0-1", NULL },
        { "filter off", &eight, "FilterTime=0 MinCores=4", "0-3", "0=0.85,1=0.85,2=0.85,3=0.85", 4,
          0, false, "0-3", NULL },
        { "load above", &eight, "FilterTime=0 MinCores=4 UpThreshold=80%", "0-3",
          "0=0.79,1=0.79,2=0.79,3=0.79,4=0.79", 4, 0, false, "0-5", "UpThreshold" },
        { "whole cores", &smt, "", "0-1", "0=0.95", 1, 0, false, "0-3", "UpThreshold" },
        { "both threads", &smt, "", "0-1", "0=1,1=1", 2, 0, false, "0-5", NULL },
        { "threads are room", &smt, "", "0-1", "0=0.1", 2, 0, false, "0-1", NULL },
        { "slow first", &hybrid, "", "8", "", 0, 0, false, "8", NULL },
        { "not stuck on a slow core", &hybrid, "", "8", "8=1", 1, 0, false, "0-1,8", NULL },
        { "slow enough", &hybrid, "", "8", "8=0.7", 1, 0, false, "8", NULL },
        { "fast first", &hybrid, "PackOrder=performance", "0-1", "0=1", 1, 0, false, "0-3", NULL },
        { "by package", &hybrid, "PackOrder=package", "0-1", "0=1", 1, 0, false, "0-3", NULL },
        { "a kind suffices", &hybrid, "Kinds=efficient", "8", "8=1", 1, 0, false, "8-9", NULL },
        { "a kind is full", &hybrid, "Kinds=efficient MinCores=8", "8-15",
          "8=1,9=1,10=1,11=1,12=1,13=1,14=1,15=1", 8, 0, false, "0-15", NULL },
        { "a kind has no room", &hybrid, "Kinds=efficient MinCores=7", "8-14",
          "8=1,9=1,10=1,11=1,12=1,13=1,14=0.8", 7, 0, false, "8-15", NULL },
        { "a fast kind first", &hybrid, "Kinds=fast", "0-1", "0=1", 1, 0, false, "0-3", NULL },
        { "kinds in order", &hybrid, "Kinds=fast+efficient", "0-1", "", 0, 0, false, "0-1", NULL },
        { "a kind that is missing", &eight, "Kinds=efficient", "0", "0=1", 1, 0, false, "0-1",
          NULL },
        { "the order stays for others", &hybrid, "Kinds=cache PackOrder=performance", "0-1", "0=1",
          1, 0, false, "0-3", NULL },
        { "fast ones saturated", &hybrid, "MinCores=8", "8-15", "8=1,9=1,10=1", 3, 0, false,
          "0-5,8-15", NULL },
        { "one package", &packages, "", "0-1", "0=1,1=1", 4, 0.5, false, "0-7", NULL },
        { "both packages", &packages, "", "0-1", "0=1,1=1", 6, 0.5, false, "0-11", NULL },
        { "isolated", &isolated, "", "0,4-7", "", 0, 0, false, "0,4-7", NULL },
        { "busy isolated", &isolated, "", "0,4-7", "4=1,5=1,6=1,7=1", 4, 0, false, "0,4-7", NULL },
        { "busy next to isolated", &isolated, "", "0,4-7", "0=0.6,4=1,5=1,6=1,7=1", 6, 0, false,
          "0-1,4-7", NULL },
        { "busy and parked", &eight, "", "0", "5=1,6=1", 2, 0, false, "0", NULL },
        { "half isolated", &half_isolated, "", "0-1,4-7", "0=1", 1, 0, false, "0-7", NULL },
        { "all isolated", &all_isolated, "", "0", "0=1", 1, 0, false, "0-1", NULL },
        { "one core", &one, "", "0", "0=1", 9, 1, true, "0", NULL },
        { "all are needed", &two, "MinCores=2", "0-1", "", 0, 0, false, "0-1", NULL },
        { "two cores", &two, "", "0", "0=1", 1, 0, false, "0-1", "UpThreshold" },
};

static void expect(const char *name, const World *world, const char *allowed)
{
        g_autofree char *text = cpuset_format(&world->allowed);

        ck_case(name, strcmp(text, allowed) == 0, "allowed %s, expected %s", text, allowed);
}

TEST_EACH(decisions, cases)
{
        g_autoptr(World) world = world_on(&idled_policy, c->grid);
        const Reason *reason = &world->wish.allowed_reason;

        if (*c->options)
                world_set_all(world, c->options);
        world_rest(world);
        expect(c->name, world, c->rested);
        if (*c->busy)
                world_put(world, c->busy);
        world->snapshot->running = c->running;
        world->snapshot->pressure = c->pressure;
        world->snapshot->pressed = c->pressed;
        world_decide(world, 250000);
        expect(c->name, world, c->allowed);
        ck_case(c->name, reason->because != NULL, "no reason");
        if (c->option)
                ck_case(c->name, g_strcmp0(reason->option ? reason->option : "", c->option) == 0,
                        "option %s, expected %s", reason->option, c->option);
}

/* The same again and again from the start. */
static const struct {
        const char *name;
        const Grid *grid;
        const char *options, *busy;
        unsigned running;
        double pressure;
        int seconds;
        const char *allowed;
        bool settled;
} lasting_cases[] = {
        { "nothing is parked at once", &eight, "", "", 0, 0, 0, "0-7", false },
        { "nor before the dwell time", &eight, "", "", 0, 0, 4, "0-7", false },
        { "but after", &eight, "", "", 0, 0, 6, "0", true },
        { "own dwell time", &eight, "Dwell=20s", "", 0, 0, 19, "0-7", false },
        { "over", &eight, "Dwell=20s", "", 0, 0, 21, "0", true },
        { "one thread wants two", &eight, "", "0=1", 1, 0, 100, "0-1", true },
        { "one thread of two wants two cores", &smt, "", "0=1", 1, 0, 100, "0-3", true },
        { "two threads want three", &eight, "", "0=1,1=1", 2, 0, 100, "0-2", true },
        { "target utilization", &eight, "", "0=0.5,1=0.5,2=0.5,3=0.5", 2, 0, 100, "0-2", true },
        { "own target", &eight, "TargetUtilization=61%", "0=0.5,1=0.5,2=0.5,3=0.5", 2, 0, 100,
          "0-3", true },
        { "in the dead band", &two, "", "0=0.4,1=0.4", 1, 0, 100, "0-1", true },
        { "slow cores count less", &hybrid, "", "8=0.5,9=0.5,10=0.5,11=0.5", 4, 0, 100, "8-10",
          true },
        { "a fast core for a fast thread", &hybrid, "", "0=0.8", 1, 0, 100, "0-1,8", true },
        { "a second thread counts a quarter", &smt, "", "0=0.5,1=0.5", 1, 0, 100, "0-1", true },
        { "and no more", &smt, "", "0=0.56,1=0.56", 1, 0, 100, "0-3", true },
        { "but not for a thread that fills a CPU", &smt, "", "0=0.71", 1, 0, 100, "0-3", true },
        { "never park", &eight, "Park=no", "", 0, 0, 100, "0-7", true },
        { "never park, whatever MaxCores is", &eight, "Park=no MaxCores=2", "", 0, 0, 100, "0-7",
          true },
        { "bound tasks wait in vain", &eight, "", "0=1", 9, 1, 300, "0-1", true },
        { "no more than MaxCores", &eight, "MaxCores=3", "0=1,1=1,2=1", 9, 1, 100, "0-2", true },
        { "MaxCores when overloaded from the start", &eight, "MaxCores=3",
          "0=1,1=1,2=1,3=1,4=1,5=1,6=1,7=1", 20, 1, 100, "0-2", true },
        { "throttled tasks wait in vain", &eight, "", "0=0.2,1=0.2", 1, 0.8, 100, "0", true },
};

TEST_EACH(lasting, lasting_cases)
{
        g_autoptr(World) world = world_on(&idled_policy, c->grid);

        if (*c->options)
                world_set_all(world, c->options);
        if (*c->busy)
                world_put(world, c->busy);
        world->snapshot->running = c->running;
        world->snapshot->pressure = c->pressure;
        world_decide(world, 0);
        for (int i = 0; i < 4 * c->seconds; i++)
                world_decide(world, 250000);
        expect(c->name, world, c->allowed);
        ck_case(c->name, world->wish.settled == c->settled, "settled %d", world->wish.settled);
}

/* The load wants three cores, and fewer shortly before the dwell time ends. */
TEST(parks_to_the_largest)
{
        g_autoptr(World) world = world_on(&idled_policy, &eight);

        world_decide(world, 0);
        for (int ms = 0; world->n_changes == 0 && ms < 20000; ms += 250) {
                world_put(world, ms < 4000 ? "0=0.5,1=0.5,2=0.5,3=0.5" : "0=0.1");
                world_decide(world, 250000);
        }
        expect("the largest size wanted meanwhile", world, "0-2");
}

/* What settled promises. */
TEST_RANGE(settled_stays, 0, 50)
{
        g_autoptr(World) world = world_on(&idled_policy, &eight);
        unsigned seed = (unsigned)_i, settled = 0;

        for (int round = 0; round < 40; round++) {
                unsigned before;

                for (int cpu = 0; cpu < 8; cpu++)
                        world->snapshot->busy[cpu] = cpuset_has(&world->allowed, cpu)
                                                             ? (float)(rand_r(&seed) % 1000) /
                                                                       1001.0f
                                                             : 0;
                world->snapshot->running = (unsigned)rand_r(&seed) % 4;
                for (int i = rand_r(&seed) % 40; i >= 0; i--)
                        world_decide(world, 250000);
                if (!world->wish.settled)
                        continue;
                settled++;
                before = world->n_changes;
                for (int i = 0; i < 200; i++)
                        world_decide(world, 2000000);
                ck_assert_msg(world->n_changes == before, "changed after it was settled");
        }
        ck_assert_uint_gt(settled, 0);
}

TEST(nothing_to_do)
{
        g_autoptr(World) world = world_on(&idled_policy, &one);

        world_decide(world, 0);
        ck_assert(world->wish.settled);
        ck_assert_uint_eq(world->wish.period_usec, 0);
        ck_assert(!world->wish.on_pressure);
}

TEST(wants_calls)
{
        g_autoptr(World) world = world_on(&idled_policy, &two);

        world_set(world, "Period", "100ms");
        world_rest(world);
        ck_assert_uint_eq(world->wish.period_usec, 100000);
        ck_assert(world->wish.on_pressure);
}

/* The policy is not called more often than there is something new to read. */
TEST(shortest_period)
{
        const Setting *row = setting_find(idled_policy.settings, "Policy", "Period");
        g_autofree char *error = NULL;
        OndemandOptions options;

        ck_assert_int_eq(setting_parse(row, "50ms", &options, &error), 0);
        ck_assert_uint_eq(options.period_usec, READING_USEC);
        ck_assert_int_lt(setting_parse(row, "49ms", &options, &error), 0);
        ck_assert_str_eq(error, "found \"49ms\", expected a duration from 50ms to 1min, such as "
                                "250ms");
}

/* What another policy took away is neither counted on nor chosen. */
TEST(offered)
{
        g_autoptr(World) world = world_on(&idled_policy, &eight);
        CpuSet rest = set_of("2-5"), wish;

        world->offered = &rest;
        world_rest(world);
        wish = world->allowed;
        cpuset_and(&wish, &rest);
        ck_assert_int_eq(cpuset_next(&wish, -1), 2);
        ck_assert_int_eq(cpuset_count(&wish), 1);
}

/* What a policy of higher rank keeps is not parked, and that is no work for this one; afterwards it
 * begins again. */
TEST(decided)
{
        g_autoptr(World) world = world_on(&idled_policy, &eight);
        CpuSet rest = set_of("2-5"), kept = rest;

        world_rest(world);
        expect("before", world, "0");
        world->offered = &rest;
        world->kept = &kept;
        world_decide(world, 250000);
        expect("decided", world, "0-7");
        ck_assert(world->wish.period_usec == 0 && !world->wish.on_pressure &&
                  !world->wish.for_saving);
        ck_assert_ptr_null(world->wish.allowed_reason.because);
        cpuset_remove(&kept, 5);
        world_decide(world, 250000);
        ck_assert_uint_gt(world->wish.period_usec, 0);
        world->offered = world->kept = NULL;
        world_decide(world, 250000);
        expect("after", world, "0-7");
        world_rest(world);
        expect("rested", world, "0");
}

/* CPUs that come or go: everything is kept until the load is known again. */
TEST(hotplug)
{
        g_autoptr(Topology) before = grid_build(&eight);
        g_autoptr(Topology) after = machine_make(8, 1, 8, "0-2,4-7", "");
        g_autoptr(World) world = world_new(&idled_policy, before);

        world_rest(world);
        expect("before", world, "0");
        world->topology = after;
        world_decide(world, 250000);
        expect("after", world, "0-2,4-7");
        world_rest(world);
        expect("later", world, "0");
}

/* Bursts that come back just after the cores were parked make parking slower. */
TEST(patience)
{
        g_autoptr(World) world = world_on(&idled_policy, &eight);
        unsigned first, all;

        world_set(world, "MaxTransitions", "60");
        world_rest(world);
        first = world->n_changes;
        for (int i = 0; i < 60; i++) {
                world_put(world,
                          world_cores(world) > 1 ? "0=1,1=1,2=1,3=1,4=1,5=1,6=1,7=1" : "0=1");
                world->snapshot->running = 8;
                world_decide(world, 250000);
                world_put(world, "0=0");
                world->snapshot->running = 0;
                for (int k = 0; k < 4 * 10; k++)
                        world_decide(world, 250000);
        }
        all = world->n_changes - first;
        ck_assert_msg(all <= 6, "%u changes in 60 bursts", all);
        world_rest(world);
        expect("rests in the end", world, "0");
        for (int i = 0; i < 5; i++)
                world_decide(world, 60000000);
        world_put(world, "0=1");
        world->snapshot->running = 8;
        world_decide(world, 250000);
        world_put(world, "0=0");
        world->snapshot->running = 0;
        for (int i = 0; i < 4 * 10; i++)
                world_decide(world, 250000);
        expect("parks after Dwell again", world, "0");
}

static const struct {
        const char *options, *key; /* NULL: they fit */
} check_cases[] = {
        { "MinCores=1", NULL },
        { "MinCores=4 MaxCores=4", NULL },
        { "MinCores=4 MaxCores=3", "MinCores" },
        { "DownThreshold=80%", "DownThreshold" },
        { "TargetUtilization=95%", "TargetUtilization" },
        { "UpThreshold=65%", "TargetUtilization" },
        { "DownThreshold=20% TargetUtilization=50% UpThreshold=50%", NULL },
};

TEST_EACH(contradictions, check_cases)
{
        g_autoptr(World) world = world_on(&idled_policy, &one);
        const char *key = NULL, *wrong;

        world_set_all(world, c->options);
        wrong = idled_policy.check(world->options, &key);
        ck_case(c->options, (wrong != NULL) == (c->key != NULL), "%s", wrong ? wrong : "passes");
        ck_case(c->options, g_strcmp0(key, c->key) == 0, "key %s", key);
}

UNIT("ondemand")
