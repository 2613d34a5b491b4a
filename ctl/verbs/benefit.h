/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The benefit: what policies save, as the daemon measured it; for `status` and `why`.
 */
#ifndef IDLED_BENEFIT_H
#define IDLED_BENEFIT_H

#include "cli/verb.h"

/* An array with an object for each of `policies` (of their properties) that is measured, or was:
 * "policy", "verdict" ("saves", "costs" or "unknown"), "saved_watts", "saved_joules",
 * "saved_percent" (of the energy per unit of work) and "waiting_change_percent" (of the time), each
 * also with "_low" and "_high" (the 95 % interval), "effective_watts" and "ignored_watts" (the mean
 * power while requests are in effect, and while they are ignored to measure), "effective_percent",
 * "blocks", "blocks_dropped", "energy_source" ("rapl", "battery", "estimate" or "none") and
 * "work_unit"; null: not known. */
json_object *benefits_describe(json_object *policies);

/* "ondemand saves 3.2 W (2.9 to 3.5 W), 12.1 W with it and 15.3 W without it...", as a new string.
 */
char *benefit_text(json_object *benefit);

#endif
