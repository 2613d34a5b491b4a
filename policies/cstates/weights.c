/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Weights of sleeps: every change is a move from column to column within one row. */
#include "cstates/weights.h"

/* What the column has at first. What cannot be shared out evenly is the state's own. */
static uint32_t initial(const Weights *weights, int row, int column)
{
        uint32_t others = (uint32_t)weights->n - 1;
        uint32_t each = others ? (WEIGHT_SCALE - WEIGHT_SELF) / others : 0;

        return row == column ? WEIGHT_SCALE - each * others : each;
}

void weights_init(Weights *weights, int n)
{
        weights->n = n;
        for (int row = 0; row < n; row++)
                for (int column = 0; column < n; column++)
                        weights->of[row][column] = initial(weights, row, column);
}

/* Moves a share of `amount`, at most what is there. */
static void move(uint32_t *from, uint32_t *to, uint32_t amount, double share)
{
        uint32_t moved = share >= 1 ? amount : (uint32_t)(share * amount);

        if (moved > *from)
                moved = *from;
        *from -= moved;
        *to += moved;
}

void weights_learn(Weights *weights, int row, int fitted, double share)
{
        uint32_t *of = weights->of[row];

        for (int column = 0; column < weights->n; column++)
                if (column != fitted && share > 0)
                        move(&of[column], &of[fitted], of[column], share);
}

void weights_forget(Weights *weights, double share)
{
        for (int row = 0; row < weights->n; row++) {
                uint32_t *of = weights->of[row];

                for (int column = 0; column < weights->n; column++) {
                        uint32_t first = initial(weights, row, column);

                        if (column == row || share <= 0)
                                continue;
                        if (of[column] > first)
                                move(&of[column], &of[row], of[column] - first, share);
                        else
                                move(&of[row], &of[column], first - of[column], share);
                }
        }
}

static double bias(uint32_t weight)
{
        double share = (double)weight / WEIGHT_SCALE, square = share * share;

        return square * square;
}

int weights_draw(const Weights *weights, int row, uint32_t random)
{
        const uint32_t *of = weights->of[row];
        double sum = 0, left;
        int column = 0, last = weights->n - 1;

        for (int i = 0; i < weights->n; i++)
                sum += bias(of[i]);
        while (last > 0 && of[last] == 0)
                last--;
        left = sum * random / 4294967296.0;
        while (column < last && left >= bias(of[column]))
                left -= bias(of[column++]);
        return column;
}
