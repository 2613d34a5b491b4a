/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The finite series for whole degrees of freedom: Abramowitz and Stegun 26.7.3 and 26.7.4. */
#include "stats/student.h"

#include <glib.h>
#include <math.h>

static int whole(double freedom)
{
        return freedom >= 1 ? (int)MIN(freedom, 1000) : 1;
}

double student_tails(double t, double freedom)
{
        int n = whole(freedom), odd = n % 2;
        double angle = atan(fabs(t) / sqrt(n)), square = n / (n + t * t), sum = odd ? angle : 0;
        double term = sin(angle) * (odd ? cos(angle) : 1);

        for (int i = odd; i < n - 1; i += 2) {
                sum += term;
                term *= square * (i + 1) / (i + 2);
        }
        return 1 - (odd ? sum * 2 / G_PI : sum);
}

double student_quantile(double freedom)
{
        double low = 1.9, high = 12.8;

        while (high - low > 1e-8) {
                double middle = (low + high) / 2;

                if (student_tails(middle, freedom) > 0.05)
                        low = middle;
                else
                        high = middle;
        }
        return high;
}
