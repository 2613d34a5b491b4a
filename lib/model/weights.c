/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Weights of sleeps: every change is a move from column to column within one row. */
#include "model/weights.h"

#include <stddef.h>

const char *const weights_draws[] = { "weight", "fourth", NULL };

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

void weights_learn(Weights *weights, int row, int chosen, int fitted, double step)
{
        uint32_t *of = weights->of[row];
        int others = weights->n - 1;

        if (step <= 0)
                return;
        if (chosen != fitted) {
                move(&of[chosen], &of[fitted], WEIGHT_SCALE, step);
                return;
        }
        for (int column = 0; column < weights->n; column++)
                if (column != fitted)
                        move(&of[column], &of[fitted], WEIGHT_SCALE, step / others);
}

void weights_learn_many(Weights *weights, int row, int fitted, double share)
{
        uint32_t *of = weights->of[row];

        for (int column = 0; column < weights->n; column++)
                if (column != fitted && share > 0)
                        move(&of[column], &of[fitted], of[column], share);
}

void weights_learn_interval(Weights *weights, int row, uint32_t sleeps, uint32_t deep,
                            uint32_t shallow, double rate)
{
        int shallower = row > 0 ? row - 1 : 0, deeper = row < weights->n - 1 ? row + 1 : row;
        double part = rate / sleeps;

        weights_learn_many(weights, row, row, part * (sleeps - deep - shallow));
        weights_learn_many(weights, row, shallower, part * deep);
        weights_learn_many(weights, row, deeper, part * shallow);
}

void weights_forget(Weights *weights, int row, double share)
{
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

/* The paper's: the first column whose cumulative weight exceeds a random part of the scale. */
static int draw_weight(const uint32_t *of, uint32_t random)
{
        uint64_t drawn = (uint64_t)WEIGHT_SCALE * random >> 32;
        int column = 0;

        while (drawn >= of[column])
                drawn -= of[column++];
        return column;
}

static double fourth(uint32_t weight)
{
        double share = (double)weight / WEIGHT_SCALE, square = share * share;

        return square * square;
}

static int draw_fourth(const uint32_t *of, int n, uint32_t random)
{
        double sum = 0, left;
        int column = 0, last = n - 1;

        for (int i = 0; i < n; i++)
                sum += fourth(of[i]);
        while (last > 0 && of[last] == 0)
                last--;
        left = sum * random / 4294967296.0;
        while (column < last && left >= fourth(of[column]))
                left -= fourth(of[column++]);
        return column;
}

int weights_draw(const Weights *weights, int row, WeightsDraw draw, uint32_t random)
{
        const uint32_t *of = weights->of[row];

        if (draw == WEIGHTS_DRAW_FOURTH)
                return draw_fourth(of, weights->n, random);
        return draw_weight(of, random);
}
