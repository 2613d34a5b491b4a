/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Power tables: their estimates for the coreidle paper's measurements, the files that are refused,
 * and the least squares that fit them. */
#include "config/power-table.h"
#include "lab/verbs/least-squares.h"
#include "lab/verbs/turbostat.h"
#include "table.h"

static PowerTable *shipped(void)
{
        g_autoptr(GPtrArray) errors = config_errors_new();
        PowerTable *table = NULL;

        ck_assert_int_eq(
                power_table_load(NULL, TESTS_DIR "/../conf/power/coreidle.conf", &table, errors),
                0);
        return table;
}

/* The paper's table 2. */
static const struct {
        const char *file;
        double watts;
} paper[] = {
        { "cyclictest-default", 62.79 },  { "cyclictest-sched_mc", 64.02 },
        { "cyclictest-coreidle", 43.79 }, { "tbench-default", 54.68 },
        { "tbench-sched_mc", 53.94 },     { "tbench-coreidle", 51.43 },
};

TEST_EACH(price, paper)
{
        g_autofree char *path = g_strdup_printf(TESTS_DIR "/unit/ctl/turbostat/%s.txt", c->file);
        g_autoptr(PowerTable) table = shipped();
        g_autoptr(Turbostat) seen = NULL;
        g_autofree char *text = NULL, *error = NULL;
        double watts;

        ck_assert(g_file_get_contents(path, &text, NULL, NULL));
        ck_assert_msg(turbostat_parse(text, &seen, &error) == 0, "%s", error);
        watts = power_table_price(table, (const char *const *)seen->states,
                                  turbostat_shares(seen, 0, 0), (size_t)seen->n_states, NULL);
        ck_case(c->file, fabs(watts - c->watts) < 0.005, "%.4f W, expected %.2f", watts, c->watts);
}

TEST(unknown_states)
{
        static const char *const states[] = { "C0", "POLL", "C6" };
        static const double shares[] = { 0.1, 0.2, 0.7 };
        g_autoptr(PowerTable) table = shipped();
        double unknown, watts = power_table_price(table, states, shares, 3, &unknown);

        ck_assert(fabs(watts - 27) < 1e-9); /* what polls runs */
        ck_assert(fabs(unknown - 0.7) < 1e-9);
        power_table_add(table, "POLL", 50, NAN);
        ck_assert(fabs(power_table_price(table, states, shares, 3, NULL) - 19) < 1e-9);
}

/* Two packages of two CPUs; every CPU is busy for so much of the time, and else in its state. */
static const struct {
        const char *name;
        float busy[4];
        int state[4]; /* -1: the CPU was not seen */
        double watts; /* NaN: not known */
} machines[] = {
        { "all run", { 1, 1, 1, 1 }, { 0, 0, 0, 0 }, 80 },
        { "all sleep", { 0, 0, 0, 0 }, { 1, 1, 1, 1 }, 10 },
        { "one of a package sleeps", { 0, 1, 0, 0 }, { 1, 0, 1, 1 }, 27.5 },
        { "half the time", { .5, .5, .5, .5 }, { 0, 0, 0, 0 }, 60 },
        { "a state without a figure", { 0, 0, 0, 0 }, { 2, 2, 1, 1 }, NAN },
        { "such a state for 3 % of the time", { .96875, .96875, 0, 0 }, { 2, 2, 1, 1 }, 43.75 },
        { "a CPU that went offline", { 0, 0, 0, 0 }, { 1, -1, 1, 1 }, 10 },
        { "a package that went offline", { 0, 0, 0, 0 }, { 1, 1, -1, -1 }, NAN },
};

TEST_EACH(whole_machine, machines)
{
        static const IdleTable states = { .n_states = 3,
                                          .states = { { "C1" }, { "C6" }, { "C9" } } };
        IdleTable idle[4] = { states, states, states, states };
        Residency residency[4] = { 0 };
        TopologyCpu cpus[4] = { 0 };
        Topology topology = { .n_cpus = 4, .cpus = cpus, .n_packages = 2 };
        Snapshot snapshot = { .n_cpus = 4, .residency = residency };
        g_autoptr(PowerTable) table = power_table_new("t");
        double watts;

        power_table_add(table, "C0", 40, NAN);
        power_table_add(table, "C1", 20, NAN);
        power_table_add(table, "C6", 5, NAN);
        for (int i = 0; i < 4; i++) {
                cpus[i].package = (int16_t)(i / 2);
                if (c->state[i] < 0)
                        continue;
                cpuset_add(&snapshot.cpus, i);
                residency[i].n_states = 3;
                residency[i].busy = c->busy[i];
                residency[i].share[c->state[i]] = 1 - c->busy[i];
        }
        watts = power_table_watts(table, &topology, idle, &snapshot);
        ck_case(c->name, isnan(c->watts) ? isnan(watts) : fabs(watts - c->watts) < 1e-6, "%f W",
                watts);
}

