/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What holds deliver, the wake-up latency that their CPUs really had, and what they cost.
 */
#ifndef IDLED_HOLDS_MEASURE_H
#define IDLED_HOLDS_MEASURE_H

#include "cli/verb.h"

/* --measure. */
extern const VerbOption holds_options[];
extern bool holds_measured;
int holds_check(const Ctl *ctl, const Verb *verb);

/* Measures for --seconds and adds a member "measured" to each of `holds` (as holds_ask() describes
 * them), and "power" to the answer. Returns the exit status, after a message if nothing could be
 * measured. */
int holds_measure(Ctl *ctl, json_object *holds, json_object *answer);

/* The columns of that, and a hold's cells. */
void holds_measured_columns(Table *table);
void holds_measured_cells(Table *table, json_object *hold);

/* Lines below the table: the power that was measured, and where the estimates come from. */
void holds_measured_power(const Ctl *ctl, json_object *answer);

#endif
