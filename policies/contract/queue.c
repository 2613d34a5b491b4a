/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Erlang's C formula, and the incomplete beta function.
 */
#include "contract/queue.h"

#include <math.h>

/* The share of arrivals that find all CPUs busy, by the recursion of Erlang's B. */
static double share_waiting(double work, int cpus)
{
        double b = 1;

        for (int i = 1; i <= cpus; i++)
                b = work * b / (i + work * b);
        return b / (1 - work / cpus * (1 - b));
}

double queue_share_late(double work, int cpus, double limit_us, double scale_us)
{
        if (work >= cpus)
                return 1;
        return share_waiting(work, cpus) * exp(-(cpus - work) * limit_us / scale_us);
}

/* Term `i` of the continued fraction of the incomplete beta function (DLMF 8.17.22). */
static double fraction_term(double a, double b, double x, int i)
{
        int m = i / 2;

        if (i % 2)
                return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
}

/* Without the sign, which lgamma() writes to a variable. */
static double log_gamma(double x)
{
        int sign;

        return lgamma_r(x, &sign);
}

/* The regularised incomplete beta function, from the end of its fraction to the beginning. */
static double beta_below(double a, double b, double x)
{
        double fraction = 1;

        if (x > (a + 1) / (a + b + 2))
                return 1 - beta_below(b, a, 1 - x);
        for (int i = 200; i > 0; i--)
                fraction = 1 + fraction_term(a, b, x, i) / fraction;
        return exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x)) /
               (a * fraction);
}

double odds_at_most(double late, double n, double share)
{
        if (share <= 0 || share >= 1)
                return share >= 1;
        return beta_below(late + 0.5, fmax(n - late, 0) + 0.5, share);
}
