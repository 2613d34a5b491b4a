/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What holds for every governor, on random tables and periods: limits are kept, equal runs are
 * equal, CPUs do not disturb each other, and none needs less energy than the omniscient one.
 */
#include "base/setting-value.h"
#include "governors/governors.h"
#include "governors/replay.h"
#include "table.h"

#define SEEDS   40
#define PERIODS 2000

typedef struct World {
        StateTable table;
        Record records[PERIODS];
} World;

static int pick(GRand *rand, int n)
{
        return g_rand_int_range(rand, 0, n);
}

/* 1, 2, 10 or another number of states; exit latencies grow, and powers fall. */
static void make_table(GRand *rand, StateTable *table)
{
        static const int steps_us[] = { 1, 2, 10, 60, 300, 4000 };
        int64_t latency_us = pick(rand, 2), residency_us = pick(rand, 2);

        table->n = pick(rand, 2) ? 1 + pick(rand, 10) : (int[]){ 1, 2, 10 }[pick(rand, 3)];
        for (int i = 0; i < table->n; i++) {
                ReplayState *state = &table->states[i];

                *state = (ReplayState){ .latency_ns = latency_us * 1000,
                                        .residency_ns = residency_us * 1000,
                                        .power_mw = 1000.0 / (i + 1),
                                        .polling = i == 0 && pick(rand, 2),
                                        .off = pick(rand, 6) == 0 };
                latency_us += steps_us[pick(rand, 6)];
                residency_us += steps_us[pick(rand, 6)];
        }
        state_table_price(table);
}

static int64_t make_length(GRand *rand)
{
        int64_t unit = (int64_t[]){ 1000, 30000, 500000, 4000000, 90000000 }[pick(rand, 5)];

        return pick(rand, 12) == 0 ? 0 : (int64_t)(unit * g_rand_double(rand));
}

/* Time goes backwards now and then, and some timers are in the past. */
static void make_records(GRand *rand, Record *records, int n_cpus)
{
        uint64_t now = g_rand_int(rand);

        for (int i = 0; i < PERIODS; i++) {
                int64_t sleep_ns = pick(rand, 30) == 0 ? -5000 : make_length(rand);
                int64_t idle_ns = pick(rand, 2) ? MAX(sleep_ns, 0) : make_length(rand);

                records[i] = (Record){ .cpu = (uint16_t)pick(rand, n_cpus),
                                       .enter_ns = now,
                                       .sleep_ns = sleep_ns,
                                       .idle_ns = idle_ns,
                                       .limit_ns = pick(rand, 3) ? NO_LATENCY_LIMIT
                                                                 : 1000 * pick(rand, 400),
                                       .util = (uint16_t)pick(rand, 40),
                                       .iowait = (uint32_t)pick(rand, 3),
                                       .resched = pick(rand, 2),
                                       .got_tick = pick(rand, 5) == 0 };
                now += (uint64_t)idle_ns + (uint64_t)pick(rand, 100000);
                if (pick(rand, 50) == 0)
                        now -= MIN(now, 1000000000);
        }
}

static World *make_world(int seed)
{
        g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)seed);
        World *world = g_new0(World, 1);

        make_table(rand, &world->table);
        make_records(rand, world->records, 1 + pick(rand, 4));
        return world;
}

static void *new_options(const Governor *governor)
{
        g_autofree char *error = NULL;
        void *options = NULL;

        if (governor->settings)
                ck_assert_msg(settings_new(governor->settings, governor->options_size, &options,
                                           &error) == 0,
                              "%s: %s", governor->name, error);
        return options;
}

/* The states that the governor takes, and its score. */
static Score run(const Governor *governor, const StateTable *table, const Record *records, int n,
                 int8_t *ret_states)
{
        void *options = new_options(governor);
        Replay *replay = replay_new(governor, options, table);
        Score score;

        replay_run(replay, records, n, ret_states);
        score = *replay_score(replay);
        replay_free(replay);
        if (governor->settings)
                settings_free(governor->settings, options);
        return score;
}

/* What the kernel's own code gets wrong is ours too: ladder asks only when it climbs, and
 * utilization awareness does not know the limit where there are two states. */
static bool is_exempt(const Governor *governor, const StateTable *table)
{
        return governor == &governor_ladder || (governor == &governor_teo_util && table->n == 2);
}

TEST_RANGE(never_off_or_too_slow, 0, SEEDS)
{
        g_autofree World *world = make_world(_i);
        const StateTable *table = &world->table;
        int8_t states[PERIODS];

        for (int g = 0; governors[g]; g++) {
                run(governors[g], table, world->records, PERIODS, states);
                for (int i = 0; i < PERIODS; i++) {
                        int64_t limit_ns = world->records[i].limit_ns;
                        const ReplayState *state = &table->states[states[i]];
                        bool any = false;

                        ck_case(governors[g]->name, states[i] >= 0 && states[i] < table->n,
                                "period %d: state %d", i, states[i]);
                        for (int s = 0; s < table->n; s++)
                                any |= !table->states[s].off &&
                                       table->states[s].latency_ns <= limit_ns;
                        if (any && !is_exempt(governors[g], table))
                                ck_case(governors[g]->name,
                                        !state->off && state->latency_ns <= limit_ns,
                                        "period %d: state %d", i, states[i]);
                }
        }
}

