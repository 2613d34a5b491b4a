/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What verbs about sleeps share.
 */
#ifndef IDLED_CTL_SLEEPS_H
#define IDLED_CTL_SLEEPS_H

#include "ctl.h"

/* --seconds, and --cpus. */
extern const VerbOption sleeps_seconds_option[], sleeps_options[];

/* Takes --seconds, as in sleeps_seconds_option. EXIT_USAGE after a message. */
int sleeps_take_seconds(Ctl *ctl, const char *text);

/* How long to measure: --seconds, else 10 s. */
uint64_t sleeps_usec(const Ctl *ctl);

/* A cell with the time of a member in us, in the unit that suits it; - if it is null. */
void sleeps_cell(Table *table, json_object *object, const char *key, Style style);

#endif
