/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Student's t distribution, for all intervals of idled and its tools. Degrees of freedom are
 * rounded down, to at least 1 and at most 1000. Pure.
 */
#ifndef IDLED_STUDENT_H
#define IDLED_STUDENT_H

/* The probability that such a variable is farther from 0 than `t`, on either side. */
double student_tails(double t, double freedom);

/* Half the width of a 95 % interval, in standard errors. */
double student_quantile(double freedom);

#endif
