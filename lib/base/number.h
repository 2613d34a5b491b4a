/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Strict numbers: the whole text is the number, or it is an error. "1o0" is not 1.
 */
#ifndef IDLED_NUMBER_H
#define IDLED_NUMBER_H

#include <stdint.h>

/* Decimal digits only. -EINVAL: anything else, the empty text too; -ERANGE: too large. */
int u64_parse(const char *text, uint64_t *ret_value);

/* As u64_parse(), with a leading '-' allowed, within int's range. */
int int_parse(const char *text, int *ret_value);

/* Digits with an optional fraction after a '.', whatever the locale; no exponent, sign, inf or nan.
 * -EINVAL, -ERANGE as above. */
int real_parse(const char *text, double *ret_value);

/* A decimal number with a unit: us, ms, s, min, h; "0" needs none. Result in microseconds, rounded.
 * -EINVAL: no number, no unit or an unknown one; -ERANGE: too large, or so small that it would be
 * rounded to 0, which often means something else. */
int duration_parse(const char *text, uint64_t *ret_usec);

/* A number with a '%' behind it, as a fraction: "80%" is 0.8. */
int percent_parse(const char *text, double *ret_fraction);

/* A value and its unit, "" for none, as a new string: "0.4 CPUs", "1 core", "30 %", "12345". Whole
 * numbers are printed in full, others with four digits. Pass counted units (CPUs, cores, tasks,
 * times) as plurals; for 1 the s is removed. */
char *value_format(double value, const char *unit);

/* Microseconds with the largest unit that needs no fraction, as a new string: 250000 is "250ms". */
char *duration_format(uint64_t usec);

/* Writes the digits of a number and the character behind it, much faster than printf(). Returns
 * where they end. */
char *number_put(char *to, uint64_t value, char end);

#endif
