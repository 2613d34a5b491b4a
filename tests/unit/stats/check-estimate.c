/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The estimator: what it makes of given blocks, and whether its intervals and verdicts are true of
 * simulated loads of which the saving is known.
 */
#include "stats/simulate.h"
#include "stats/student.h"
#include "table.h"

#define RUNS        200
#define DAEMON_RUNS 60

static Estimator *some(unsigned pairs, double off, double on, double noise)
{
        Estimator *e = g_new0(Estimator, 1);
        uint64_t state = 4711;

        *e = (Estimator){ 0 };
        for (unsigned i = 0; i < pairs; i++)
                for (int arm = 0; arm < 2; arm++) {
                        double chance = (double)(random_next(&state) >> 11) * 0x1p-53 - 0.5;
                        Block block = { arm, 10, 10 * ((arm ? on : off) + noise * chance), 5, 0.1 };

                        estimator_add(e, &block, i);
                }
        return e;
}

TEST(says_what_is_saved)
{
        g_autofree Estimator *e = some(30, 40, 38, 1);
        Estimate found = estimate(e, &(EstimateQuery){ .work_error = INFINITY });

        ck_assert_uint_eq(found.n_pairs, 30);
        ck_assert_double_eq_tol(found.watts.value, 2, 0.2);
        ck_assert_double_eq_tol(found.off_watts, 40, 0.2);
        ck_assert_double_eq_tol(found.per_work.value, 0.05, 0.005);
        ck_assert_double_eq_tol(found.on_joules_per_work, 76, 0.5);
        ck_assert_double_eq_tol(found.delay.value, 0, 1e-9);
        ck_assert_int_eq(found.verdict, VERDICT_SAVES);
        ck_assert_double_eq(estimate_pairs_needed(&found, &found.watts, 10), 0);
        ck_assert_double_eq_tol(estimate_pairs_needed(&found, &found.watts,
                                                      (found.watts.high - found.watts.low) / 4),
                                90, 1.1);
}

static const struct {
        const char *name;
        unsigned pairs;
        double off, on, noise;
        Verdict verdict;
} verdicts[] = {
        { "nothing", 0, 40, 30, 1, VERDICT_UNKNOWN },
        { "one pair", 1, 40, 30, 1, VERDICT_UNKNOWN },
        { "three pairs", 3, 40, 30, 1, VERDICT_UNKNOWN },
        { "four pairs, far apart", 4, 40, 30, 1, VERDICT_SAVES },
        { "four pairs, that cost", 4, 30, 40, 1, VERDICT_COSTS },
        { "four pairs in the noise", 4, 40, 39.5, 4, VERDICT_UNKNOWN },
        { "no difference", 200, 40, 40, 4, VERDICT_UNKNOWN },
        { "no difference, no noise", 20, 40, 40, 0, VERDICT_UNKNOWN },
        { "no noise", 20, 40, 39, 0, VERDICT_SAVES },
        { "little, and long enough", 200, 40, 39.5, 1, VERDICT_SAVES },
};

TEST_EACH(has_a_verdict, verdicts)
{
        g_autofree Estimator *e = some(c->pairs, c->off, c->on, c->noise);
        Estimate found = estimate(e, &(EstimateQuery){ .work_error = INFINITY });

        ck_case(c->name, found.verdict == c->verdict, "odds %g", found.odds);
        ck_case(c->name, isnan(found.watts.low) == (c->pairs < 2), "low %g", found.watts.low);
        ck_case(c->name, isnan(found.watts.value) == (c->pairs < 2), "value %g without an interval",
                found.watts.value);
}

