/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The daemon's explanations, as it sends them over the bus, as text.
 */
#ifndef IDLED_EXPLAINED_H
#define IDLED_EXPLAINED_H

#include "cli/json.h"
#include "model/explain.h"

/* The explanation in a row of Explain() or History(), or in a row that why_ask() made from one. Its
 * texts are those of the row. */
Explanation explained_why(json_object *row);

/* "parked 3 min ago by ondemand: ..." of a row of Explain(), as a new string; `wanted`: the CPU is
 * in the idle mask. */
char *explained_cpu(json_object *row, bool wanted);

/* One line that says why no CPU is parked, as a new string; `manager` are the manager's properties,
 * `explained` what Explain() said, which may be NULL. */
char *explained_nothing_parked(json_object *manager, json_object *explained);

#endif
