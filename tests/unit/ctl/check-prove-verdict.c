/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What idlelab prove makes of its blocks: whether policies had an effect, the verdict, how long one
 * takes, and what people see of it. */
#include "lab/verbs/prove.h"
#include "model/random.h"
#include "table.h"

/* What measures is not needed here. */
ArmsAsked arms_asked = { .kind = ARMS_POLICY };

const char *arms_kind_text(ArmsKind kind)
{
        return "policy";
}

const char *arms_label(const Arms *arms, int arm)
{
        return arm ? "x active" : "x ignored";
}

EnergySource meter_source(const Meter *meter)
{
        return ENERGY_SOURCE_RAPL;
}

/* A block that counts: its pair, arm, what is in effect at its end ('-': not known), and whether
 * CPUs were parked or unparked in it. */
typedef struct Noted {
        uint64_t pair;
        bool on;
        char state;
        bool changed;
} Noted;

static const struct {
        const char *name;
        int n;
        unsigned blocks, without;
        Noted noted[8];
} effects[] = {
        { "none yet", 0, 0, 0 },
        { "half a pair", 1, 0, 0, .noted = { { 0, true, 'a', true } } },
        { "an effect", 2, 1, 0, .noted = { { 0, true, 'b' }, { 0, false, 'a' } } },
        { "none", 2, 1, 1, .noted = { { 0, true, 'a' }, { 0, false, 'a' } } },
        { "one within the block", 2, 1, 0, .noted = { { 0, true, 'a', true }, { 0, false, 'a' } } },
        { "one within the other block", 2, 1, 1,
          .noted = { { 0, true, 'a' }, { 0, false, 'a', true } } },
        { "in one pair of two", 4, 2, 1,
          .noted = { { 0, true, 'b' }, { 0, false, 'a' }, { 1, false, 'a' }, { 1, true, 'a' } } },
        { "a second block without its first", 3, 1, 0,
          .noted = { { 0, true, 'b', true }, { 0, false, 'a' }, { 1, true, 'a' } } },
        { "and the pair after it", 5, 2, 0,
          .noted = { { 0, true, 'b', true },
                     { 0, false, 'a' },
                     { 1, true, 'a' },
                     { 2, false, 'a' },
                     { 2, true, 'b' } } },
        { "a change in a block without its partner", 3, 1, 1,
          .noted = { { 0, true, 'b', true }, { 1, false, 'a' }, { 1, true, 'a' } } },
        { "nothing is known", 3, 0, 0,
          .noted = { { 0, true, '-' }, { 0, false, 'a' }, { 1, false, '-' } } },
};

TEST_EACH(notes_effect, effects)
{
        ProveEffect effect = { 0 };

        for (int i = 0; i < c->n; i++) {
                const Noted *noted = &c->noted[i];
                const ScheduleSlot slot = { .on = noted->on, .pair = noted->pair };

                prove_note_effect(&effect, &slot,
                                  noted->state == '-' ? NULL : g_strndup(&noted->state, 1),
                                  noted->changed);
        }
        ck_case(c->name, effect.blocks == c->blocks && effect.without == c->without,
                "%u of %u without effect", effect.without, effect.blocks);
        g_free(effect.states[0]);
        g_free(effect.states[1]);
}

/* Pairs that save so many watts, but the first `n_idle` of them, with noise to either side. */
static Estimator *measured(unsigned n, unsigned n_idle, double saved, double noise)
{
        Estimator *e = g_new0(Estimator, 1);
        uint64_t state = 42;

        for (unsigned i = 0; i < n; i++)
                for (int arm = 0; arm < 2; arm++) {
                        double chance = (double)(random_next(&state) >> 11) * 0x1p-52 - 1;
                        double watts = 20 - (arm && i >= n_idle ? saved : 0) + noise * chance;

                        estimator_add(e, &(Block){ arm, 10, 10 * watts, 5, 0 }, i);
                }
        return e;
}