TEST(equalises_work)
{
        g_autofree Estimator *e = g_new0(Estimator, 1);
        EstimateQuery query = { .work_error = 0 };
        Estimate found;

        /* 30 W for each busy CPU, and 1 W less when on, which had more to do. */
        for (unsigned i = 0; i < 20; i++)
                for (int arm = 0; arm < 2; arm++) {
                        double work = 0.2 + 0.1 * (i % 5) + 0.05 * arm + 1e-12 * (arm * i % 3);

                        estimator_add(e, &(Block){ arm, 1, 20 + 30 * work - arm, work, 0 }, i);
                }
        found = estimate(e, &query);
        /* The difference in work is always the same, but for rounding: no slope. */
        ck_assert(!found.equal_work);
        for (unsigned i = 20; i < 60; i++)
                for (int arm = 0; arm < 2; arm++) {
                        double work = 0.2 + 0.1 * ((i * (3 + (unsigned)arm)) % 7);

                        estimator_add(e, &(Block){ arm, 1, 20 + 30 * work - arm, work, 0 }, i);
                }
        found = estimate(e, &query);
        ck_assert(found.equal_work);
        ck_assert_double_eq_tol(found.watts.value, 1, 1e-6);
        query.work_error = 0.01;
        found = estimate(e, &query);
        ck_assert_double_eq_tol(found.watts.value, 1, 1e-6);
        ck_assert_double_gt(found.watts.high - found.watts.low, 0.1);
}

/* Arms that do different work; each arm has noise in work, with which power changes by `slope`. */
static const struct {
        const char *name;
        double off_watts, off_work, on_watts, on_work, noise, slope, work_error;
        Verdict verdict;
} works[] = {
        { "half the work, more energy per work", 20, 2, 12, 1, 0, 0, 0.03, VERDICT_UNKNOWN },
        { "counted exactly", 20, 2, 12, 1, 0, 0, 0, VERDICT_UNKNOWN },
        { "with work that changes by itself", 20, 2, 12, 1, 0.2, 0, 0.03, VERDICT_UNKNOWN },
        { "and power with it", 20, 2, 12, 1, 0.2, 3, 0.03, VERDICT_UNKNOWN },
        { "less work, the same energy per work", 20, 2, 10, 1, 0, 0, 0.03, VERDICT_UNKNOWN },
        { "less work, less energy per work", 20, 2, 8, 1, 0, 0, 0.03, VERDICT_SAVES },
        { "less power for more work", 20, 1, 18, 1.2, 0, 0, 0.03, VERDICT_SAVES },
        { "paced", 20, 1, 18, 1, 0.1, 5, 0.03, VERDICT_SAVES },
        { "more power for more work", 12, 1, 20, 2, 0, 0, 0.03, VERDICT_UNKNOWN },
        { "more power than work explains", 12, 1, 30, 2, 0, 0, 0.03, VERDICT_COSTS },
        { "more power for less work", 12, 1, 14, 0.5, 0, 0, 0.03, VERDICT_COSTS },
        { "as little as clocks explain", 20, 1, 18, 0.98, 0, 0, 0.03, VERDICT_SAVES },
        { "half the switches", 20, 2, 16, 1, 0, 0, 0.5, VERDICT_SAVES },
        { "a quarter of the switches", 20, 2, 16, 0.5, 0, 0, 0.5, VERDICT_UNKNOWN },
        { "runs of a command", 20, 1, 18, 1, 0, 0, INFINITY, VERDICT_SAVES },
};

TEST_EACH(minds_different_work, works)
{
        g_autofree Estimator *e = g_new0(Estimator, 1);
        const double watts[2] = { c->off_watts, c->on_watts },
                     work[2] = { c->off_work, c->on_work };
        uint64_t state = 815;
        Estimate found;

        for (unsigned i = 0; i < 20; i++)
                for (int arm = 0; arm < 2; arm++) {
                        double chance = (double)(random_next(&state) >> 11) * 0x1p-53 - 0.5;
                        double other = (double)(random_next(&state) >> 11) * 0x1p-53 - 0.5;

                        estimator_add(
                                e,
                                &(Block){ arm, 1,
                                          watts[arm] + c->slope * c->noise * chance + 0.1 * other,
                                          work[arm] + c->noise * chance, 0 },
                                i);
                }
        found = estimate(e, &(EstimateQuery){ .work_error = c->work_error });
        ck_case(c->name, found.verdict == c->verdict, "%s, watts %g [%g, %g], per work %g",
                verdict_text(found.verdict), found.watts.value, found.watts.low, found.watts.high,
                found.per_work.value);
        /* idlelab prove says "saves" by the interval alone. */
        ck_case(c->name, (found.watts.low > 0) == (c->verdict == VERDICT_SAVES), "low %g",
                found.watts.low);
        ck_case(c->name, (found.watts.high < 0) == (c->verdict == VERDICT_COSTS), "high %g",
                found.watts.high);
}

