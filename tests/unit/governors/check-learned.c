/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The governors that learn: `learned` finds patterns that it can see, forgets them when they end,
 * and is careful under a latency limit; `weighted` learns which of its base's choices to trust.
 */
#include "base/setting-value.h"
#include "governors/governors.h"
#include "governors/replay.h"
#include "table.h"

#define US INT64_C(1000)

static StateTable client_table(void)
{
        static const char text[] = "POLL 0 0 4000 poll\nC1 2 2 1600\nC1E 10 20 1000\n"
                                   "C3 33 100 600\nC6 133 400 150\nC7s 166 500 80\n";
        g_autofree char *error = NULL;
        StateTable table;

        ck_assert_int_eq(state_table_parse(text, "client", &table, &error), 0);
        return table;
}

/* What the CPU does from the n-th period on: how long until the timer, and how long it sleeps. */
typedef struct Pattern {
        const char *name;
        int64_t (*sleep_ns)(int n);
        int64_t (*idle_ns)(int n);
        double least; /* share that must be right in the last quarter */
} Pattern;

static int64_t far_timer(int n)
{
        return 20000 * US;
}

static int64_t near_timer(int n)
{
        return 300 * US;
}

static int64_t short_always(int n)
{
        return 50 * US;
}

static int64_t long_always(int n)
{
        return 3000 * US;
}

static int64_t short_long(int n)
{
        return n % 2 ? 50 * US : 3000 * US;
}

static int64_t short_short_long(int n)
{
        return n % 3 == 2 ? 3000 * US : 50 * US;
}

static int64_t late_timer(int n)
{
        return 495 * US + (n % 3) * US;
}

static int64_t later_still(int n)
{
        return late_timer(n) + 15 * US;
}

static int64_t changes_half_way(int n)
{
        return n < 2000 ? 50 * US : 3000 * US;
}

static const Pattern patterns[] = {
        { "as the timer says", near_timer, near_timer, 0.99 },
        { "long before the timer", far_timer, short_always, 0.99 },
        { "short and long in turn", far_timer, short_long, 0.97 },
        { "a long one after two short", far_timer, short_short_long, 0.97 },
        { "timers are late, across a residency", late_timer, later_still, 0.97 },
        { "another load", far_timer, changes_half_way, 0.97 },
        { "timers that another CPU cancels", near_timer, long_always, 0.97 },
};

enum { PERIODS = 4000 };

static void make_records(const Pattern *pattern, Record *records, int64_t limit_ns)
{
        uint64_t now = 1000000000;

        for (int i = 0; i < PERIODS; i++) {
                records[i] = (Record){ .enter_ns = now,
                                       .sleep_ns = pattern->sleep_ns(i),
                                       .idle_ns = pattern->idle_ns(i),
                                       .limit_ns = limit_ns,
                                       .resched = true };
                now += (uint64_t)records[i].idle_ns + 30000;
        }
}

static void run_learned(const StateTable *table, const Record *records, int8_t *ret_states)
{
        Replay *replay = replay_new(&governor_learned, NULL, table);

        replay_run(replay, records, PERIODS, ret_states);
        replay_free(replay);
}

static double right_at_the_end(const StateTable *table, const Record *records, const int8_t *states)
{
        int right = 0;

        for (int i = PERIODS * 3 / 4; i < PERIODS; i++)
                right += states[i] ==
                         state_table_ideal(table, records[i].idle_ns, records[i].limit_ns);
        return right / (PERIODS / 4.0);
}

TEST_EACH(finds_patterns, patterns)
{
        const Pattern *pattern = &patterns[_i];
        StateTable table = client_table();
        Record records[PERIODS];
        int8_t states[PERIODS], blind[PERIODS];
        double right;

        make_records(pattern, records, NO_LATENCY_LIMIT);
        run_learned(&table, records, states);
        right = right_at_the_end(&table, records, states);
        ck_case(pattern->name, right >= pattern->least, "%.3f right, expected %.3f", right,
                pattern->least);

        /* Powers are for the score only: without them it decides the same. */
        for (int i = 0; i < table.n; i++)
                table.states[i].power_mw = NAN;
        state_table_price(&table);
        run_learned(&table, records, blind);
        ck_case(pattern->name, memcmp(states, blind, sizeof(states)) == 0, "powers matter");
}

