/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What other verbs need of pauses and reloads.
 */
#ifndef IDLED_CONTROL_H
#define IDLED_CONTROL_H

#include "ctl.h"

extern const VerbOption pause_options[];

/* The pauses of the manager's properties, each with owner, reason, lasting and until_usec. */
json_object *pauses_describe(json_object *manager);

/* "by user 0, until idlectl resume: REASON" of one of them, as a new string. */
char *pause_text(json_object *pause);

/* Has the daemon read its files again. EXIT_FAILED after messages, one for each mistake. */
int control_reload(Ctl *ctl);

#endif
