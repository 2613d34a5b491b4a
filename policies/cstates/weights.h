/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known about a CPU's sleeps: a matrix of weights. Row r, column c: how likely it is that
 * the length of a sleep fits state c when state r was entered.
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

/* The weights of `n` states of which nothing is known yet. */
void weights_init(Weights *weights, int n);

/* Sleeps that entered `row` fitted `fitted`: all other columns lose this share (0 .. 1) to it. */
void weights_learn(Weights *weights, int row, int fitted, double share);

/* Every row goes this share (0 .. 1) of the way back to what it was at first. */
void weights_forget(Weights *weights, double share);

/* A column of the row, chosen by chance with a bias: in proportion to the fourth power of its
 * weight. In proportion to the weight itself, what is right in 3 of 4 cases would be chosen in no
 * more than these, and be right in 10 of 16; this way it is chosen in 81 of 82, and what has become
 * likelier still gets its chance. `random` is any number. */
int weights_draw(const Weights *weights, int row, uint32_t random);

#endif
