/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Temperatures of packages, from hwmon or from thermal zones.
 */
#ifndef IDLED_TEMPERATURE_H
#define IDLED_TEMPERATURE_H

#include <glib.h>

typedef struct Temperatures {
        GPtrArray *paths; /* of the kernel's file in millidegrees, by package; char * */
} Temperatures;

/* Finds the sensors of CPU packages below `root`. */
void temperatures_init(Temperatures *temperatures, int root);
void temperatures_done(Temperatures *temperatures);

/* Reads degrees Celsius of `n` packages; NaN: no sensor, or not readable. The kernel may ask a CPU
 * of the package, which wakes it: not to be called more than once a second. */
void temperatures_read(const Temperatures *temperatures, int root, double *celsius, int n);

#endif