static const struct {
        const char *name;
        unsigned pairs;
        unsigned idle; /* without effect */
        double saved, noise;
        Verdict verdict;
        bool open;         /* more time may bring a verdict */
        const char *shown; /* parts of the text */
        const char *unseen;
} cases[] = {
        { "nothing measured", 0, 0, 0, 1, VERDICT_UNKNOWN, false, "too few", "W (" },
        { "three pairs", 3, 0, 1, 0.01, VERDICT_UNKNOWN, false, "No answer yet|too few", "odds" },
        { "clear", 10, 0, 1, 0.1, VERDICT_SAVES, false, "\nShown:|x active saves 0.9", "odds" },
        { "clearly costs", 10, 0, -1, 0.1, VERDICT_COSTS, false,
          "The opposite is shown|x active costs 1.", "odds" },
        { "noise", 10, 0, 0, 1, VERDICT_UNKNOWN, false,
          "No answer yet: between -0.322 and +1.19 W; at this noise +-0.2 W takes about ",
          "x active saves" },
        { "neither noise nor change", 10, 0, 0, 0, VERDICT_UNKNOWN, false,
          "No answer yet: between +0.000 and +0.000 W", "noise" },
        { "an interval without 0, but poor odds", 6, 0, 1, 0.6, VERDICT_UNKNOWN, true,
          "No answer yet: between -|chance|to 1, expected at least 40 to 1|takes about ",
          "x active saves" },
        { "poor odds that it costs", 6, 0, -1, 0.6, VERDICT_UNKNOWN, true,
          "No answer yet: between +|chance|to 1, expected at least 40 to 1|takes about ",
          "x active costs" },
        { "without effect in all blocks", 10, 10, 1, 0.1, VERDICT_UNKNOWN, false,
          "no effect in 10 of 10 blocks|Not shown: x ignored and x active did the same", "odds" },
        { "without effect, and a saving by chance", 6, 6, 1, 0.6, VERDICT_UNKNOWN, false,
          "no effect in 6 of 6 blocks|Not shown: x ignored and x active did the same", "odds" },
        { "in one of ten", 10, 1, 1, 0.1, VERDICT_SAVES, false,
          "no effect in 1 of 10 blocks|\nShown: x active saves 0.9", "odds" },
        { "in nine of ten", 10, 9, 1, 0.1, VERDICT_UNKNOWN, false,
          "no effect in 9 of 10 blocks|No answer yet: between", "did the same" },
};

static char *seen(const Prove *prove, json_object *answer)
{
        FILE *usual = stdout;
        char *text = NULL;
        size_t size;

        stdout = open_memstream(&text, &size);
        prove_show(prove->ctl, answer);
        fclose(stdout);
        stdout = usual;
        return text;
}

/* A policy that does nothing in some pairs is judged by all of them, because that is what it saves
 * under this load; one that never does anything is not judged. */
TEST_EACH(has_a_verdict, cases)
{
        g_autofree Estimator *e = measured(c->pairs, c->idle, c->saved, c->noise);
        g_autofree Estimator *nothing = g_new0(Estimator, 1);
        const ProveAsked asked = { 0 };
        Ctl ctl = { 0 };
        const Prove prove = { .ctl = &ctl,
                              .asked = &asked,
                              .unit = WORK_BUSY,
                              .schedule = { .block_usec = 8000000, .washout_usec = 2000000 },
                              .results = { e,
                                           { e, nothing, nothing, nothing, nothing },
                                           .effect = { .blocks = c->pairs, .without = c->idle } } };
        g_autoptr(json_object) answer = prove_answer(&prove);
        g_autofree char *text = seen(&prove, answer);
        double seconds = json_number(answer, "verdict_after_seconds", -1);

        ck_case(c->name, g_str_equal(json_text(answer, "verdict"), verdict_text(c->verdict)),
                "%s, odds %g", json_text(answer, "verdict"), json_number(answer, "odds", NAN));
        ck_case(c->name, json_true(answer, "claim_holds") == (c->verdict == VERDICT_SAVES),
                "holds");
        ck_case(c->name, c->open ? seconds > c->pairs * 20.0 && seconds < 256 * 20 : seconds < 0,
                "%g s", seconds);
        ck_case(c->name, says(text, c->shown), "%s", text);
        ck_case(c->name, !says(text, c->unseen), "%s", text);
}

/* All pairs show a saving, and yet a policy without effect is not what saves. */
TEST(credits_no_idle_policy)
{
        g_autofree Estimator *e = measured(10, 0, 1, 0.1);
        Prove prove = { .results = { e, .effect = { .blocks = 10, .without = 10 } } };
        Estimate found = prove_estimate(&prove);

        ck_assert_int_eq(found.verdict, VERDICT_SAVES);
        ck_assert_int_eq(prove_verdict(&prove, &found), VERDICT_UNKNOWN);
        prove.results.effect.without = 9;
        ck_assert_int_eq(prove_verdict(&prove, &found), VERDICT_SAVES);
}

