/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What other verbs need of pauses.
 */
#ifndef IDLED_PAUSE_H
#define IDLED_PAUSE_H

#include "cli/verb.h"

/* The pauses of the manager's properties, each with owner, reason, lasting and until_usec. */
json_object *pauses_describe(json_object *manager);

/* "by user 0, until idlectl resume: REASON" of one of them, as a new string. */
char *pause_text(json_object *pause);

/* What is paused now, as the daemon says after a call; and its lines. */
json_object *pauses_answer(Ctl *ctl);
void pauses_show(const Ctl *ctl, json_object *answer);

#endif
