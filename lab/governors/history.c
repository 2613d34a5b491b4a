/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A governor of the kernel under the limits that History= of the policy `cstates` draws.
 *
 * 1. For each state, sleeps are counted for one period, as the kernel counts them: all, those that
 *    were shorter than the target residency, and those that were long enough for the next deeper
 *    enabled state even without the exit latency.
 * 2. When a CPU becomes idle and the period is over, the weights learn from these counts
 *    (weights_learn_interval()), and every row goes `forget` of the way back to its first weights.
 *    Polling states are left out; the shallowest other one is the first row.
 * 3. A column is drawn from the row of the state that most sleeps entered. Its exit latency is the
 *    limit until the end of the next period in which the CPU slept. The deepest state is no limit.
 * 4. The base governor decides, under the stricter of this limit and the recorded one.
 *
 * The policy has one series of random numbers for all CPUs, this model has one for each.
 */
#include <string.h>

#include "governors/bases.h"
#include "governors/governors.h"
#include "model/random.h"
#include "model/weights.h"

typedef struct HistoryOptions {
        char *base; /* first, for base_check() */
        double learn, forget;
        int draw; /* WeightsDraw */
        uint64_t seed, period_usec;
} HistoryOptions;

typedef struct Counts {
        uint32_t sleeps, deep, shallow;
} Counts;

typedef struct History {
        const Governor *base;
        const HistoryOptions *options;
        Weights weights;
        Counts counts[IDLE_STATES_MAX];
        int floor; /* the state of the first row */
        int64_t limit_ns;
        uint64_t began_ns, random;
        bool began;
        _Alignas(16) char below[GOVERNOR_STATE_MAX]; /* the base governor's state */
} History;

static const Setting history_settings[] = {
        /* The governor that is limited */
        { "history", "base", SETTING_STRING, offsetof(HistoryOptions, base), "menu-6.12" },
        /* Share of the weights that one update may move */
        { "history", "learn", SETTING_PERCENT, offsetof(HistoryOptions, learn), "40%", 0, 1 },
        /* Share of the learned weights that one update forgets */
        { "history", "forget", SETTING_PERCENT, offsetof(HistoryOptions, forget), "0.5%", 0, 1 },
        /* Draw by the weight or by its fourth power */
        { "history", "draw", SETTING_CHOICE, offsetof(HistoryOptions, draw), "fourth",
          .choices = weights_draws },
        /* Seed of the random numbers */
        { "history", "seed", SETTING_COUNT, offsetof(HistoryOptions, seed), "1" },
        /* Time between two updates, as Period= */
        { "history", "period", SETTING_DURATION, offsetof(HistoryOptions, period_usec), "1s", 100e3,
          3600e6 },
        { 0 },
};

static bool is_polling(const ReplayState *state)
{
        return state->latency_ns == 0 && state->residency_ns == 0;
}

static void history_init(void *state, const StateTable *table, const void *options, int cpu)
{
        History *self = state;

        self->options = options;
        self->base = base_find(self->options->base);
        self->random = self->options->seed;
        self->limit_ns = NO_LATENCY_LIMIT;
        while (self->floor < table->n - 1 && is_polling(&table->states[self->floor]))
                self->floor++;
        weights_init(&self->weights, table->n - self->floor);
        if (self->base->init)
                self->base->init(self->below, table, NULL, cpu);
}

/* Step 2. Returns the state that most sleeps entered, -1 if none did or only polling ones. */
static int take_in(History *self, const StateTable *table)
{
        uint32_t most = 0;
        int state = -1;

        for (int i = self->floor; i < table->n; i++) {
                const Counts *c = &self->counts[i];

                if (c->sleeps == 0)
                        continue;
                weights_learn_interval(&self->weights, i - self->floor, c->sleeps, c->deep,
                                       c->shallow, self->options->learn);
                if (c->sleeps >= most) {
                        most = c->sleeps;
                        state = i;
                }
        }
        memset(self->counts, 0, sizeof(self->counts));
        for (int row = 0; state >= 0 && row < self->weights.n; row++)
                weights_forget(&self->weights, row, self->options->forget);
        return state;
}

/* Step 3. */
static void update(History *self, const StateTable *table)
{
        int state = take_in(self, table), drawn;

        if (state < 0)
                return;
        drawn = self->floor + weights_draw(&self->weights, state - self->floor,
                                           (WeightsDraw)self->options->draw,
                                           (uint32_t)random_next(&self->random));
        self->limit_ns = table->states[drawn].latency_ns;
        if (drawn == table->n - 1)
                self->limit_ns = NO_LATENCY_LIMIT;
        else if (self->limit_ns == 0)
                self->limit_ns = 1000;
}

static int history_select(void *state, const StateTable *table, const Period *period)
{
        History *self = state;
        Period limited = *period;

        if (!self->began || period->time_ns < self->began_ns)
                self->began_ns = period->time_ns;
        self->began = true;
        if ((period->time_ns - self->began_ns) / 1000 >= self->options->period_usec) {
                self->began_ns = period->time_ns;
                update(self, table);
        }
        if (self->limit_ns < limited.limit_ns)
                limited.limit_ns = self->limit_ns;
        return self->base->select(self->below, table, &limited);
}

/* Step 1. */
static void history_reflect(void *state, const StateTable *table, const Outcome *outcome)
{
        History *self = state;
        const ReplayState *at = &table->states[outcome->state];
        Counts *counts = &self->counts[outcome->state];
        int next;

        counts->sleeps++;
        if (outcome->residency_ns < at->residency_ns) {
                counts->deep += state_table_next(table, outcome->state, -1) >= 0;
        } else if (outcome->residency_ns > at->latency_ns) {
                next = state_table_next(table, outcome->state, 1);
                counts->shallow += next >= 0 && outcome->residency_ns - at->latency_ns >=
                                                        table->states[next].residency_ns;
        }
        if (self->base->reflect)
                self->base->reflect(self->below, table, outcome);
}

const Governor governor_history = {
        .name = "history",
        .settings = history_settings,
        .options_size = sizeof(HistoryOptions),
        .state_size = sizeof(History),
        .check = base_check,
        .init = history_init,
        .select = history_select,
        .reflect = history_reflect,
};
