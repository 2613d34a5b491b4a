/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ondemand: why cores are in use or parked, as it is said. */
#include "machine.h"
#include "ondemand/ondemand.h"
#include "table.h"
#include "world.h"

static const Grid eight = { 1, 1, 8, 1, 0, 0, NULL };
static const Grid two = { 1, 1, 2, 1, 0, 0, NULL };
static const Grid one = { 1, 1, 1, 1, 0, 0, NULL };
static const Grid hybrid = { 1, 1, 4, 2, 2, 580, NULL };

#define FULL   "0=1,1=1,2=1,3=1,4=1,5=1,6=1,7=1"
#define HALF   "0=0.5,1=0.5,2=0.5,3=0.5,4=0.5,5=0.5,6=0.5,7=0.5"
#define MIDDLE "0=0.55,1=0.55,2=0.55,3=0.55,4=0.55,5=0.55,6=0.55,7=0.55"
#define FAST   "0=1,2=1,4=1,6=1"

/* So many calls, 250 ms apart. */
typedef struct Phase {
        unsigned calls;
        const char *busy;
        unsigned running;
        double pressure;
} Phase;

static const struct {
        const char *name;
        const Grid *grid;
        const char *options;
        const char *allowed; /* in the end */
        const char *because; /* for says() */
        const char *option;
        const char *input; /* NULL: none is checked */
        double value;
        Phase phases[4];
        const char *reloaded; /* options that change at the end; NULL: none do */
        unsigned contract;    /* cores */
} cases[] = {
        { "nothing is known", &eight, "", "0-7", "changed|no core is parked yet",
          .option = "Dwell" },
        { "no other core", &one, "", "0", "no other core", .phases = { { 4, "0=0.1" } } },
        { "MinCores is all", &eight, "MinCores=8", "0-7", "requires all cores",
          .option = "MinCores", .phases = { { 40, "0=0.05" } } },
        { "MinCores grows while cores are parked", &eight, "", "0-2",
          "fewer cores|MinCores requires", .option = "MinCores", .input = "needed cores",
          .value = 3, .phases = { { 40, "0=0.05" } }, .reloaded = "MinCores=3" },
        { "MinCores is more", &two, "MinCores=9", "0-1", "requires all cores", .option = "MinCores",
          .phases = { { 40, "0=0.05" } } },
        { "a contract is all", &eight, "MinCores=2", "0-7", "a contract needs all cores",
          .phases = { { 40, "0=0.05" } }, .contract = 8 },
        { "a contract is more than MaxCores", &eight, "MaxCores=2", "0-1",
          "load has fitted|fewer cores", .option = "DownThreshold", .phases = { { 40, "0=0.05" } },
          .contract = 8 },
        { "and not for long enough", &eight, "MaxCores=2", "0-7", "fewer cores|not for long enough",
          .option = "Dwell", .phases = { { 10, "0=0.05" } }, .contract = 8 },
        { "MinCores is all, and a contract", &eight, "MinCores=8", "0-7", "requires all cores",
          .option = "MinCores", .phases = { { 40, "0=0.05" } }, .contract = 8 },
        { "Park=no", &eight, "Park=no MaxCores=2", "0-7", "switched off", .option = "Park",
          .phases = { { 40, "0=0.05" } } },
        { "loaded", &two, "", "0-1", "the load uses all cores", .option = "DownThreshold",
          .input = "use of active cores", .value = 70, .phases = { { 40, "0=0.8,1=0.6", 1 } } },
        { "between the thresholds", &two, "", "0-1", "one core fewer|too much",
          .option = "TargetUtilization", .input = "with one fewer", .value = 80,
          .phases = { { 40, "0=0.4,1=0.4", 1 } } },
        { "filled as far as a contract permits", &two, "Dwell=1s", "0",
          "load has fitted|fewer cores", .option = "DownThreshold",
          .phases = { { 40, "0=0.4,1=0.4", 1 } }, .contract = 1 },
        { "fuller than a contract permits", &two, "DownThreshold=70%", "0-1",
          "one core fewer|too much", .option = "UpThreshold", .input = "with one fewer",
          .value = 96, .phases = { { 40, "0=0.48,1=0.48", 1 } }, .contract = 1 },
        { "between the thresholds, with cores of two kinds", &hybrid, "TargetUtilization=60%",
          "0-15", "one core fewer|too much", .option = "TargetUtilization",
          .input = "with one fewer", .value = 62.3,
          .phases = { { 40, HALF ",8=0.59,9=0.59,10=0.59,11=0.59,12=0.59,13=0.59,14=0.59", 1 } } },
        { "one of two saturated", &two, "TargetUtilization=100% UpThreshold=100%", "0-1",
          "a CPU is saturated", .option = "UpThreshold", .input = "busiest CPU", .value = 100,
          .phases = { { 40, "0=1", 1 } } },
        { "all of two saturated", &two, "", "0-1", "all active CPUs|saturated",
          .option = "UpThreshold", .input = "busiest CPU", .value = 100,
          .phases = { { 40, "0=1,1=1", 2 } } },
        { "tasks wait", &two, "", "0-1", "tasks waited for a CPU", .option = "MaxWait",
          .input = "waited", .value = 12.5, .phases = { { 40, "0=0.6,1=0.5", 1, 0.3 } } },
        { "more tasks than CPUs", &two, "", "0-1", "more tasks|runnable|active",
          .option = "MaxWait", .input = "running tasks", .value = 5,
          .phases = { { 10, "0=0.6,1=0.5", 1 }, { 1, "0=0.6,1=0.5", 5 } } },
        { "as many tasks as CPUs", &eight, "", "0-7",
          "as many tasks are runnable as there are CPUs", .input = "running tasks", .value = 8,
          .phases = { { 10, MIDDLE }, { 1, MIDDLE, 8 } } },
        { "not for long enough", &eight, "", "0-7", "fewer cores|not for long enough",
          .option = "Dwell", .input = "for", .value = 2.25, .phases = { { 10, "0=0.1" } } },
        { "tasks wake together at the end of the dwell time", &two, "", "0-1",
          "fewer cores|tasks are runnable|at this moment", .input = "needed cores", .value = 1,
          .phases = { { 20, "0=0.1,1=0.1", 0, 0.01 }, { 1, "0=0.1,1=0.1", 2, 0.01 } } },
        { "more tasks wake together", &eight, "", "0-7", "fewer cores|tasks wait|checks again",
          .input = "needed cores", .value = 1,
          .phases = { { 20, "0=0.1,1=0.1,2=0.1", 0, 0.01 }, { 1, "0=0.1,1=0.1,2=0.1", 9, 0.01 } } },
        { "tasks wake together before it", &eight, "", "0-7", "fewer cores|not for long enough",
          .option = "Dwell", .input = "for", .value = 2.5,
          .phases = { { 10, "0=0.1", 0, 0.01 }, { 1, "0=0.1", 9, 0.01 } } },
        { "tasks wake together at once", &eight, "", "0-7", "tasks wait|little to do|checks again",
          .input = "running tasks", .value = 9, .phases = { { 1, "0=0.1", 9, 0.01 } } },
        { "the budget is used up", &two, "MaxTransitions=2", "0-1", "fewer cores|no change is left",
          .option = "MaxTransitions", .input = "needed cores", .value = 1,
          .phases = { { 24, "0=0.1" }, { 4, "0=1", 1 }, { 48, "0=0.1" } } },
        { "parked by load", &eight, "", "0", "load has fitted|fewer cores|long enough",
          .option = "DownThreshold", .input = "use of active cores", .value = 1.25,
          .phases = { { 24, "0=0.1" } } },
        { "parked by load, below MaxCores", &eight, "MaxCores=4", "0",
          "load has fitted|fewer cores|long enough", .option = "DownThreshold",
          .input = "use of active cores", .value = 1.25, .phases = { { 24, "0=0.1" } } },
        { "saturated, and soon MaxCores", &eight, "MaxCores=1", "0-7",
          "more cores|MaxCores|not for long enough", .option = "Dwell", .input = "needed cores",
          .value = 8, .phases = { { 10, FULL, 16, 1 } } },
        { "saturated, and MaxCores", &eight, "MaxCores=1", "0", "more cores|MaxCores permits",
          .option = "MaxCores", .input = "needed cores", .value = 8,
          .phases = { { 24, FULL, 16, 1 } } },
        { "half loaded, and MaxCores", &eight, "MaxCores=2", "0-1", "more cores|MaxCores permits",
          .option = "MaxCores", .input = "needed cores", .value = 6,
          .phases = { { 24, HALF, 1 } } },
        { "fast cores, and MaxCores", &hybrid, "MaxCores=2", "0-3", "more cores|MaxCores permits",
          .option = "MaxCores", .phases = { { 24, FAST, 4 } } },
        { "for a moment too much for MaxCores", &eight, "MaxCores=2", "0-1",
          "more cores|MaxCores permits", .option = "MaxCores", .input = "needed cores", .value = 8,
          .phases = { { 3, "0=0.1" }, { 10, FULL, 8 }, { 12, "0=0.1" } } },
        { "MaxCores, and the budget is used up", &two, "MaxTransitions=2 MaxCores=1 Dwell=1s", "0",
          "load has fitted|fewer cores|long enough", .option = "DownThreshold",
          .phases = { { 8, "0=0.1" } } },
};

