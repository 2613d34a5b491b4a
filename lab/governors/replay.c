/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One governor over one series of idle periods: per period one select and one reflect, with the
 * tick running, the clock at the idle entry and then at the wake-up. If it is known how long the
 * CPU took to leave its state, that time counts for the energy and for the right state: with a
 * shorter exit it would have slept as much longer, until the next timer for example.
 */
#include <glib.h>

#include "governors/replay.h"

struct Replay {
        const Governor *governor;
        const void *options;
        const StateTable *table;
        void **cpus; /* by CPU number, up to the highest seen: its state, NULL before its first
                        period */
        int n_cpus;
        Score score;
};

Replay *replay_new(const Governor *governor, const void *options, const StateTable *table)
{
        Replay *replay = g_new0(Replay, 1);

        replay->governor = governor;
        replay->options = options;
        replay->table = table;
        return replay;
}

void replay_free(Replay *replay)
{
        for (int cpu = 0; cpu < replay->n_cpus; cpu++)
                g_free(replay->cpus[cpu]);
        g_free(replay->cpus);
        g_free(replay);
}

static void *new_cpu(Replay *replay, int cpu)
{
        const Governor *governor = replay->governor;
        void *state = g_malloc0(governor->state_size);

        if (cpu >= replay->n_cpus) {
                replay->cpus = g_renew(void *, replay->cpus, cpu + 1);
                while (replay->n_cpus <= cpu)
                        replay->cpus[replay->n_cpus++] = NULL;
        }
        if (governor->init)
                governor->init(state, replay->table, replay->options, cpu);
        replay->cpus[cpu] = state;
        return state;
}

static int64_t next_tick(const Record *record)
{
        int64_t tick = TICK_NS - (int64_t)(record->enter_ns % (uint64_t)TICK_NS);

        return record->sleep_ns < tick ? record->sleep_ns : tick;
}

static int run_one(Replay *replay, const Record *record)
{
        const Governor *governor = replay->governor;
        void *state = record->cpu < replay->n_cpus ? replay->cpus[record->cpu] : NULL;
        Period period = {
                .time_ns = record->enter_ns,
                .sleep_ns = record->sleep_ns,
                .tick_ns = next_tick(record),
                .limit_ns = record->limit_ns,
                .idle_ns = record->idle_ns + record->exit_ns,
                .util = record->util,
                .iowait = record->iowait,
        };
        Outcome outcome = {
                .got_tick = record->got_tick,
                .resched = record->resched,
        };
        int entered;

        if (!state)
                state = new_cpu(replay, record->cpu);
        entered = governor->select(state, replay->table, &period);
        outcome.state = entered;
        outcome.residency_ns = record->idle_ns + replay->table->states[entered].latency_ns;
        outcome.time_ns = record->enter_ns + (uint64_t)outcome.residency_ns;
        if (governor->reflect)
                governor->reflect(state, replay->table, &outcome);
        return entered;
}

static double energy(const ReplayState *state, int64_t idle_ns)
{
        return state->power_mw * (double)idle_ns + state->entry_mw_ns;
}

static void count(Score *score, const StateTable *table, const Record *record, int entered)
{
        int64_t length_ns = record->idle_ns + record->exit_ns;
        int ideal = state_table_ideal(table, length_ns, record->limit_ns);

        score->periods++;
        score->correct += entered == ideal;
        score->deep += entered > ideal;
        score->shallow += entered < ideal;
        score->entered[entered]++;
        score->energy += energy(&table->states[entered], length_ns);
        score->ideal_energy += energy(&table->states[ideal], length_ns);
        score->latency_ns += (double)table->states[entered].latency_ns;
        score->idle_ns += (double)length_ns;
}

void replay_run(Replay *replay, const Record *records, int n, int8_t *ret_states)
{
        for (int i = 0; i < n; i++) {
                int entered = run_one(replay, &records[i]);

                count(&replay->score, replay->table, &records[i], entered);
                if (ret_states)
                        ret_states[i] = (int8_t)entered;
        }
}

const Score *replay_score(const Replay *replay)
{
        return &replay->score;
}
