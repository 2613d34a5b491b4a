/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ordinary least squares, with standard errors.
 */
#ifndef IDLED_LEAST_SQUARES_H
#define IDLED_LEAST_SQUARES_H

/* More columns than any machine has states. */
#define LEAST_SQUARES_MAX 16

typedef struct LeastSquares {
        int columns;
        double value[LEAST_SQUARES_MAX];    /* NaN: the rows do not determine it */
        double error[LEAST_SQUARES_MAX];    /* its standard error, in units of `value`; or NaN */
        double negative[LEAST_SQUARES_MAX]; /* what `value` was before it was set to 0; else 0 */
        double residual;  /* root mean square of the remainder, per degree of freedom */
        double explained; /* R^2 about the mean of b: 1 is all; NaN if b is constant */
} LeastSquares;

/*
 * Finds x such that the sum of squares of A x - b is least. `a` has `rows` rows of `columns` values
 * (1 .. LEAST_SQUARES_MAX), `b` one per row; all are finite. There is no constant term: shares that
 * add up to 1 contain it. Standard errors are sqrt(s^2 (A'A)^-1), s^2 = |Ax - b|^2 / (rows - rank).
 * A column that is 0 has no value, and neither has any of a group of which one is a combination of
 * the others. -ENODATA: not more rows than columns that are not 0. -EDOM: all are in such groups.
 */
int least_squares(const double *a, const double *b, int rows, int columns,
                  LeastSquares *ret_result);

/* The same with no value below 0: while there is one, the lowest is set to 0, its error is NaN, and
 * the others are found again without its column, which is cleared in `a`. */
int least_squares_positive(double *a, const double *b, int rows, int columns,
                           LeastSquares *ret_result);

/* Why the values, as watts of states with the shallowest first, are not good enough for a table: a
 * static text for each column; NULL: they are. An error is above a third of its value, or a value
 * above that of a good shallower state by more than both errors. */
void least_squares_judge(const LeastSquares *found, const char **ret_faults);

#endif
