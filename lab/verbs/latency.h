/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab latency: what its parts share.
 */
#ifndef IDLED_LATENCY_H
#define IDLED_LATENCY_H

#include "cli/verb.h"

/* The names of the numbers of a histogram in answers, in the order of CSV. */
#define LATENCY_NUMBERS 7
extern const char *const latency_keys[LATENCY_NUMBERS];

/* From this share of wake-ups that were left out, the others' latencies say little. */
#define LATENCY_OVERRUNS 0.01

/* The run of a setting with the interval; NULL if it has none. */
json_object *latency_run(json_object *setting, int64_t interval_usec);

/* Which share of the wake-ups of a run, or of one of its CPUs, was left out; 0 .. 1. */
double latency_overruns(json_object *numbers);

/* True if wake-ups of the run were due while a thread was late, so that "all_due" is more than
 * "all". */
bool latency_was_late(json_object *run);

/* Prints the answer as comma-separated values: rows for each setting and interval, one per CPU,
 * "all" and "due". */
void latency_print_csv(json_object *answer);

/* Checks before anything is measured that the file can be written. EXIT_FAILED after a message. */
int latency_plot_check(const char *path);

/* Writes the answer as a page with plots. EXIT_FAILED after a message. */
int latency_plot(json_object *answer, const char *path);

#endif
