/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Weights of sleeps: what holds whatever is learned, and what they come to. */
#include "table.h"

#include "model/random.h"
#include "model/weights.h"

/* Every row adds up to the scale, and no weight is more than that. */
static bool is_sound(const Weights *w)
{
        bool sound = true;

        for (int row = 0; row < w->n; row++) {
                uint64_t sum = 0;

                for (int column = 0; column < w->n; column++) {
                        sound &= w->of[row][column] <= WEIGHT_SCALE;
                        sum += w->of[row][column];
                }
                sound &= sum == WEIGHT_SCALE;
        }
        return sound;
}

TEST_RANGE(first, 1, IDLE_STATES_MAX + 1)
{
        Weights w;

        weights_init(&w, _i);
        ck_assert(is_sound(&w));
        for (int row = 0; row < _i; row++)
                for (int column = 0; column < _i; column++) {
                        uint32_t others = _i > 1 ? 300000 / (uint32_t)(_i - 1) : 0;

                        if (column != row)
                                ck_assert_uint_eq(w.of[row][column], others);
                        else
                                ck_assert_uint_ge(w.of[row][column], WEIGHT_SELF);
                }
}

/* A share: often one of the ends, else anything. */
static double random_share(uint64_t *random)
{
        uint64_t number = random_next(random);

        return number % 8 == 0   ? 0
               : number % 8 == 1 ? 1
                                 : (double)(number >> 11) / 9007199254740992.0;
}

/* 10,000 random sequences of everything that can be done to weights. */
TEST_RANGE(any_sequence, 0, 10)
{
        for (uint64_t seed = (uint64_t)_i * 1000; seed < ((uint64_t)_i + 1) * 1000; seed++) {
                uint64_t random = seed;
                int n = 1 + (int)(random_next(&random) % IDLE_STATES_MAX), row, column;
                bool drawn = true;
                Weights w;

                weights_init(&w, n);
                for (int i = (int)(random_next(&random) % 200); i > 0; i--) {
                        row = (int)(random_next(&random) % (uint64_t)n);
                        column = (int)(random_next(&random) % (uint64_t)n);
                        switch (random_next(&random) % 4) {
                        case 0:
                                weights_forget(&w, row, random_share(&random));
                                break;
                        case 1:
                                weights_learn_many(&w, row, column, random_share(&random));
                                break;
                        default:
                                weights_learn(&w, row, (int)(random_next(&random) % (uint64_t)n),
                                              column, random_share(&random));
                        }
                        column = weights_draw(&w, row, (WeightsDraw)(random_next(&random) % 2),
                                              (uint32_t)random_next(&random));
                        drawn &= column >= 0 && column < n && w.of[row][column] > 0;
                }
                ck_assert_msg(drawn, "a column was drawn that weighs nothing");
                ck_assert_msg(is_sound(&w), "seed %d", (int)seed);
        }
}

/* A right choice gains from all others, a wrong one gives to the one that fitted; no column gives
 * more than it has. */
TEST(learns_from_one)
{
        Weights w;

        weights_init(&w, 4);
        weights_learn(&w, 1, 1, 1, 0.06);
        ck_assert_uint_eq(w.of[1][1], 760000);
        ck_assert_uint_eq(w.of[1][0], 80000);
        weights_learn(&w, 1, 1, 0, 0.06);
        ck_assert_uint_eq(w.of[1][1], 700000);
        ck_assert_uint_eq(w.of[1][0], 140000);
        ck_assert_uint_eq(w.of[1][2], 80000);
        weights_learn(&w, 1, 2, 3, 0.5);
        ck_assert_uint_eq(w.of[1][2], 0);
        ck_assert_uint_eq(w.of[1][3], 160000);
        ck_assert_uint_eq(w.of[0][0], WEIGHT_SELF);
}

