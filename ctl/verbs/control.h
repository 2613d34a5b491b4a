/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What other verbs need of pauses, refused affinities and reloads.
 */
#ifndef IDLED_CONTROL_H
#define IDLED_CONTROL_H

#include "cli/verb.h"

/* The pauses of the manager's properties, each with owner, reason, lasting and until_usec. */
json_object *pauses_describe(json_object *manager);

/* "by user 0, until idlectl resume: REASON" of one of them, as a new string. */
char *pause_text(json_object *pause);

/* The refused affinities of the manager's properties: unit (null: of none), user, program and pid
 * (null: not for this user), cpus, count. */
json_object *refused_describe(json_object *manager);

/* "CPUs 2-3, for a.service (taskset, PID 123)" of one of them, as a new string. */
char *refused_text(json_object *refused);

#endif