static void assert_input(const char *name, const Reason *reason, const char *input, double value)
{
        for (int i = 0; i < REASON_INPUTS && reason->inputs[i].name; i++) {
                if (strcmp(reason->inputs[i].name, input) != 0)
                        continue;
                ck_case(name, fabs(reason->inputs[i].value - value) < 0.02 * value + 0.001,
                        "%s is %g", input, reason->inputs[i].value);
                return;
        }
        ck_case(name, false, "no input \"%s\"", input);
}

TEST_EACH(says_why, cases)
{
        g_autoptr(World) world = world_on(&idled_policy, c->grid);
        const Reason *reason = &world->wish.allowed_reason;
        g_autofree char *text = NULL;

        world->contract_cores = c->contract;
        world_set_all(world, c->options);
        world_decide(world, 0);
        for (const Phase *phase = c->phases; phase->calls; phase++) {
                world_put(world, phase->busy);
                world->snapshot->running = phase->running;
                world->snapshot->pressure = phase->pressure;
                for (unsigned i = 0; i < phase->calls; i++)
                        world_decide(world, 250000);
        }
        if (c->reloaded) {
                world_set_all(world, c->reloaded);
                world_decide(world, 250000);
        }
        text = cpuset_format(&world->allowed);
        ck_case(c->name, strcmp(text, c->allowed) == 0, "allowed %s", text);
        ck_case(c->name, says(reason->because, c->because), "\"%s\"", reason->because);
        ck_case(c->name, g_strcmp0(reason->option, c->option) == 0, "option %s", reason->option);
        if (c->input)
                assert_input(c->name, reason, c->input, c->value);
}