/* Pairs of which every tenth has an off block that draws `burst` times as much; power changes with
 * work by `slope`, and work by so much between blocks, and from off to on. */
static const struct {
        const char *name;
        double saved, burst, slope, noise, on_work, work_error;
        bool equal_work;
} ones[] = {
        { "the same load", 2, 1, 0, 0, 1, 0.03, false },
        { "bursts in one arm", 2, 10, 0, 0, 1, 0.03, false },
        { "work that explains power", 2, 1, 20, 0.8, 1, 0.03, true },
        { "counted exactly", 2, 1, 20, 0.8, 1, 0, true },
        { "and bursts", 2, 10, 20, 0.8, 1, 0, false },
        { "costs", -2, 1, 20, 0.8, 1, 0.03, true },
        { "half of the work", 2, 1, 0, 0.05, 0.5, 0.03, false },
        { "hardly any work", 0.1, 1, 0, 1.999, 1, 0.03, false },
        { "runs", 2, 10, 0, 0, 1, INFINITY, false },
};

/* Means, difference and share are of one estimate: each follows from the others. */
TEST_EACH(is_one_number, ones)
{
        unsigned numbers[] = { 1, 2, 5, 30 };

        for (size_t k = 0; k < G_N_ELEMENTS(numbers); k++) {
                g_autofree Estimator *e = g_new0(Estimator, 1);
                uint64_t state = 7;
                Estimate found;
                double off, share;

                for (unsigned i = 0; i < 2 * numbers[k]; i++) {
                        bool on = i % 2;
                        double chance = (double)(random_next(&state) >> 11) * 0x1p-53 - 0.5;
                        double watts = 20 + c->slope * c->noise * chance - on * c->saved;
                        double work = (1 + c->noise * chance) * (on ? c->on_work : 1);

                        watts *= !on && i % 20 == 8 ? c->burst : 1;
                        estimator_add(e, &(Block){ on, 10, 10 * watts, 10 * work, 0 }, i / 2);
                }
                found = estimate(e, &(EstimateQuery){ .work_error = c->work_error });
                off = numbers[k] == 1 ? found.on_watts + c->saved : found.off_watts;
                share = 1 - found.on_joules_per_work / found.off_joules_per_work;
                ck_case(c->name, numbers[k] < 30 || found.equal_work == c->equal_work,
                        "equal work");
                if (numbers[k] == 1 && c->noise == 0)
                        ck_case(c->name, fabs(off - found.off_watts) < 1e-9, "%g W", off);
                if (numbers[k] == 1)
                        continue;
                ck_case(c->name, fabs(found.off_watts - found.on_watts - found.watts.value) < 1e-9,
                        "%g and %g W, saved %g", found.off_watts, found.on_watts,
                        found.watts.value);
                ck_case(c->name, fabs(share - found.per_work.value) < 1e-9, "%g and %g J, %g",
                        found.off_joules_per_work, found.on_joules_per_work, found.per_work.value);
                ck_case(c->name,
                        found.work_change != 0 ||
                                fabs(share - found.watts.value / found.off_watts) < 1e-9,
                        "share %g, %g W", share, found.watts.value);
        }
}

/* Arms with equal loads in which tasks run for different times. Off: `off_cpus` CPUs run tasks, and
 * change to one `off_switches` times a second. `wait`: share of the time that some task waits, on.
 * `clock`: of the CPUs, on, as a share of that off. 2 W less are drawn in all cases. */
