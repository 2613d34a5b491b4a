/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What idlectl hold and idlectl run request, and where they have it.
 */
#ifndef IDLED_HOLD_OPTIONS_H
#define IDLED_HOLD_OPTIONS_H

#include "cli/client.h"

/* What was requested. */
extern HoldArguments hold_arguments;

/* What a hold can request; and, for holds that no command ends, when it ends. */
extern const VerbOption hold_options[], hold_end_options[];

/* Checks that something is requested. Returns EXIT_FINE, or EXIT_USAGE after a message. */
int hold_options_check(const Ctl *ctl, const Verb *verb);

/* "CPUs 0-7, all of them": where the hold at `path` is in effect, as a new string; NULL if it asks
 * nothing of single CPUs, or if that is not known. */
char *hold_where(const Ctl *ctl, const char *path);

/* Prints why the daemon refuses the hold, with idlectl's option in place of the bus's key, and what
 * follows from that. Returns EXIT_FAILED. */
int hold_complain(const char *error, const char *more);

#endif
