/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Comparing the means of two series of samples that are correlated in time. Pure.
 *
 * The long-run variance of each mean comes from its projections on the first cosines
 * (equal-weighted cosine estimator, Lazarus, Lewis, Stock and Watson 2018: "HAR inference:
 * recommendations for practice"), of which there are 0.4 n^(2/3); the difference is then compared
 * with Student's t, with degrees of freedom by Welch and Satterthwaite. A drift shows in the
 * cosines, and widens the interval.
 */
#ifndef IDLED_CTL_COMPARE_H
#define IDLED_CTL_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

/* Fewer samples than this say nothing. */
#define COMPARE_LEAST 10

typedef struct Mean {
        size_t n;
        double value;     /* NAN: no samples */
        double deviation; /* of single samples; NAN: fewer than two */
        double error;     /* standard error of the mean; NAN: fewer than COMPARE_LEAST */
        double freedom;   /* degrees of freedom of that */
} Mean;

typedef struct Difference {
        double value;     /* of b minus a */
        double low, high; /* 95 % interval; NAN: not known */
        double p;         /* probability of such a difference if there is none; NAN: not known */
        bool real;        /* after compare_judge() */
} Difference;

/* The mean by time: sample `i` is of `seconds[i]` (above 0). */
Mean mean_of(const double *samples, const double *seconds, size_t n);
Difference mean_difference(const Mean *a, const Mean *b);

/* Sets `real` of those of `n` differences that hold together: with Holm's method chance makes any
 * of them real in at most 5 % of the cases (Holm 1979). */
void compare_judge(Difference *const *differences, size_t n);

#endif