static const struct {
        const char *name, *text, *says;
} bad[] = {
        { "empty", "", "t.conf: found no state" },
        { "no states", "[Power]\nDescription=x\n[States]\n", "found no state" },
        { "word", "[States]\nC1=much\n",
          "t.conf:2: C1: found \"much\", expected a number of watts" },
        { "below 0", "[States]\nC1=-1\n", "t.conf:2: C1: found \"-1\"" },
        { "too large", "[States]\nC1=1000000\n", "t.conf:2: C1: found \"1000000\"" },
        { "twice", "[States]\nC1=1\nC1=2\n", "t.conf:3: C1: found a second time" },
        { "section", "[State]\nC1=1\n", "t.conf:1: found the section [State]" },
        { "key", "[Power]\nWatts=1\n[States]\nC0=1\n", "t.conf:2: Watts: not an option" },
        { "outside", "C1=1\n", "t.conf:1: C1: found outside of a section" },
};

TEST_EACH(refuse, bad)
{
        g_autoptr(GPtrArray) errors = config_errors_new();
        g_autoptr(PowerTable) table = power_table_new("t");
        g_autofree char *said = NULL;

        ck_case(c->name,
                power_table_parse("t.conf", c->text, strlen(c->text), table, errors) == -EINVAL,
                "accepted");
        said = config_error_format(g_ptr_array_index(errors, 0));
        ck_case(c->name, strstr(said, c->says), "said: %s", said);
}

/* What is written is read again. */
TEST(round_trip)
{
        g_autoptr(GPtrArray) errors = config_errors_new();
        g_autoptr(PowerTable) table = power_table_new("a"), read = power_table_new("b");
        g_autofree char *text = NULL;

        power_table_add(table, "C0", 12.5, 0.25);
        power_table_add(table, "haltpoll idle", 3, NAN);
        power_table_add(table, "C1_ACPI", 0, 0.1);
        text = power_table_format(table);
        ck_assert_int_eq(power_table_parse("f", text, strlen(text), read, errors), 0);
        ck_assert_int_eq((int)read->states->len, 3);
        ck_assert(power_table_find(read, "C0") == 12.5);
        ck_assert(power_table_find(read, "haltpoll idle") == 3);
        ck_assert(power_table_find(read, "C1_ACPI") == 0);
        ck_assert(isnan(power_table_find(read, "C1")));
}

/* The values that made the rows, to what the noise allows; errors that cover it. */
TEST_RANGE(fit, 0, 3)
{
        static const double truth[] = { 90, 63, 55, 20 };
        double a[400][4], b[400];
        g_autoptr(GRand) random = g_rand_new_with_seed(1);
        LeastSquares found;

        for (int row = 0; row < 400; row++) {
                double sum = 0;

                b[row] = g_rand_double_range(random, -1.7320508, 1.7320508) * _i;
                for (int i = 0; i < 4; i++)
                        sum += a[row][i] = g_rand_double(random);
                for (int i = 0; i < 4; i++)
                        b[row] += (a[row][i] /= sum) * truth[i];
        }
        ck_assert_int_eq(least_squares(a[0], b, 400, 4, &found), 0);
        for (int i = 0; i < 4; i++) {
                ck_assert_msg(fabs(found.value[i] - truth[i]) <= 3 * found.error[i] + 1e-6,
                              "%d: %f +- %f", i, found.value[i], found.error[i]);
                ck_assert_msg(found.error[i] < 0.5 * _i + 1e-6, "%d: +- %f", i, found.error[i]);
        }
        /* The noise has a standard deviation of _i. */
        ck_assert(fabs(found.residual - _i) < 0.1 * _i + 1e-6);
        ck_assert(found.explained > 0.9);
}

