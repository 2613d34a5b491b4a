/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Comparing two series of samples.
 */
#include "compare.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

#include "stats/student.h"

#define SURE     0.05
#define ROUNDING 1e-9 /* by so much equal values may differ that were computed */

/* Eight cosines bear a correlation over an eighth of the series; more gain little (Müller 2007). */
#define COSINES_MOST 8u

/* At most so much of a value is taken to come from the one before. More would be a drift. */
#define CORRELATION_MOST 0.97

/* Longer series are first averaged over neighbours: the cosines that count are much longer. */
#define SERIES_MOST 2048u

/* The variance of the mean of `n` groups, whose residuals these are, by `cosines` projections. */
static double mean_variance(const double *residuals, size_t n, size_t cosines)
{
        double power = 0;

        for (size_t j = 1; j <= cosines; j++) {
                double projection = 0;

                for (size_t i = 0; i < n; i++)
                        projection += residuals[i] *
                                      cos(G_PI * (double)j * ((double)i + 0.5) / (double)n);
                power += 2 * projection * projection / (double)n;
        }
        return power / (double)cosines / (double)n;
}

/* The correlation of neighbours, without the bias that the estimated mean gives it; 0 where chance
 * alone makes it as large in one of 160 series. */
static double correlation_of(const double *residuals, size_t n)
{
        double products = 0, squares = 0, r;

        for (size_t i = 0; i < n; i++) {
                squares += residuals[i] * residuals[i];
                if (i > 0)
                        products += residuals[i] * residuals[i - 1];
        }
        r = squares > 0 ? products / squares : 0;
        return r * sqrt((double)n) < 2.5 ? 0 : MIN(r + (1 + 3 * r) / (double)n, CORRELATION_MOST);
}

/*
 * The variance of the mean, and its degrees of freedom. In series that change slowly all cosines
 * but the first are too short to show the whole variance. So it is also computed from what each
 * group has that the one before did not predict, and the larger counts (prewhitening, Andrews and
 * Monahan 1992). Such groups are worth fewer independent ones, which limits the freedom.
 */
static double sure_variance(const double *residuals, size_t n, size_t cosines, double *ret_freedom)
{
        g_autofree double *innovations = g_new(double, n);
        double r = correlation_of(residuals, n), whitened;

        for (size_t i = 1; i < n; i++)
                innovations[i - 1] = residuals[i] - r * residuals[i - 1];
        whitened = r > 0 ? mean_variance(innovations, n - 1, cosines) / ((1 - r) * (1 - r)) : 0;
        *ret_freedom = CLAMP((double)n * (1 - r) / (1 + r) - 1, 1, (double)cosines);
        return MAX(mean_variance(residuals, n, cosines), whitened);
}

Mean mean_of(const double *samples, const double *seconds, size_t n)
{
        size_t group = (n + SERIES_MOST - 1) / SERIES_MOST, n_groups = n / MAX(group, 1), cosines;
        Mean mean = { .n = n, .value = NAN, .deviation = NAN, .error = NAN };
        g_autofree double *residuals = g_new0(double, n_groups + 1);
        double sum = 0, squares = 0, time = 0;

        if (n == 0)
                return mean;
        for (size_t i = 0; i < n; i++) {
                sum += samples[i] * seconds[i];
                time += seconds[i];
        }
        mean.value = sum / time;
        for (size_t i = 0; i < n; i++) {
                double residual = samples[i] - mean.value, weight = seconds[i] / time;

                squares += residual * residual * weight;
                if (i < n_groups * group)
                        residuals[i / group] += residual * weight * (double)n / (double)group;
        }
        if (n > 1)
                mean.deviation = sqrt(squares * (double)n / (double)(n - 1));
        if (mean.deviation < ROUNDING * fabs(mean.value))
                mean.deviation = 0;
        if (n < COMPARE_LEAST)
                return mean;
        cosines = MIN((size_t)(0.4 * pow((double)n_groups, 2. / 3)), COSINES_MOST);
        mean.error = sqrt(sure_variance(residuals, n_groups, cosines, &mean.freedom));
        return mean;
}

Difference mean_difference(const Mean *a, const Mean *b)
{
        Difference difference = { .value = b->value - a->value, .low = NAN, .high = NAN, .p = NAN };
        double va = a->error * a->error, vb = b->error * b->error, error = sqrt(va + vb), freedom;
        const double tiny = ROUNDING * MAX(fabs(a->value), fabs(b->value));

        if (fabs(difference.value) <= tiny)
                difference.value = 0;
        if (!isfinite(error))
                return difference;
        if (error <= tiny) { /* neither ever changed */
                difference.low = difference.high = difference.value;
                difference.p = difference.value == 0 ? 1 : 0;
                return difference;
        }
        freedom = (va + vb) * (va + vb) / (va * va / a->freedom + vb * vb / b->freedom);
        difference.p = student_tails(difference.value / error, freedom);
        difference.low = difference.value - student_quantile(freedom) * error;
        difference.high = difference.value + student_quantile(freedom) * error;
        return difference;
}

static int compare_p(const void *a, const void *b)
{
        double x = (*(Difference *const *)a)->p, y = (*(Difference *const *)b)->p;

        return (x > y) - (x < y);
}

void compare_judge(Difference *const *differences, size_t n)
{
        g_autoptr(GPtrArray) known = g_ptr_array_new();

        for (size_t i = 0; i < n; i++) {
                differences[i]->real = false;
                if (isfinite(differences[i]->p))
                        g_ptr_array_add(known, differences[i]);
        }
        if (known->len == 0)
                return;
        qsort(known->pdata, known->len, sizeof(gpointer), compare_p);
        for (guint i = 0; i < known->len; i++) {
                Difference *difference = g_ptr_array_index(known, i);

                if (difference->p > SURE / (double)(known->len - i))
                        return;
                difference->real = true;
        }
}