/* While cores are parked: why the others are not. */
static const struct {
        const char *name, *options, *busy;
        const char *because, *option; /* NULL: none */
        unsigned contract;            /* cores */
} kept[] = {
        { "idle", "Dwell=1s", "0=0.05", "MinCores", "MinCores" },
        { "as many as MinCores", "Dwell=1s MinCores=2", "0=0.05", "MinCores", "MinCores" },
        { "as many as a contract", "Dwell=1s", "0=0.05", "a contract", NULL, 2 },
        { "fewer than a contract", "Dwell=1s MaxCores=2", "0=0.05",
          "needs more cores than MaxCores", "MaxCores", 3 },
        { "a load", "Dwell=1s", "0=0.6,1=0.6", "needs these cores", NULL },
};

TEST_EACH(says_why_active, kept)
{
        const Grid grid = { .packages = 1, .clusters = 1, .cores = 4, .threads = 1 };
        g_autoptr(World) world = world_on(&idled_policy, &grid);
        const Reason *reason = &world->wish.active_reason;

        world->contract_cores = c->contract;
        world_set_all(world, c->options);
        world_decide(world, 0);
        ck_case(c->name, !reason->because, "all are active: allowed_reason says it");
        world_put(world, c->busy);
        for (int i = 0; i < 200; i++)
                world_decide(world, 250000);
        ck_case(c->name, !cpuset_has(&world->wish.allowed, 3), "nothing is parked");
        ck_case(c->name, says(reason->because, c->because), "\"%s\"", reason->because);
        ck_case(c->name, g_strcmp0(reason->option, c->option) == 0, "option %s", reason->option);
        ck_case(c->name, says(world->wish.allowed_reason.because, "fewer cores"), "\"%s\"",
                world->wish.allowed_reason.because);
}

/* A dwell time that reversals have made longer: the option is quoted as configured, followed by the
 * value in effect. */
static const struct {
        const char *name;
        unsigned reversals;
        double effective;
        const char *because;
} dwells[] = {
        { "none", 0, 5, NULL },
        { "one", 1, 10, "after 1 reversal" },
        { "two", 2, 20, "after 2 reversals" },
        { "three", 3, 40, "after 3 reversals or more" },
        { "four", 4, 40, "after 3 reversals or more" },
};

/* Until the policy has parked, or unparked, with this load; false if it never does. */
static bool run_until(World *world, const char *busy, bool parked)
{
        world_put(world, busy);
        for (int i = 0; i < 400; i++) {
                world_decide(world, 250000);
                if (parked == !cpuset_has(&world->wish.allowed, 1))
                        return true;
        }
        return false;
}

TEST_EACH(quotes_dwell_as_configured, dwells)
{
        g_autoptr(World) world = world_on(&idled_policy, &two);
        const Reason *reason = &world->wish.allowed_reason;

        world_set_all(world, "Dwell=5s MaxTransitions=60");
        world_decide(world, 0);
        for (unsigned i = 0; i < c->reversals; i++) {
                ck_case(c->name, run_until(world, "0=0.1", true), "it never parks");
                ck_case(c->name, run_until(world, "0=1,1=1", false), "it never unparks");
        }
        world_put(world, "0=0.1");
        for (int i = 0; i < 12; i++)
                world_decide(world, 250000);
        ck_case(c->name, g_strcmp0(reason->option, "Dwell") == 0, "option %s", reason->option);
        ck_case(c->name, reason->threshold == 5, "configured: %g", reason->threshold);
        ck_case(c->name, g_strcmp0(reason->effective_because, c->because) == 0, "%s",
                reason->effective_because);
        ck_case(c->name, !c->because || reason->effective == c->effective, "in effect: %g",
                reason->effective);
}

