/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The values of everything that idled could ever change, as they are now.
 */
#ifndef IDLED_KNOB_VALUES_H
#define IDLED_KNOB_VALUES_H

#include "cli/verb.h"

/* An object with a member per knob, its path or the unit's name, sorted; the value is a string, or
 * null if it cannot be read. Two of these are equal if nothing has been changed in between. */
json_object *knob_values(const Ctl *ctl);

#endif