/* Half of the sleeps are too short for C6: without a limit it is taken nevertheless, as the mean is
 * long enough. The closer C6 comes to a limit the rarer it is. */
TEST(careful_under_a_limit)
{
        static const int64_t limits_us[] = { 2000000000, 1000, 140 };
        Pattern coin = { "coin", far_timer, short_always, 0 };
        StateTable table = client_table();
        Record records[PERIODS];
        int8_t states[PERIODS];
        int deep[3] = { 0 };

        for (int l = 0; l < 3; l++) {
                g_autoptr(GRand) rand = g_rand_new_with_seed(7);

                make_records(&coin, records, limits_us[l] * US);
                for (int i = 0; i < PERIODS; i++)
                        records[i].idle_ns = g_rand_boolean(rand) ? 200 * US : 900 * US;
                run_learned(&table, records, states);
                for (int i = 0; i < PERIODS; i++) {
                        ck_assert_int_le(table.states[states[i]].latency_ns, limits_us[l] * US);
                        deep[l] += states[i] >= 4;
                }
        }
        ck_assert_int_gt(deep[0], PERIODS / 2);
        ck_assert_int_le(deep[1], deep[0]);
        ck_assert_int_lt(deep[2], deep[1]);
}

/* Four of five sleeps are for C3, but so much energy is lost in the long ones that the deepest
 * state always would be best: being right must not cost more than that by much. */
TEST(being_right_has_a_price)
{
        Pattern coin = { "coin", far_timer, short_always, 0 };
        g_autoptr(GRand) rand = g_rand_new_with_seed(7);
        StateTable table = client_table();
        Replay *replay = replay_new(&governor_learned, NULL, &table);
        double deepest = 0;
        Record records[PERIODS];

        make_records(&coin, records, NO_LATENCY_LIMIT);
        for (int i = 0; i < PERIODS; i++) {
                records[i].idle_ns = g_rand_int_range(rand, 0, 5) ? 300 * US : 3000 * US;
                deepest += table.states[5].power_mw * (double)records[i].idle_ns +
                           table.states[5].entry_mw_ns;
        }
        replay_run(replay, records, PERIODS, NULL);
        ck_assert_double_lt(replay_score(replay)->energy, 1.1 * deepest);
        replay_free(replay);
}

/* A limit that no state keeps to leaves the shallowest one that is enabled. */
TEST(nothing_within_the_limit)
{
        StateTable table = client_table();
        Record records[PERIODS];
        int8_t states[PERIODS];

        table.states[0].off = true;
        make_records(&patterns[0], records, 1 * US);
        run_learned(&table, records, states);
        for (int i = 0; i < PERIODS; i++)
                ck_assert_int_eq(states[i], 1);
}

/* Runs `weighted` with its options "KEY=VALUE", NULL at the end. */
static void run_weighted(const char *const *pairs, const StateTable *table, const Record *records,
                         int8_t *ret_states)
{
        const Governor *governor = &governor_weighted;
        g_autofree char *error = NULL;
        void *options = NULL;
        Replay *replay;

        settings_new(governor->settings, governor->options_size, &options, &error);
        for (; *pairs; pairs++) {
                g_auto(GStrv) pair = g_strsplit(*pairs, "=", 2);

                for (const Setting *row = governor->settings; row->key; row++)
                        if (g_str_equal(row->key, pair[0]))
                                ck_assert_int_eq(setting_parse(row, pair[1], options, &error), 0);
        }
        replay = replay_new(governor, options, table);
        replay_run(replay, records, PERIODS, ret_states);
        replay_free(replay);
        settings_free(governor->settings, options);
}

