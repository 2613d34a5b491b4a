/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Weighted history on top of another governor, as "Weighted idle governor" (2021) describes it;
 * with an ageing of weights, which that paper leaves to later work.
 *
 * 1. The base governor predicts a state: a row of the matrix of weights (model/weights.h), which
 *    has a row and a column for every enabled state. At first a row has 70 % for the state itself,
 *    the others share the rest equally.
 * 2. A column of the row is drawn by chance. The probability of each is its weight (option `draw`:
 *    or in proportion to the fourth power of it). Random numbers are splitmix64's from `seed`, for
 *    each CPU from its beginning, the low 32 bits of each.
 * 3. The column's state is entered; if it is slower than the latency limit allows, the deepest
 *    shallower one that is not.
 * 4. At the wake-up the state that would have fitted is the deepest within the limit whose target
 *    residency was slept. If it is the one entered, that one gains `rate` of the scale, an equal
 *    part from each of the others. If not, `rate` goes from the one entered to the one that fitted.
 * 5. The row goes `ageing` of the way back to its first weights.
 */
#include "governors/bases.h"
#include "governors/governors.h"
#include "model/random.h"
#include "model/weights.h"

typedef struct WeightedOptions {
        char *base; /* first, for base_check() */
        double rate, ageing;
        int draw; /* WeightsDraw */
        uint64_t seed;
} WeightedOptions;

typedef struct Weighted {
        const Governor *base;
        const WeightedOptions *options;
        Weights weights;
        int8_t state[IDLE_STATES_MAX];  /* of each column */
        int8_t column[IDLE_STATES_MAX]; /* of each state; of one that is off a shallower one's */
        int row;
        int64_t limit_ns; /* of the last select() */
        uint64_t random;
        _Alignas(16) char below[GOVERNOR_STATE_MAX]; /* the base governor's state */
} Weighted;

static const Setting weighted_settings[] = {
        /* The governor whose predictions are weighted */
        { "weighted", "base", SETTING_STRING, offsetof(WeightedOptions, base), "teo-6.1" },
        /* How much weight one sleep moves, out of 100 % */
        { "weighted", "rate", SETTING_PERCENT, offsetof(WeightedOptions, rate), "1%", 0, 1 },
        /* How far one sleep takes its row back to its first weights */
        { "weighted", "ageing", SETTING_PERCENT, offsetof(WeightedOptions, ageing), "0%", 0, 1 },
        /* Draw by the weight or by its fourth power */
        { "weighted", "draw", SETTING_CHOICE, offsetof(WeightedOptions, draw), "weight",
          .choices = weights_draws },
        /* Seed of the random numbers */
        { "weighted", "seed", SETTING_COUNT, offsetof(WeightedOptions, seed), "1" },
        { 0 },
};

static void weighted_init(void *state, const StateTable *table, const void *options, int cpu)
{
        Weighted *self = state;
        int n = 0;

        self->options = options;
        self->base = base_find(self->options->base);
        self->random = self->options->seed;
        for (int i = 0; i < table->n; i++) {
                if (!table->states[i].off)
                        self->state[n++] = (int8_t)i;
                self->column[i] = (int8_t)(n > 0 ? n - 1 : 0);
        }
        weights_init(&self->weights, n > 0 ? n : 1);
        if (self->base->init)
                self->base->init(self->below, table, NULL, cpu);
}

static int weighted_select(void *state, const StateTable *table, const Period *period)
{
        Weighted *self = state;
        int column;

        self->limit_ns = period->limit_ns;
        self->row = self->column[self->base->select(self->below, table, period)];
        column = weights_draw(&self->weights, self->row, (WeightsDraw)self->options->draw,
                              (uint32_t)random_next(&self->random));
        while (column > 0 && table->states[self->state[column]].latency_ns > period->limit_ns)
                column--;
        return self->state[column];
}

static void weighted_reflect(void *state, const StateTable *table, const Outcome *outcome)
{
        Weighted *self = state;
        int64_t idle_ns = outcome->residency_ns - table->states[outcome->state].latency_ns;
        int fitted = self->column[state_table_ideal(table, idle_ns, self->limit_ns)];

        weights_learn(&self->weights, self->row, self->column[outcome->state], fitted,
                      self->options->rate);
        weights_forget(&self->weights, self->row, self->options->ageing);
        if (self->base->reflect)
                self->base->reflect(self->below, table, outcome);
}

const Governor governor_weighted = {
        .name = "weighted",
        .settings = weighted_settings,
        .options_size = sizeof(WeightedOptions),
        .state_size = sizeof(Weighted),
        .check = base_check,
        .init = weighted_init,
        .select = weighted_select,
        .reflect = weighted_reflect,
};
