/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known about a CPU's sleeps: a matrix of weights. Row r, column c: how likely it is that
 * the length of a sleep fits state c when state r was predicted. The policy `cstates` and the
 * governor `weighted` (docs/learned.md) both learn with it.
 *
 * Weights are whole parts of WEIGHT_SCALE and only ever move from one column of a row to another,
 * so a row adds up to WEIGHT_SCALE exactly, whatever happens to it, and none is negative.
 */
#ifndef IDLED_WEIGHTS_H
#define IDLED_WEIGHTS_H

#include <stdint.h>

#include "model/idle-table.h"

#define WEIGHT_SCALE 1000000u
#define WEIGHT_SELF  700000u /* of the state itself at first; the others share the rest */

typedef struct Weights {
        int n; /* states */
        uint32_t of[IDLE_STATES_MAX][IDLE_STATES_MAX];
} Weights;

/* The probability with which a column is drawn is in proportion to... */
typedef enum WeightsDraw {
        WEIGHTS_DRAW_WEIGHT, /* its weight, as the paper has it */
        WEIGHTS_DRAW_FOURTH, /* the fourth power of it: the likeliest nearly always wins */
} WeightsDraw;

/* The words that options have for these, in order; ends with NULL. */
extern const char *const weights_draws[];

/* The weights of `n` states of which nothing is known yet. */
void weights_init(Weights *weights, int n);

/* One sleep: in `row`, column `chosen` was entered and `fitted` would have been right. If they
 * differ, `step` (0 .. 1) of the scale goes from `chosen` to `fitted`. Else `fitted` gets as much
 * from the others, an equal part from each. No column gives more than it has. */
void weights_learn(Weights *weights, int row, int chosen, int fitted, double step);

/* Many sleeps of which only the sum is known, all of which `fitted`: every other column gives this
 * share (0 .. 1) of its weight. */
void weights_learn_many(Weights *weights, int row, int fitted, double share);

/* The sleeps of an interval that entered `row`, at least one: `deep` of them were too short for it,
 * and fitted one state shallower; `shallow` were long enough for the next deeper one. Together they
 * move the share `rate` (0 .. 1). */
void weights_learn_interval(Weights *weights, int row, uint32_t sleeps, uint32_t deep,
                            uint32_t shallow, double rate);

/* The row goes this share (0 .. 1) of the way back to what it was at first. */
void weights_forget(Weights *weights, int row, double share);

/* A column of the row, by chance; never one without weight. `random` is any number. */
int weights_draw(const Weights *weights, int row, WeightsDraw draw, uint32_t random);

#endif
