/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits drawn from what a CPU's sleeps turned out to be: step 4.
 */
#include "cstates/cstates.h"

#include "model/random.h"

/* What became of the sleeps that entered one state. Counters of several files, read one after the
 * other, need not agree. */
typedef struct Outcome {
        uint32_t sleeps, deep, shallow;
} Outcome;

static Outcome outcome_of(const Residency *row, int state)
{
        Outcome o = { .sleeps = row->entered[state] };

        o.deep = row->above[state] < o.sleeps ? row->above[state] : o.sleeps;
        o.shallow = row->below[state] < o.sleeps - o.deep ? row->below[state] : o.sleeps - o.deep;
        return o;
}

static void count(History *history, const Outcome *o)
{
        history->deep += o->deep;
        history->shallow += o->shallow;
        history->correct += o->sleeps - o->deep - o->shallow;
}

/* Rows and columns begin with the floor: a polling state is none to be limited to. */
static void learn(Cpu *cpu, int state, const Outcome *o, double rate)
{
        weights_learn_interval(&cpu->history.weights, state - cpu->floor, o->sleeps, o->deep,
                               o->shallow, rate);
}

/* Takes in the sleeps of an interval. Returns the state that most of them entered, -1 if none did
 * or only polling ones. */
static int take_in(Cpu *cpu, const Residency *row)
{
        uint32_t most = 0;
        int state = -1;

        for (int i = 0; i < row->n_states; i++) {
                Outcome o = outcome_of(row, i);

                count(&cpu->history, &o);
                if (i < cpu->floor || o.sleeps == 0)
                        continue;
                learn(cpu, i, &o, HISTORY_LEARN);
                if (o.sleeps >= most) {
                        most = o.sleeps;
                        state = i;
                }
        }
        if (state >= 0)
                for (int r = 0; r < cpu->history.weights.n; r++)
                        weights_forget(&cpu->history.weights, r, HISTORY_FORGET);
        return state;
}

int history_decide(Call *call, int number, const IdleTable *table)
{
        const Snapshot *snapshot = call->input->snapshot;
        Cpu *cpu = &call->self->cpus[number];
        History *history = &cpu->history;
        const Residency *row;
        int state, column;

        if (!(snapshot->have & SENSE_IDLE_STATISTICS) || !cpuset_has(&snapshot->cpus, number)) {
                call->settled &= call->self->unreported > 1;
                return history->drawn;
        }
        row = &snapshot->residency[number];
        if (!call->is_new || row->n_states != table->n_states ||
            cpuset_has(&call->self->held, number))
                return history->drawn;
        state = take_in(cpu, row);
        if (state < 0)
                return history->drawn;
        call->settled = false;
        column = weights_draw(&history->weights, state - cpu->floor, WEIGHTS_DRAW_FOURTH,
                              (uint32_t)random_next(&call->self->random));
        history->row = (int8_t)state;
        history->drawn = (int8_t)(column + cpu->floor);
        history->weight = history->weights.of[state - cpu->floor][column];
        return history->drawn;
}
