/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Least squares by the sweep operator on the normal equations.
 *
 * Each column of A in the matrix [A'A A'b; b'A b'b] is swept once. Then the upper right has x, the
 * upper left the inverse of A'A with the other sign, and the corner the sum of squares that is
 * left. Columns are scaled to length 1 before, so that a pivot is the share of a column's length
 * that no column before it explains: one that is almost 0 is a combination of others.
 */
#include "least-squares.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Shares are known to five digits at best: what is left of a column below the square of that is
 * noise. */
#define PIVOT_MIN 1e-10

/* A column that is a combination of others has a smaller factor, of columns of length 1, for those
 * that do not take part. */
#define FACTOR_MIN 1e-3

#define SIZE (LEAST_SQUARES_MAX + 1)

typedef struct Sweep {
        int columns; /* of A; b stands behind them */
        double cell[SIZE][SIZE];
        double length[LEAST_SQUARES_MAX]; /* of the columns before they were scaled */
        bool swept[LEAST_SQUARES_MAX];
} Sweep;

static void multiply(Sweep *sweep, const double *a, const double *b, int rows)
{
        int n = sweep->columns;

        for (int row = 0; row < rows; row++) {
                double value[SIZE];

                memcpy(value, a + row * n, (size_t)n * sizeof(*a));
                value[n] = b[row];
                for (int i = 0; i <= n; i++)
                        for (int j = 0; j <= n; j++)
                                sweep->cell[i][j] += value[i] * value[j];
        }
        for (int i = 0; i < n; i++)
                sweep->length[i] = sqrt(sweep->cell[i][i]);
        for (int i = 0; i <= n; i++)
                for (int j = 0; j <= n; j++) {
                        double scale = (i < n ? sweep->length[i] : 1) *
                                       (j < n ? sweep->length[j] : 1);

                        sweep->cell[i][j] = scale > 0 ? sweep->cell[i][j] / scale : 0;
                }
}

static void sweep_column(Sweep *sweep, int k)
{
        double pivot = sweep->cell[k][k];
        int n = sweep->columns;

        for (int i = 0; i <= n; i++)
                for (int j = 0; j <= n; j++)
                        if (i != k && j != k)
                                sweep->cell[i][j] -= sweep->cell[i][k] * sweep->cell[k][j] / pivot;
        for (int i = 0; i <= n; i++)
                if (i != k) {
                        sweep->cell[i][k] /= pivot;
                        sweep->cell[k][i] /= pivot;
                }
        sweep->cell[k][k] = -1 / pivot;
        sweep->swept[k] = true;
}

/* Sweeps all columns that are worth it, the largest pivot first. Returns how many. */
static int sweep_all(Sweep *sweep)
{
        for (int rank = 0;; rank++) {
                int best = -1;

                for (int i = 0; i < sweep->columns; i++)
                        if (!sweep->swept[i] && sweep->cell[i][i] > PIVOT_MIN &&
                            (best < 0 || sweep->cell[i][i] > sweep->cell[best][best]))
                                best = i;
                if (best < 0)
                        return rank;
                sweep_column(sweep, best);
        }
}

/* True if the rows say what belongs to column `k` alone: it is no combination of others, and none
 * that was left out is a combination of it and others. */
static bool is_determined(const Sweep *sweep, int k)
{
        if (!sweep->swept[k])
                return false;
        for (int i = 0; i < sweep->columns; i++)
                if (!sweep->swept[i] && sweep->length[i] > 0 &&
                    fabs(sweep->cell[k][i]) > FACTOR_MIN)
                        return false;
        return true;
}

static int count_used(const Sweep *sweep)
{
        int used = 0;

        for (int i = 0; i < sweep->columns; i++)
                used += sweep->length[i] > 0;
        return used;
}

/* The sum of squares of b about its mean. */
static double spread(const double *b, int rows)
{
        double mean = 0, sum = 0;

        for (int row = 0; row < rows; row++)
                mean += b[row] / rows;
        for (int row = 0; row < rows; row++)
                sum += (b[row] - mean) * (b[row] - mean);
        return sum;
}

int least_squares(const double *a, const double *b, int rows, int columns, LeastSquares *ret_result)
{
        Sweep sweep = { .columns = columns };
        LeastSquares result = { .columns = columns };
        double left, total = spread(b, rows);
        int rank, determined = 0;

        if (columns < 1 || columns > LEAST_SQUARES_MAX || rows < 1)
                return -ENODATA;
        multiply(&sweep, a, b, rows);
        rank = sweep_all(&sweep);
        if (rows <= count_used(&sweep) || rank == 0)
                return -ENODATA;
        left = fmax(sweep.cell[columns][columns], 0);
        result.residual = sqrt(left / (rows - rank));
        result.explained = total > 0 ? 1 - left / total : NAN;
        for (int i = 0; i < columns; i++) {
                result.value[i] = result.error[i] = NAN;
                if (!is_determined(&sweep, i))
                        continue;
                determined++;
                result.value[i] = sweep.cell[i][columns] / sweep.length[i];
                result.error[i] = result.residual * sqrt(fmax(-sweep.cell[i][i], 0)) /
                                  sweep.length[i];
        }
        if (determined == 0)
                return -EDOM;
        *ret_result = result;
        return 0;
}

int least_squares_positive(double *a, const double *b, int rows, int columns,
                           LeastSquares *ret_result)
{
        double negative[LEAST_SQUARES_MAX] = { 0 };
        LeastSquares result;
        int r, lowest;

        while ((r = least_squares(a, b, rows, columns, &result)) == 0) {
                lowest = 0;
                for (int i = 1; i < columns; i++)
                        if (isnan(result.value[lowest]) || result.value[i] < result.value[lowest])
                                lowest = i;
                if (!(result.value[lowest] < 0))
                        break;
                negative[lowest] = result.value[lowest];
                for (int row = 0; row < rows; row++)
                        a[row * columns + lowest] = 0;
        }
        if (r < 0)
                return r;
        for (int i = 0; i < columns; i++)
                if ((result.negative[i] = negative[i]) < 0)
                        result.value[i] = 0;
        *ret_result = result;
        return 0;
}

void least_squares_judge(const LeastSquares *found, const char **ret_faults)
{
        const double *value = found->value, *error = found->error;

        for (int k = 0; k < found->columns; k++) {
                ret_faults[k] = isnan(value[k])               ? "not determined"
                                : found->negative[k] < 0      ? "below 0"
                                : !(error[k] <= value[k] / 3) ? "too uncertain"
                                                              : NULL;
                for (int i = 0; i < k && !ret_faults[k]; i++)
                        if (!ret_faults[i] && value[k] - value[i] > error[k] + error[i])
                                ret_faults[k] = "above a shallower state";
        }
}