static const struct {
        const char *name;
        double off_cpus, off_switches, on_cpus, on_switches, wait, clock;
        Verdict verdict;
} overheads[] = {
        { "fewer wake-ups from idle", 0.08, 220, 0.073, 225, 0.003, 1, VERDICT_SAVES },
        { "the same, off", 0.073, 225, 0.08, 220, 0.003, 1, VERDICT_SAVES },
        { "many of them", 0.5, 8000, 0.46, 8000, 0.01, 1, VERDICT_SAVES },
        { "fewer requests in as many wake-ups", 0.5, 8000, 0.4, 8000, 0.01, 1, VERDICT_UNKNOWN },
        { "fewer requests, faster clock", 0.8, 2000, 0.544, 1700, 0.02, 1.25, VERDICT_UNKNOWN },
        { "fewer long requests among short ones", 0.36, 8100, 0.26, 8050, 0.02, 1,
          VERDICT_UNKNOWN },
        { "switches not known", 0.08, 0, 0.073, 0, 0.003, 1, VERDICT_UNKNOWN },
        { "fewer requests, short ones", 0.5, 8000, 0.4, 6400, 0.01, 1, VERDICT_UNKNOWN },
        { "shorter requests, as many", 3, 1000, 2.4, 1000, 0.01, 1, VERDICT_UNKNOWN },
        { "overload with both", 4, 1500, 1, 375, 1, 1, VERDICT_UNKNOWN },
        { "overload, short requests", 4, 80000, 1, 20000, 1, 1, VERDICT_UNKNOWN },
        { "overload, tasks that are interrupted", 4, 80000, 1, 80000, 1, 1, VERDICT_UNKNOWN },
        { "tasks that wait", 0.5, 8000, 0.4, 8000, 0.5, 1, VERDICT_UNKNOWN },
        { "a slower clock and tasks that always run", 1, 8000, 1, 8000, 0, 0.8, VERDICT_UNKNOWN },
};

TEST_EACH(knows_overhead, overheads)
{
        g_autofree Estimator *e = g_new0(Estimator, 1);
        const double cpus[2] = { c->off_cpus, c->on_cpus },
                     switches[2] = { c->off_switches, c->on_switches };
        const double clocks[2] = { 1, c->clock }, waits[2] = { c->wait, c->wait };
        uint64_t state = 4711;
        Estimate found;

        for (unsigned i = 0; i < 40; i++)
                for (int arm = 0; arm < 2; arm++) {
                        double load = 0.9 + 0.2 * (double)(random_next(&state) >> 11) * 0x1p-53;
                        double cpu_seconds = cpus[arm] * load * 10;

                        estimator_add(e,
                                      &(Block){ .on = arm,
                                                .seconds = 10,
                                                .joules = (30 + 10 * load - 2 * arm) * 10,
                                                .work = cpu_seconds * clocks[arm],
                                                .delay = waits[arm] * 10,
                                                .cpu_seconds = cpu_seconds,
                                                .switches = switches[arm] * load * 10 },
                                      i);
                }
        found = estimate(e, &(EstimateQuery){ .work_error = 0.03 });
        ck_case(c->name, found.verdict == c->verdict, "%s, watts %g [%g, %g], overhead %g us",
                verdict_text(found.verdict), found.watts.value, found.watts.low, found.watts.high,
                found.overhead * 1e6);
        ck_case(c->name, found.overhead != 0 || c->verdict != VERDICT_SAVES, "no overhead");
}