/* Whatever the load and the options: that the budget is used up is said only if it is. */
TEST_RANGE(says_no_lies, 0, 20)
{
        static const char *const options[] = { "", "MaxCores=2", "MinCores=3 MaxTransitions=2",
                                               "Dwell=1s MaxTransitions=3" };
        g_autoptr(World) world = world_on(&idled_policy, &eight);
        unsigned seed = (unsigned)_i;
        uint64_t changes[100] = { 0 };

        world_set_all(world, options[_i % 4]);
        world_decide(world, 0);
        for (int i = 0; i < 2000; i++) {
                const OndemandOptions *set = world->options;
                unsigned recent = 0, before = world->n_changes;
                uint64_t now = world->snapshot->time_usec + 250000;

                for (int cpu = 0; cpu < 8 && i % 8 == 0; cpu++)
                        world->snapshot->busy[cpu] = (float)(rand_r(&seed) % 1001) / 1000 *
                                                     (float)(rand_r(&seed) % 3) / 2;
                world->snapshot->running = (unsigned)rand_r(&seed) % 12;
                world_decide(world, 250000);
                for (unsigned k = 0; k < before; k++)
                        recent += now - changes[k] < 60000000;
                ck_assert_uint_lt(world->n_changes, G_N_ELEMENTS(changes));
                if (world->n_changes > before)
                        changes[before] = now;
                else if (g_strcmp0(world->wish.allowed_reason.option, "MaxTransitions") == 0 &&
                         strstr(world->wish.allowed_reason.because, "fewer cores would suffice"))
                        ck_assert_uint_gt(recent + 2, set->max_transitions);
        }
}

/* Eight efficient cores next to four fast ones, and two on a die of their own. */
TEST(island)
{
        g_autofree CpuFacts *facts = g_new0(CpuFacts, 14);
        g_autoptr(Topology) topology = NULL;
        g_autoptr(World) world = NULL;
        CpuSet all = set_of("0-13"), low = set_of("12-13");

        for (int i = 0; i < 14; i++)
                facts[i] = (CpuFacts){ .core_id = i,
                                       .core_first = i,
                                       .cluster_id = -1,
                                       .cache_id = -1,
                                       .capacity = i < 4    ? 1024
                                                   : i < 12 ? 650
                                                            : 620,
                                       .cache_kib = i < 12 ? 24576 : 2048,
                                       .cache_level = i < 12 ? 3 : 2,
                                       .type = i < 4 ? CORE_TYPE_LARGE : CORE_TYPE_SMALL };
        topology = topology_build(14, facts, &all, &all, NULL, NULL);
        world = world_new(&idled_policy, topology);
        world_rest(world);
        ck_assert(cpuset_is_subset(&world->allowed, &low));
        ck_assert_msg(
                strstr(world->wish.allowed_reason.because, "die of all other cores may sleep"),
                "%s", world->wish.allowed_reason.because);
        for (int i = 0; i < 40; i++) {
                world_put(world, "12=1");
                world_decide(world, 250000);
        }
        ck_assert(cpuset_has(&world->allowed, 0));
        world_set(world, "Kinds", "efficient");
        world_rest(world);
        for (int i = 0; i < 40; i++) {
                world_put(world, "12=1");
                world_decide(world, 250000);
        }
        ck_assert(cpuset_equal(&world->allowed, &low));
        ck_assert_str_eq(world->wish.active_reason.option, "Kinds");
        ck_assert_str_eq(world->wish.active_reason.inputs[3].name, "speed there");
        ck_assert_double_eq_tol(world->wish.active_reason.inputs[3].value, 60.5, 0.1);
        world_set(world, "Kinds", "island efficient");
        world_set(world, "MaxTransitions", "60");
        world_rest(world);
        for (int i = 0; i < 40; i++) {
                world_put(world, "4=1,12=1,13=1");
                world_decide(world, 250000);
        }
        ck_assert(!cpuset_is_subset(&world->allowed, &low) && !cpuset_has(&world->allowed, 0));
        ck_assert_str_eq(world->wish.active_reason.inputs[3].name, "speed there");
        ck_assert_double_eq_tol(world->wish.active_reason.inputs[3].value, 63.5, 0.1);
}

UNIT("ondemand-why")
