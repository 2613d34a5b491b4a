/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Power from residencies: what idlectl's verbs share of it.
 */
#ifndef IDLED_POWER_ESTIMATE_H
#define IDLED_POWER_ESTIMATE_H

#include "ctl.h"
#include "config/power-table.h"
#include "turbostat.h"
#include "watch.h"

/* The table that a machine has of its own: etc/idled/power/machine.conf. */
#define ESTIMATE_MACHINE "machine"

/* The power table `name`; NULL for this machine's own. NULL after a message; without one, if there
 * is no table of this machine and `required` is false. */
PowerTable *estimate_table(const Ctl *ctl, const char *name, bool required);

/* The watts that the table gives a package over the last interval; NaN: none of its CPUs was seen.
 */
double estimate_package_watts(const PowerTable *table, const Watch *watch, int package);

/* Those of all packages together. */
double estimate_watts(const PowerTable *table, const Watch *watch);

/* Finds a table by least squares from samples with watts. NULL after a message; else the answer has
 * how good it is. Unless it is "complete" there, C0 or the deepest state has no figure. */
PowerTable *estimate_fit(const Turbostat *samples, const char *where, json_object *answer);

/* The same from this machine's counters, under load of its own, for so long. */
Turbostat *estimate_measure(const Ctl *ctl, uint64_t usec, uint64_t interval_usec, bool load);

#endif
