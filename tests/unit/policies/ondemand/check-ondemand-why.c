/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ondemand: why cores are in use or parked, as it is said. */
#include <math.h>

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
        Phase phases[4];
        const char *allowed; /* in the end */
        const char *option;
        const char *input; /* NULL: none is looked at */
        double value;
} cases[] = {
        { "nothing is known", &eight, "", { { 0, "", 0, 0 } }, "0-7", "Dwell", NULL, 0 },
        { "no other core", &one, "", { { 4, "0=0.1", 0, 0 } }, "0", NULL, NULL, 0 },
        { "MinCores is all",
          &eight,
          "MinCores=8",
          { { 40, "0=0.05", 0, 0 } },
          "0-7",
          "MinCores",
          NULL,
          0 },
        { "MinCores is more",
          &two,
          "MinCores=9",
          { { 40, "0=0.05", 0, 0 } },
          "0-1",
          "MinCores",
          NULL,
          0 },
        { "loaded",
          &two,
          "",
          { { 40, "0=0.8,1=0.6", 1, 0 } },
          "0-1",
          "DownThreshold",
          "utilisation",
          70 },
        { "between the thresholds",
          &two,
          "",
          { { 40, "0=0.4,1=0.4", 1, 0 } },
          "0-1",
          "TargetUtilization",
          "with one fewer",
          80 },
        { "between the thresholds, with cores of two kinds",
          &hybrid,
          "TargetUtilization=60%",
          { { 40, HALF ",8=0.59,9=0.59,10=0.59,11=0.59,12=0.59,13=0.59,14=0.59", 1, 0 } },
          "0-15",
          "TargetUtilization",
          "with one fewer",
          62.3 },
        { "one of two saturated",
          &two,
          "TargetUtilization=100% UpThreshold=100%",
          { { 40, "0=1", 1, 0 } },
          "0-1",
          "UpThreshold",
          "busiest CPU",
          100 },
        { "all of two saturated",
          &two,
          "",
          { { 40, "0=1,1=1", 2, 0 } },
          "0-1",
          "UpThreshold",
          "busiest CPU",
          100 },
        { "tasks wait", &two, "", { { 40, "0=0.7,1=0.7", 1, 0.3 } }, "0-1", "MaxWait", NULL, 0 },
        { "not for long enough",
          &eight,
          "",
          { { 10, "0=0.1", 0, 0 } },
          "0-7",
          "Dwell",
          "for",
          2.25 },
        { "the budget is used up",
          &two,
          "MaxTransitions=2",
          { { 24, "0=0.1", 0, 0 }, { 4, "0=1", 1, 0 }, { 48, "0=0.1", 0, 0 } },
          "0-1",
          "MaxTransitions",
          "wanted cores",
          1 },
        { "parked by load",
          &eight,
          "",
          { { 24, "0=0.1", 0, 0 } },
          "0",
          "DownThreshold",
          "utilisation",
          1.25 },
        { "parked by load, below MaxCores",
          &eight,
          "MaxCores=4",
          { { 24, "0=0.1", 0, 0 } },
          "0",
          "DownThreshold",
          "utilisation",
          1.25 },
        { "saturated, and soon MaxCores",
          &eight,
          "MaxCores=1",
          { { 10, FULL, 16, 1 } },
          "0-7",
          "Dwell",
          "wanted cores",
          8 },
        { "saturated, and MaxCores",
          &eight,
          "MaxCores=1",
          { { 24, FULL, 16, 1 } },
          "0",
          "MaxCores",
          "wanted cores",
          8 },
        { "half loaded, and MaxCores",
          &eight,
          "MaxCores=2",
          { { 24, HALF, 1, 0 } },
          "0-1",
          "MaxCores",
          "wanted cores",
          6 },
        { "fast cores, and MaxCores",
          &hybrid,
          "MaxCores=2",
          { { 24, FAST, 4, 0 } },
          "0-3",
          "MaxCores",
          NULL,
          0 },
        { "for a moment too much for MaxCores",
          &eight,
          "MaxCores=2",
          { { 3, "0=0.1", 0, 0 }, { 10, FULL, 8, 0 }, { 12, "0=0.1", 0, 0 } },
          "0-1",
          "MaxCores",
          "wanted cores",
          8 },
        { "MaxCores, and the budget is used up",
          &two,
          "MaxTransitions=2 MaxCores=1 Dwell=1s",
          { { 8, "0=0.1", 0, 0 } },
          "0",
          "DownThreshold",
          NULL,
          0 },
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

START_TEST(says_why)
{
        typeof(cases[0]) *c = &cases[_i];
        g_autoptr(Topology) topology = grid_build(c->grid);
        g_autoptr(World) world = world_new(&idled_policy, topology);
        const Reason *reason = &world->wish.allowed_reason;
        g_autofree char *text = NULL;

        world_set_all(world, c->options);
        world_decide(world, 0);
        for (const Phase *phase = c->phases; phase->calls; phase++) {
                world_put(world, phase->busy);
                world->snapshot->running = phase->running;
                world->snapshot->pressure = phase->pressure;
                for (unsigned i = 0; i < phase->calls; i++)
                        world_decide(world, 250000);
        }
        text = cpuset_format(&world->allowed);
        ck_case(c->name, strcmp(text, c->allowed) == 0, "allowed %s", text);
        ck_case(c->name, reason->because != NULL, "no reason");
        ck_case(c->name, g_strcmp0(reason->option, c->option) == 0, "option %s", reason->option);
        if (c->input)
                assert_input(c->name, reason, c->input, c->value);
}
END_TEST

/* Whatever the load and the options: no minute sees more changes than MaxTransitions. */
START_TEST(keeps_budget)
{
        static const char *const options[] = { "", "MaxCores=2", "MinCores=3 MaxTransitions=2",
                                               "Dwell=1s MaxTransitions=3" };
        g_autoptr(Topology) topology = grid_build(&eight);
        g_autoptr(World) world = world_new(&idled_policy, topology);
        const OndemandOptions *set = world->options;
        g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        unsigned seed = (unsigned)_i;

        world_set_all(world, options[_i % 4]);
        world_decide(world, 0);
        for (int i = 0; i < 6000; i++) {
                unsigned before = world->n_changes, recent = 0;

                for (int cpu = 0; cpu < 8 && i % 40 == 0; cpu++)
                        world->snapshot->busy[cpu] = (float)(rand_r(&seed) % 1001) / 1000 *
                                                     (float)(rand_r(&seed) % 3) / 2;
                world->snapshot->running = (unsigned)rand_r(&seed) % 12;
                world->snapshot->pressure = rand_r(&seed) % 40 == 0 ? 0.8 : 0;
                world_decide(world, 250000);
                if (world->n_changes > before)
                        g_array_append_val(changes, world->snapshot->time_usec);
                for (guint k = changes->len; k > 0; k--)
                        recent += world->snapshot->time_usec -
                                          g_array_index(changes, uint64_t, k - 1) <
                                  60000000;
                ck_assert_uint_le(recent, set->max_transitions);
        }
        ck_assert_uint_gt(changes->len, 1);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("ondemand-why");
        TCase *tcase = tcase_create("ondemand-why");

        tcase_add_loop_test(tcase, says_why, 0, G_N_ELEMENTS(cases));
        tcase_add_loop_test(tcase, keeps_budget, 0, 20);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
