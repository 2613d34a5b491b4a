/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The benefit: what parking saved, as the daemon measured it; for `status` and `why`.
 */
#ifndef IDLED_BENEFIT_H
#define IDLED_BENEFIT_H

#include "ctl.h"

/* An object with "verdict" ("saves", "unclear" or "saves nothing"), "active_watts" and
 * "parked_watts", what all packages drew with all CPUs active and with some parked, and
 * "measured_usec" (CLOCK_REALTIME). NULL if nothing was measured yet. `manager`: its properties. */
json_object *benefit_describe(json_object *manager);

/* "parking saves 1.2 W (3.4 W with all CPUs active, 2.2 W with some parked), measured 5 min ago",
 * as a new string; NULL without such an object. */
char *benefit_text(json_object *benefit);

#endif