/* Each second the limit comes closer to the state that fits, C1E, and stays there. */
TEST(history_limits_its_base)
{
        const Governor *governor = &governor_history;
        StateTable table = client_table();
        g_autofree char *error = NULL;
        void *options = NULL;
        Record records[PERIODS];
        int8_t states[PERIODS];
        Replay *replay;

        settings_new(governor->settings, governor->options_size, &options, &error);
        ck_assert_int_eq(setting_parse(&governor->settings[0], "timer-only", options, &error), 0);
        for (int i = 0; i < PERIODS; i++)
                records[i] = (Record){ .enter_ns = (uint64_t)i * 20000000,
                                       .sleep_ns = 20000000,
                                       .idle_ns = 50 * US,
                                       .limit_ns = NO_LATENCY_LIMIT };
        replay = replay_new(governor, options, &table);
        replay_run(replay, records, PERIODS, states);
        for (int i = 0; i < 50; i++)
                ck_assert_int_eq(states[i], 5);
        for (int i = PERIODS * 3 / 4; i < PERIODS; i++)
                ck_assert_int_eq(states[i], 2);
        replay_free(replay);
        settings_free(governor->settings, options);
}

/* timer-only is wrong here always and in the same way: the weights come to know better. */
TEST_RANGE(weighted_corrects_its_base, 0, 4)
{
        static const struct {
                const char *name;
                const char *options[5];
                double least, most;
        } cases[] = {
                { "by weight", { "base=timer-only" }, 0.99, 1 },
                { "by fourth power", { "base=timer-only", "draw=fourth" }, 0.99, 1 },
                { "nothing learned", { "base=timer-only", "rate=0%" }, 0.02, 0.1 },
                { "all forgotten", { "base=timer-only", "ageing=100%" }, 0.02, 0.1 },
        };
        Pattern wrong = { "wrong", far_timer, short_always, 0 };
        StateTable table = client_table();
        Record records[PERIODS];
        int8_t states[PERIODS];
        double right;

        make_records(&wrong, records, NO_LATENCY_LIMIT);
        run_weighted(cases[_i].options, &table, records, states);
        right = right_at_the_end(&table, records, states);
        ck_case(cases[_i].name, right >= cases[_i].least && right <= cases[_i].most, "%.3f right",
                right);
}

/* Equal seeds draw the same, others do not. */
TEST(weighted_seeds)
{
        Pattern coin = { "coin", far_timer, short_long, 0 };
        StateTable table = client_table();
        Record records[PERIODS];
        int8_t one[PERIODS], again[PERIODS], two[PERIODS];

        make_records(&coin, records, NO_LATENCY_LIMIT);
        run_weighted((const char *const[]){ "seed=1", NULL }, &table, records, one);
        run_weighted((const char *const[]){ "seed=1", NULL }, &table, records, again);
        run_weighted((const char *const[]){ "seed=2", NULL }, &table, records, two);
        ck_assert_mem_eq(one, again, sizeof(one));
        ck_assert_mem_ne(one, two, sizeof(one));
}

TEST_RANGE(weighted_refuses_bases, 0, 9)
{
        static const struct {
                const char *base;
                bool fine;
        } cases[] = { { "teo-6.1", true },  { "menu-6.12", true }, { "timer-only", true },
                      { "learned", false }, { "weighted", false }, { "fixed:2", false },
                      { "fixed", false },   { "teo", false },      { "", false } };
        const Governor *governor = &governor_weighted;
        StateTable table = client_table();
        g_autofree char *error = NULL;
        const char *wrong;
        void *options = NULL;

        settings_new(governor->settings, governor->options_size, &options, &error);
        ck_assert_int_eq(setting_parse(&governor->settings[0], cases[_i].base, options, &error), 0);
        wrong = governor->check(options, &table);
        ck_case(cases[_i].base, (wrong == NULL) == cases[_i].fine, "wrong");
        ck_assert(!wrong || g_str_has_prefix(wrong, "base "));
        settings_free(governor->settings, options);
}

UNIT("learned")