/* The others lose in proportion to what they have. */
TEST(learns_from_many)
{
        Weights w;

        weights_init(&w, 4);
        weights_learn_many(&w, 1, 1, 0.5);
        ck_assert_uint_eq(w.of[1][1], 850000);
        ck_assert_uint_eq(w.of[1][0], 50000);
        weights_learn_many(&w, 1, 0, 0.5);
        ck_assert_uint_eq(w.of[1][1], 425000);
        ck_assert_uint_eq(w.of[1][2], 25000);
        ck_assert_uint_eq(w.of[1][3], 25000);
        ck_assert_uint_eq(w.of[1][0], 525000);
        ck_assert_uint_eq(w.of[0][0], WEIGHT_SELF);
}

TEST(forgets)
{
        Weights w, fresh;

        weights_init(&w, 5);
        fresh = w;
        for (int i = 0; i < 100; i++)
                weights_learn_many(&w, 2, 0, 0.3);
        ck_assert_uint_gt(w.of[2][0], 999000);
        weights_forget(&w, 2, 0.5);
        ck_assert_uint_lt(w.of[2][0], 600000);
        for (int i = 0; i < 100; i++)
                weights_forget(&w, 2, 0.5);
        for (int row = 0; row < 5; row++)
                for (int column = 0; column < 5; column++)
                        ck_assert_int_lt(
                                llabs((long long)w.of[row][column] - fresh.of[row][column]), 20);
}

static double drawn_by(WeightsDraw draw, uint32_t weight)
{
        double share = (double)weight / WEIGHT_SCALE;

        return draw == WEIGHTS_DRAW_WEIGHT ? share : share * share * share * share;
}

/* What is drawn is drawn in proportion to its weight, or the fourth power of it. */
TEST_RANGE(draws_by_weight, 0, 2)
{
        enum { N = 200000 };
        WeightsDraw draw = (WeightsDraw)_i;
        uint64_t random = 42;
        int drawn[4] = { 0 };
        double sum = 0;
        Weights w;

        weights_init(&w, 4);
        weights_learn_many(&w, 2, 3, 0.4);
        weights_learn_many(&w, 2, 0, 0.25);
        for (int column = 0; column < 4; column++)
                sum += drawn_by(draw, w.of[2][column]);
        for (int i = 0; i < N; i++)
                drawn[weights_draw(&w, 2, draw, (uint32_t)random_next(&random))]++;
        for (int column = 0; column < 4; column++)
                ck_assert_double_eq_tol((double)drawn[column] / N,
                                        drawn_by(draw, w.of[2][column]) / sum, 0.005);
        ck_assert_int_eq(weights_draw(&w, 2, draw, 0), 0);
        ck_assert_int_eq(weights_draw(&w, 2, draw, UINT32_MAX), 3);
}

/* The paper's example: a row of 12, 7, 45 and 36 %, of which 0.6 draws the third. */
TEST(draws_as_the_paper)
{
        Weights w = { .n = 4, .of = { { 120000, 70000, 450000, 360000 } } };

        ck_assert_int_eq(weights_draw(&w, 0, WEIGHTS_DRAW_WEIGHT, (uint32_t)(0.6 * 4294967296.0)),
                         2);
        ck_assert_int_eq(weights_draw(&w, 0, WEIGHTS_DRAW_WEIGHT, (uint32_t)(0.11 * 4294967296.0)),
                         0);
        ck_assert_int_eq(weights_draw(&w, 0, WEIGHTS_DRAW_WEIGHT, (uint32_t)(0.65 * 4294967296.0)),
                         3);
}

/* The first numbers of splitmix64 from 1234567, as its authors publish them. */
TEST(random_numbers)
{
        static const uint64_t expected[] = { UINT64_C(6457827717110365317),
                                             UINT64_C(3203168211198807973),
                                             UINT64_C(9817491932198370423) };
        uint64_t random = 1234567;

        for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
                ck_assert_uint_eq(random_next(&random), expected[i]);
}

UNIT("weights")