/* Pairs with unlike work: by how much it varies, and power with it. */
static const struct {
        const char *name;
        WorkUnit unit;
        double noise, slope, burst;
} ones[] = {
        { "an idle machine", WORK_BUSY, 1.9, 0, 1 },
        { "work that explains power", WORK_BUSY, 1, 20, 1 },
        { "instructions", WORK_INSTRUCTIONS, 1, 20, 1 },
        { "a burst in one block", WORK_BUSY, 0.1, 0, 8 },
        { "runs with a long one", WORK_RUNS, 0, 0, 8 },
};

static double unit_of(json_object *answer, const char *row, const char *key)
{
        return json_number(json_get(answer, row), key, NAN);
}

/* The table's columns, its percentage and that of the sentence are the same numbers. */
TEST_EACH(has_one_number, ones)
{
        g_autofree Estimator *e = g_new0(Estimator, 1), *none = g_new0(Estimator, 1);
        const ProveAsked asked = { 0 };
        Ctl ctl = { 0 };
        const Prove prove = { .ctl = &ctl,
                              .asked = &asked,
                              .unit = c->unit,
                              .schedule = { .block_usec = 3000000 },
                              .results = { e, { none, none, none, none, none } } };
        g_autoptr(json_object) answer = NULL;
        g_autofree char *text = NULL, *share = NULL;
        uint64_t state = 3;
        double change, percent;

        for (unsigned i = 0; i < 40; i++) {
                double chance = (double)(random_next(&state) >> 11) * 0x1p-53 - 0.5;
                double watts = (20 - (i % 2) + c->slope * chance) * (i == 6 ? c->burst : 1);

                estimator_add(e, &(Block){ i % 2, 1, watts, 1 + c->noise * chance, 0 }, i / 2);
        }
        answer = prove_answer(&prove);
        text = seen(&prove, answer);
        percent = unit_of(answer, "energy_per_work", "change_percent");
        if (c->unit != WORK_RUNS) {
                change = unit_of(answer, "power", "change_watts");
                ck_case(c->name,
                        fabs(unit_of(answer, "power", "second_watts") -
                             unit_of(answer, "power", "first_watts") - change) < 0.0016,
                        "%s", text);
                ck_case(c->name, fabs(change + json_number(answer, "saved_watts", NAN)) < 0.0006,
                        "%s", text);
                percent = unit_of(answer, "power", "change_percent");
        }
        ck_case(c->name,
                fabs(unit_of(answer, "energy_per_work", "second_joules") -
                     unit_of(answer, "energy_per_work", "first_joules") -
                     unit_of(answer, "energy_per_work", "change_joules")) < 0.00016,
                "%s", text);
        ck_case(c->name,
                percent == -json_number(answer, "saved_percent", NAN) &&
                        percent == unit_of(answer, "energy_per_work", "change_percent"),
                "%g %%: %s", percent, text);
        share = g_strdup_printf("%.1f %%", json_rounded(percent, 1));
        ck_case(c->name, says(text, share), "%s: %s", share, text);
}

/* The verdict of so many pairs, of which those after the first are the first again. */
static Verdict repeated(const Prove *prove, unsigned n_pairs)
{
        g_autofree Estimator *e = g_memdup2(prove->results.energy, sizeof(*e));
        unsigned n = (unsigned)e->n_pairs;

        for (unsigned i = n; i < n_pairs; i++)
                e->pairs[i] = e->pairs[i - n];
        e->n_pairs = n_pairs;
        return estimate(e, &(EstimateQuery){ .work_error = work_unit_error(prove->unit) }).verdict;
}

/* If the pairs so far repeat, the verdict comes after the time that it says, and no sooner. */
TEST(takes_as_long_as_it_says)
{
        unsigned n = 0, later[] = { 6, 8, 12 };

        for (size_t i = 0; i < G_N_ELEMENTS(later); i++)
                for (int noise = 3; noise < 30; noise++) {
                        g_autofree Estimator *e = measured(later[i], 0, 1, noise / 10.0);
                        Prove prove = { .results.energy = e,
                                        .unit = WORK_RUNS,
                                        .schedule = { .block_usec = 1000000 } };
                        Estimate found = prove_estimate(&prove);
                        double seconds = prove_verdict_seconds(&prove, &found);
                        unsigned pairs = (unsigned)(seconds / 2);

                        if (seconds < 0)
                                continue;
                        n++;
                        ck_assert_uint_gt(pairs, later[i]);
                        ck_assert_int_eq(repeated(&prove, pairs), VERDICT_SAVES);
                        ck_assert_int_eq(repeated(&prove, pairs - 1), VERDICT_UNKNOWN);
                }
        ck_assert_uint_gt(n, 5);
}

UNIT("prove")
