/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What holds deliver: the wake-up latency that their CPUs really had.
 */
#ifndef IDLED_HOLDS_MEASURE_H
#define IDLED_HOLDS_MEASURE_H

#include "ctl.h"

/* --measure. */
extern const VerbOption holds_options[];
int holds_check(const Ctl *ctl, const Verb *verb);

/* Measures for --seconds and adds a member "measured" to each of `holds` (as holds_ask() describes
 * them). Returns the exit status, after a message if nothing could be measured. */
int holds_measure(Ctl *ctl, json_object *holds);

/* The columns of that, and a hold's cells. */
void holds_measured_columns(Table *table);
void holds_measured_cells(Table *table, json_object *hold);

#endif
