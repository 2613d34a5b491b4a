/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list of all governors.
 */
#ifndef IDLED_GOVERNORS_GOVERNORS_H
#define IDLED_GOVERNORS_GOVERNORS_H

#include "governors/governor.h"

extern const Governor governor_learned, governor_weighted, governor_history;
extern const Governor governor_ladder, governor_menu_6_1, governor_menu_6_12, governor_teo_6_1,
        governor_teo_6_12, governor_teo_6_18, governor_menu_7_3, governor_teo_7_3,
        governor_teo_util, governor_omniscient, governor_timer_only, governor_fixed;

/* All governors, in the order of the help text; ends with NULL. */
extern const Governor *const governors[];

/* The governor of this name; of "fixed:2" only what is before the colon counts. NULL: none. */
const Governor *governor_find(const char *name);

#endif
