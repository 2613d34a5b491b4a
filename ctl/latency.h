/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl latency: what its parts share.
 */
#ifndef IDLED_LATENCY_H
#define IDLED_LATENCY_H

#include "ctl.h"

/* The quantiles that are printed, and their names in answers. */
#define LATENCY_QUANTILES 4
extern const double latency_quantiles[LATENCY_QUANTILES];
extern const char *const latency_keys[LATENCY_QUANTILES];

/* Prints the answer as comma-separated values, a row per setting, interval and CPU. */
void latency_print_csv(json_object *answer);

/* Draws the answer into a file, an HTML page or an SVG by its name. EXIT_FAILED after a message. */
int latency_plot(json_object *answer, const char *path);

#endif