/* Columns that are proportional, or empty. */
TEST(fit_undetermined)
{
        static const double a[][4] = { { .5, .25, .25, 0 },
                                       { .2, .4, .4, 0 },
                                       { .8, .1, .1, 0 },
                                       { .6, .2, .2, 0 } },
                            b[] = { 10, 16, 4, 8 };
        static const double same[][4] = {
                { .05, .1, .85, 0 }, { .05, .1, .85, 0 }, { .05, .1, .85, 0 }, { .05, .1, .85, 0 }
        };
        LeastSquares found;

        ck_assert_int_eq(least_squares(a[0], b, 4, 4, &found), 0);
        ck_assert(isnan(found.value[3]));
        /* Nothing says which of the two draws the power. */
        ck_assert(isnan(found.value[1]) && isnan(found.value[2]));
        ck_assert_msg(fabs(found.value[0]) < 1e-6, "%f", found.value[0]);
        ck_assert_int_eq(least_squares(same[0], b, 4, 4, &found), -EDOM);
        /* As many states as rows: any watts have an exact answer. */
        ck_assert_int_eq(least_squares(a[0], b, 3, 4, &found), -ENODATA);
        ck_assert_int_eq(least_squares(a[0], b, 2, 4, &found), -ENODATA);
        ck_assert_int_eq(least_squares(a[0], b, 0, 4, &found), -ENODATA);
}

/* 10 x + 1 y, with noise that makes the best y negative. */
TEST(fit_positive)
{
        double a[][3] = { { 1, .1, 0 }, { .9, .2, 0 }, { .5, .9, 0 }, { .2, 1, 0 } };
        const double b[] = { 12, 10, 3, 0 };
        LeastSquares found;

        ck_assert_int_eq(least_squares(a[0], b, 4, 3, &found), 0);
        ck_assert_msg(found.value[1] < 0, "%f", found.value[1]);
        ck_assert_int_eq(least_squares_positive(a[0], b, 4, 3, &found), 0);
        ck_assert(found.value[1] == 0 && isnan(found.error[1]) && found.negative[1] < 0);
        /* That of the other column alone: sum of a b by sum of a a. */
        ck_assert_msg(fabs(found.value[0] - 22.5 / 2.1) < 1e-9, "%f", found.value[0]);
        ck_assert(found.negative[0] == 0 && isnan(found.value[2]));
}

#define FINE     NULL
#define NONE     "not determined"
#define NEGATIVE "below 0"
#define VAGUE    "too uncertain"
#define HIGHER   "above a shallower state"

/* Watts and errors of states, the shallowest first; NaN: no value; below 0: negative. */
static const struct {
        const char *name;
        int n;
        double value[5], error[5];
        const char *faults[5];
} judged[] = {
        { "a good fit", 3, { 20, 8, 2 }, { 1, 1, .5 }, { 0 } },
        { "25 s on a laptop",
          5,
          { 24, NAN, 1077, -3, 2 },
          { 2, NAN, 481, NAN, .4 },
          { FINE, NONE, VAGUE, NEGATIVE, FINE } },
        { "an error of a third", 2, { 9, 3 }, { 3, 1 }, { 0 } },
        { "slightly more", 2, { 9, 3 }, { 3.01, 1.01 }, { VAGUE, VAGUE } },
        { "exact", 3, { 20, 8, 0 }, { 0, 0, 0 }, { 0 } },
        { "none at all", 2, { NAN, NAN }, { NAN, NAN }, { NONE, NONE } },
        { "a deeper state that draws more", 3, { 20, 5, 8 }, { 1, 1, 1 }, { FINE, FINE, HIGHER } },
        { "within both errors", 3, { 20, 5, 7 }, { 1, 1, 1 }, { 0 } },
        { "more than one that has no figure", 3, { 20, 5, 8 }, { 1, 2, 1 }, { FINE, VAGUE, FINE } },
        { "more than one that draws more",
          4,
          { 20, 30, 25, 5 },
          { 1, 1, 1, 1 },
          { FINE, HIGHER, HIGHER, FINE } },
};

TEST_EACH(judge, judged)
{
        LeastSquares found = { .columns = c->n };
        const char *faults[LEAST_SQUARES_MAX];

        for (int k = 0; k < found.columns; k++) {
                found.value[k] = c->value[k] < 0 ? 0 : c->value[k];
                found.negative[k] = c->value[k] < 0 ? c->value[k] : 0;
                found.error[k] = c->error[k];
        }
        least_squares_judge(&found, faults);
        for (int k = 0; k < found.columns; k++)
                ck_case(c->name, g_strcmp0(faults[k], c->faults[k]) == 0, "state %d: %s", k,
                        faults[k]);
}

UNIT("power-table")