TEST_RANGE(equal_runs_are_equal, 0, SEEDS / 4)
{
        g_autofree World *world = make_world(_i);
        int8_t once[PERIODS], again[PERIODS];

        for (int g = 0; governors[g]; g++) {
                Score a = run(governors[g], &world->table, world->records, PERIODS, once);
                Score b = run(governors[g], &world->table, world->records, PERIODS, again);

                ck_case(governors[g]->name, memcmp(once, again, sizeof(once)) == 0, "differs");
                ck_case(governors[g]->name, memcmp(&a, &b, sizeof(a)) == 0, "other score");
        }
}

/* Each CPU decides as if it were alone. */
TEST_RANGE(cpus_are_apart, 0, SEEDS / 4)
{
        g_autofree World *world = make_world(_i);
        int8_t together[PERIODS];

        for (int g = 0; governors[g]; g++) {
                run(governors[g], &world->table, world->records, PERIODS, together);
                for (int cpu = 0; cpu < 4; cpu++) {
                        g_autofree Record *own = g_new(Record, PERIODS);
                        int8_t alone[PERIODS];
                        int n = 0;

                        for (int i = 0; i < PERIODS; i++)
                                if (world->records[i].cpu == cpu)
                                        own[n++] = world->records[i];
                        run(governors[g], &world->table, own, n, alone);
                        for (int i = 0, k = 0; i < PERIODS; i++)
                                if (world->records[i].cpu == cpu)
                                        ck_case(governors[g]->name, alone[k++] == together[i],
                                                "CPU %d, period %d", cpu, i);
                }
        }
}

/* Without limits, which it keeps to and others may not. */
TEST_RANGE(omniscient_needs_least, 0, SEEDS)
{
        g_autofree World *world = make_world(_i);
        int8_t states[PERIODS];
        Score least;

        for (int i = 0; i < PERIODS; i++)
                world->records[i].limit_ns = NO_LATENCY_LIMIT;
        for (int i = 0; i < world->table.n; i++)
                world->table.states[i].off = false;
        least = run(&governor_omniscient, &world->table, world->records, PERIODS, states);
        ck_assert_uint_eq(least.correct, PERIODS);
        ck_assert_double_eq(least.energy, least.ideal_energy);
        for (int g = 0; governors[g]; g++) {
                Score score = run(governors[g], &world->table, world->records, PERIODS, states);

                ck_case(governors[g]->name, score.energy >= least.energy * (1 - 1e-12),
                        "%g, the least is %g", score.energy, least.energy);
                ck_assert_uint_eq(score.correct + score.deep + score.shallow, PERIODS);
        }
}

/* As many as the largest recorded machine has. */
TEST(many_cpus)
{
        g_autofree Record *records = g_new0(Record, 576 * 20);
        g_autofree int8_t *states = g_new(int8_t, 576 * 20);
        g_autofree World *world = make_world(3);

        for (int i = 0; i < 576 * 20; i++)
                records[i] = (Record){ .cpu = (uint16_t)(i % 576),
                                       .enter_ns = (uint64_t)i * 1000,
                                       .sleep_ns = 1000000,
                                       .idle_ns = i / 576 * 50000,
                                       .limit_ns = NO_LATENCY_LIMIT,
                                       .resched = true };
        for (int g = 0; governors[g]; g++) {
                run(governors[g], &world->table, records, 576 * 20, states);
                for (int i = 0; i < 576 * 20; i++)
                        ck_case(governors[g]->name,
                                g_str_equal(governors[g]->name, "weighted") ||
                                        states[i] == states[i / 576 * 576],
                                "record %d of CPU %d", i, i % 576);
        }
}

TEST(unknown_power_unknown_energy)
{
        g_autofree World *world = make_world(1);
        int8_t states[PERIODS];
        Score score;

        world->table.states[0].power_mw = NAN;
        state_table_price(&world->table);
        score = run(&governor_omniscient, &world->table, world->records, PERIODS, states);
        ck_assert(isnan(score.energy) && isnan(score.ideal_energy));
}

TEST(found_by_name)
{
        for (int g = 0; governors[g]; g++) {
                g_autofree char *with = g_strconcat(governors[g]->name, ":1", NULL);

                ck_assert_ptr_eq(governor_find(governors[g]->name), governors[g]);
                ck_assert_ptr_eq(governor_find(with), governors[g]);
        }
        ck_assert_ptr_null(governor_find("teo"));
        ck_assert_ptr_null(governor_find(""));
        ck_assert_ptr_null(governor_find(":"));
        ck_assert_ptr_null(governor_find("fixed2"));
}

UNIT("governors", .timeout = 60)