TEST(drops_blocks)
{
        g_autofree Estimator *e = g_new0(Estimator, 1);
        const Block off = { false, 10, 100, 1, 0 }, on = { true, 10, 90, 1, 0 };
        const Block wrong[] = { { true, 0, 90, 1, 0 },
                                { true, 10, -1, 1, 0 },
                                { true, 10, NAN, 1, 0 },
                                { true, 10, 90, INFINITY, 0 } };

        estimator_add(e, &off, 0);
        estimator_drop(e, DROP_SLEEP);
        ck_assert_uint_eq(e->dropped[DROP_SLEEP], 1);
        ck_assert_uint_eq(e->dropped[DROP_UNPAIRED], 1);
        estimator_add(e, &off, 1);
        estimator_add(e, &on, 2); /* not its partner */
        ck_assert_uint_eq(e->dropped[DROP_UNPAIRED], 2);
        ck_assert_uint_eq(e->n_pairs, 0);
        estimator_add(e, &off, 2);
        ck_assert_uint_eq(e->n_pairs, 1);
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
                estimator_add(e, &wrong[i], 3);
        ck_assert_uint_eq(e->dropped[DROP_ENERGY], 4);
        ck_assert_uint_eq(estimator_dropped(e), 7);
        for (int i = 0; i < BLOCK_DROPS; i++)
                ck_assert_ptr_nonnull(block_drop_text(i));
}

TEST(knows_like_from_unlike)
{
        g_autofree Estimator *e = g_new0(Estimator, 1);
        EstimateQuery query = { .work_error = INFINITY, .near_work = 0.1 };

        for (unsigned i = 0; i < 40; i++) {
                double work = i % 2 ? 0.1 : 2, saved = i % 2 ? 3 : -3, seconds = 1 + i / 100.0;

                estimator_add(e, &(Block){ false, seconds, 40 * seconds, work * seconds, 0 }, i);
                estimator_add(e, &(Block){ true, 1, 40 - saved, work, 0 }, i);
        }
        ck_assert_int_eq(estimate(e, &query).verdict, VERDICT_SAVES);
        ck_assert_uint_eq(estimate(e, &query).n_pairs, 20);
        query.newest = 5;
        ck_assert_uint_eq(estimate(e, &query).n_pairs, 5);
        query = (EstimateQuery){ .work_error = INFINITY, .near_work = 2 };
        ck_assert_int_eq(estimate(e, &query).verdict, VERDICT_COSTS);
        query.near_work = 50;
        ck_assert_uint_eq(estimate(e, &query).n_pairs, 0);
}

static const struct {
        double df, t;
} quantiles[] = {
        { 0.3, 12.706 }, { 1, 12.706 }, { 2, 4.303 },  { 3.9, 3.182 }, { 4, 2.776 },
        { 5, 2.571 },    { 10, 2.228 }, { 30, 2.042 }, { 120, 1.980 }, { NAN, 12.706 },
};

TEST_EACH(quantile, quantiles)
{
        ck_assert_double_eq_tol(student_quantile(c->df), c->t, 0.0006);
}

TEST(survives_a_restart)
{
        const unsigned numbers[] = { 0, 1, 7, ESTIMATE_PAIRS, ESTIMATE_PAIRS + 77 };

        for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
                g_autofree Estimator *e = some(numbers[i], 40, 38, 3),
                                     *again = g_new0(Estimator, 1);
                g_autofree char *text = NULL, *text_again = NULL;
                Estimate before = estimate(e, &(EstimateQuery){ 0 }), after;

                estimator_add(e, &(Block){ true, 10, 90, 1, 0 }, 9999);
                e->dropped[DROP_HOLD] = 3;
                text = estimator_format(e);
                ck_assert_int_eq(estimator_parse(text, again), 0);
                after = estimate(again, &(EstimateQuery){ 0 });
                ck_assert_uint_eq(again->n_pairs, numbers[i]);
                ck_assert_uint_eq(again->dropped[DROP_HOLD], 3);
                ck_assert_uint_eq(again->dropped[DROP_UNPAIRED], 1);
                ck_assert(before.watts.value == after.watts.value || numbers[i] < 2);
                ck_assert(before.watts.low == after.watts.low || numbers[i] < 2);
                text_again = estimator_format(again);
                ck_assert_str_eq(text_again, text);
        }
}

