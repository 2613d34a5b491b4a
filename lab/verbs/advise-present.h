/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is in effect of the options and idle states that advice is about.
 */
#ifndef IDLED_ADVISE_PRESENT_H
#define IDLED_ADVISE_PRESENT_H

#include "replay.h"

#define ADVISE_SECTION "cstates"

/* States that idled switched off are candidates like the others: or a limit that was advised once
 * would never be lifted. */
void present_switch_own_on(const Ctl *ctl, StateTable *table);

/* This option of cstates in the running idled, as a new object. NULL if idled or cstates does not
 * run. */
json_object *present_setting(const Ctl *ctl, const char *key);

/* True if that is its value. */
bool present_is(const Ctl *ctl, const char *key, const char *value);

/* True if it has a value that is not its default. */
bool present_is_set(const Ctl *ctl, const char *key);

/* True if the configuration limits idle states, which a service must not lift. */
bool present_is_limited(const Ctl *ctl);

/* The deepest state of `table` that is as fast as what CPU 0 may enter now; its deepest enabled one
 * if nothing is switched off. */
int present_deepest(const Ctl *ctl, const StateTable *table);

#endif
