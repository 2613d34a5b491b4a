/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Power from residencies: what idlelab's verbs share of it.
 */
#ifndef IDLED_POWER_ESTIMATE_H
#define IDLED_POWER_ESTIMATE_H

#include "cli/verb.h"
#include "config/power-table.h"
#include "turbostat.h"
#include "cli/watch.h"

/* Finds a table by least squares from samples with watts. NULL after a message; else the answer has
 * how good it is. Unless it is "complete" there, C0 or the deepest state has no figure. */
PowerTable *estimate_fit(const Turbostat *samples, const char *where, json_object *answer);

/* The same from this machine's counters, under load of its own, for so long. */
Turbostat *estimate_measure(const Ctl *ctl, uint64_t usec, uint64_t interval_usec, bool load);

#endif
