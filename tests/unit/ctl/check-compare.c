/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Comparisons of series: chance seldom makes a difference, whatever the correlation, and real ones
 * are found. */
#include "lab/verbs/compare.h"
#include "stats/student.h"
#include "table.h"

#define SERIES 1000 /* pairs of series in each simulation */

static const struct {
        double t, freedom, tails;
} quantiles[] = {
        { 12.7062, 1, 0.05 },   { 4.302653, 2, 0.05 },   { 2.262157, 9, 0.05 },
        { 3.169273, 10, 0.01 }, { 1.969498, 250, 0.05 }, { 0, 5, 1 },
        { -2.262157, 9, 0.05 },
};

TEST_EACH(student, quantiles)
{
        double tails = student_tails(c->t, c->freedom);

        ck_assert_msg(fabs(tails - c->tails) < 1e-5, "%g of t %g, %g degrees", tails, c->t,
                      c->freedom);
}

/* The mean of samples of a second each. */
static Mean even_mean(const double *samples, size_t n)
{
        g_autofree double *seconds = g_new(double, n + 1);

        for (size_t i = 0; i < n; i++)
                seconds[i] = 1;
        return mean_of(samples, seconds, n);
}

/* A sample of three seconds counts like three of one. */
TEST(by_time)
{
        double short_ones[60], seconds[60], long_ones[20], lengths[20];
        Mean a, b;

        for (int i = 0; i < 60; i++) {
                short_ones[i] = i / 3 * 7 % 11;
                seconds[i] = 1;
                long_ones[i / 3] = short_ones[i];
                lengths[i / 3] = 3;
        }
        a = mean_of(short_ones, seconds, 60);
        b = mean_of(long_ones, lengths, 20);
        ck_assert_double_eq_tol(a.value, b.value, 1e-9);
        ck_assert_double_eq_tol(mean_of((double[]){ 1, 5 }, (double[]){ 9, 1 }, 2).value, 1.4,
                                1e-9);
        ck_assert_double_gt(b.error, 0);
}

static double normal(GRand *rand)
{
        return sqrt(-2 * log(1 - g_rand_double(rand))) * cos(2 * G_PI * g_rand_double(rand));
}

typedef struct Kind {
        const char *name;
        size_t n;
        double correlation; /* of neighbours */
        double daily;       /* amplitude of a slow wave, its phase by chance */
        double real_most;   /* share of pairs that differ by chance, at most */
        double effect;      /* in standard deviations of samples */
        double found_least; /* share of pairs in which that is found */
} Kind;

static const Kind kinds[] = {
        { "independent, few", 20, 0, 0, 0.07, 2, 0.95 },
        { "independent", 120, 0, 0, 0.07, 0.6, 0.95 },
        { "correlated", 300, 0.8, 0, 0.08, 1.2, 0.90 },
        { "more correlated", 600, 0.95, 0, 0.10, 2, 0.90 },
        { "a minute that changes slowly", 60, 0.95, 0, 0.10, 8, 0.30 },
        { "a minute that hardly changes", 60, 0.98, 0, 0.10, 20, 0.90 },
        { "minutes that hardly change", 300, 0.98, 0, 0.10, 6, 0.90 },
        { "many", 10000, 0.9, 0, 0.08, 0.5, 0.95 },
        { "slow wave", 600, 0.5, 1.5, 0.10, 3, 0.50 },
};

static void fill(GRand *rand, const Kind *kind, double shift, double *samples)
{
        double state = normal(rand), phase = g_rand_double(rand) * 2 * G_PI;
        double rest = sqrt(1 - kind->correlation * kind->correlation);

        for (size_t i = 0; i < kind->n; i++) {
                state = kind->correlation * state + rest * normal(rand);
                samples[i] = 100 + shift + state +
                             kind->daily * sin(phase + 2 * (double)i / (double)kind->n * G_PI);
        }
}

/* The share of pairs of series that differ. */
static double share_real(const Kind *kind, double shift)
{
        g_autoptr(GRand) rand = g_rand_new_with_seed(4711);
        g_autofree double *a = g_new(double, kind->n), *b = g_new(double, kind->n);
        int real = 0, series = kind->n > 1000 ? SERIES / 10 : SERIES;

        for (int i = 0; i < series; i++) {
                Difference difference, *only = &difference;
                Mean of_a, of_b;

                fill(rand, kind, 0, a);
                fill(rand, kind, shift, b);
                of_a = even_mean(a, kind->n);
                of_b = even_mean(b, kind->n);
                difference = mean_difference(&of_a, &of_b);
                compare_judge(&only, 1);
                real += difference.real;
                ck_assert(difference.low <= difference.value &&
                          difference.value <= difference.high);
        }
        return (double)real / series;
}

TEST_EACH(chance_and_effect, kinds)
{
        const Kind *kind = &kinds[_i];
        double chance = share_real(kind, 0), found = share_real(kind, kind->effect);

        ck_case(kind->name, chance <= kind->real_most, "%.3f differ by chance", chance);
        ck_case(kind->name, found >= kind->found_least, "%.3f are found", found);
}

/* If many metrics are all the same, hardly ever one differs. */
TEST(many_metrics)
{
        const Kind kind = { .n = 60 };
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);
        double a[60], b[60];
        int wrong = 0;

        for (int run = 0; run < 300; run++) {
                Difference differences[20], *all[20];
                bool any = false;

                for (int m = 0; m < 20; m++) {
                        Mean of_a, of_b;

                        fill(rand, &kind, 0, a);
                        fill(rand, &kind, 0, b);
                        of_a = even_mean(a, 60);
                        of_b = even_mean(b, 60);
                        differences[m] = mean_difference(&of_a, &of_b);
                        all[m] = &differences[m];
                }
                compare_judge(all, 20);
                for (int m = 0; m < 20; m++)
                        any |= differences[m].real;
                wrong += any;
        }
        ck_assert_msg(wrong <= 300 * 8 / 100, "%d of 300", wrong);
}

TEST(special_cases)
{
        const double few[] = { 1, 2, 3 }, same[12] = { 0 };
        double tenth[30], other[17];
        Mean a, b;
        Difference difference;

        for (int i = 0; i < 30; i++)
                tenth[i] = 0.1;
        for (int i = 0; i < 17; i++)
                other[i] = 0.1;
        a = even_mean(few, 0);
        ck_assert(isnan(a.value) && isnan(a.error));
        a = even_mean(few, 3);
        b = even_mean(same, 12);
        difference = mean_difference(&a, &b);
        ck_assert(isnan(difference.p) && isnan(difference.low));
        ck_assert_double_eq(difference.value, -2);
        a = even_mean(tenth, 30); /* rounding is no difference */
        b = even_mean(other, 17);
        ck_assert_double_eq(mean_difference(&a, &b).p, 1);
        b = even_mean(same, 12);
        ck_assert_double_eq(mean_difference(&a, &b).p, 0);
        a = even_mean(same, 12);
        ck_assert_double_eq(mean_difference(&a, &b).p, 1);
        compare_judge(NULL, 0);
}

UNIT("compare", .timeout = 120)
