/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What verbs about sleeps share.
 */
#ifndef IDLED_CTL_SLEEPS_H
#define IDLED_CTL_SLEEPS_H

#include "cli/verb.h"

/* --seconds. */
extern const VerbOption sleeps_seconds_option[];

/* A cell with the time of a member in us, in the unit that suits it; - if it is null. */
void sleeps_cell(Table *table, json_object *object, const char *key, Style style);

#endif