/* Any text that is cut, or of which a line is changed, is refused and changes nothing. */
TEST(refuses_damage)
{
        g_autofree Estimator *e = some(5, 40, 38, 3), *kept = g_memdup2(e, sizeof(*e));
        g_autofree char *text = estimator_format(e);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        static const char *const others[] = { "",
                                              "idled-estimator 1",
                                              "pairs 1 2",
                                              "dropped 1",
                                              "pair 1 2 3",
                                              "pair 1 2 3 4 5 6 7 8 9 10 11 12 13 nan",
                                              "pair 0 2 3 4 5 6 7 8 9 10 11 12 13 14",
                                              "pair 1 2 3 4 5 6 7 8 9 10 11 12 13 14 ",
                                              "pairs -1 2",
                                              "end" };

        for (size_t n = 0; n < strlen(text); n++) {
                g_autofree char *cut = g_strndup(text, n);

                ck_assert_int_eq(estimator_parse(cut, e), -EBADMSG);
        }
        for (guint i = 0; i + 2 < g_strv_length(lines); i++)
                for (size_t j = 0; j < G_N_ELEMENTS(others); j++) {
                        g_autofree char *whole = NULL, *line = lines[i];

                        lines[i] = (char *)others[j];
                        whole = g_strjoinv("\n", lines);
                        lines[i] = g_steal_pointer(&line);
                        ck_assert_msg(estimator_parse(whole, e) == -EBADMSG, "line %u: %s", i,
                                      others[j]);
                }
        ck_assert_mem_eq(e, kept, sizeof(*e));
}

/* For every load, over all savings: the interval contains the truth in at least 93 % of the runs.
 * The verdict is "saves" at 5 %, and almost never at 0 % or less. */
TEST_RANGE(is_true, 0, SIM_LOADS)
{
        const double shares[] = { -0.05, 0, 0.02, 0.05 };
        SimLoad load = (SimLoad)_i;
        unsigned covered = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
                SimResult r = sim_many(load, shares[i], 0.03, sim_prove, 1782, RUNS);

                covered += r.covered;
                if (shares[i] < 0)
                        ck_case(sim_names[load], r.ever_saves == 0, "%u save", r.ever_saves);
                if (shares[i] == 0)
                        ck_case(sim_names[load], r.ever_saves <= RUNS / 40, "%u save",
                                r.ever_saves);
                if (shares[i] == 0.05)
                        ck_case(sim_names[load], r.saves == RUNS, "%u of %u save", r.saves, RUNS);
        }
        ck_case(sim_names[load], covered >= 0.93 * G_N_ELEMENTS(shares) * RUNS, "%u of %zu",
                covered, G_N_ELEMENTS(shares) * RUNS);
}

/* Four times as many pairs, half the width. */
TEST(narrows)
{
        SimResult few = sim_many(SIM_NOISE, 0.05, INFINITY, sim_prove, 40 * 22, RUNS);
        SimResult many = sim_many(SIM_NOISE, 0.05, INFINITY, sim_prove, 160 * 22, RUNS);

        ck_assert_double_eq_tol(few.half_width / many.half_width, 2, 0.2);
}

/* As the daemon measures, in half an hour of every load: what was saved is in its interval in 93 %
 * of the runs or more; where 5 % are saved there is a verdict in that time, where nothing or less
 * is it is almost never "saves". */
TEST_RANGE(knows_joules, 0, SIM_LOADS)
{
        const double shares[] = { -0.05, 0, 0.02, 0.05 };
        SimLoad load = (SimLoad)_i;
        unsigned covered = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
                SimDaemon r = sim_daemons(load, shares[i], 1800, DAEMON_RUNS);

                covered += r.covered;
                if (shares[i] <= 0)
                        ck_case(sim_names[load], r.saves <= (shares[i] < 0 ? 0 : DAEMON_RUNS / 20),
                                "%u save", r.saves);
                if (shares[i] == 0.05)
                        ck_case(sim_names[load], r.verdict_sec <= 1800 && r.costs == 0,
                                "first verdict after %.0f s, %u cost", r.verdict_sec, r.costs);
        }
        ck_case(sim_names[load], covered >= 0.93 * G_N_ELEMENTS(shares) * DAEMON_RUNS, "%u of %zu",
                covered, G_N_ELEMENTS(shares) * DAEMON_RUNS);
}

UNIT("estimate", .timeout = 300)
