/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CPUs and their idle states in answers.
 */
#ifndef IDLED_CPUS_H
#define IDLED_CPUS_H

#include "cli/verb.h"

/* One object per possible CPU, by number, made of facts.h's Cpus. `manager` says whether it was
 * measured for any time at all. */
json_object *cpus_describe(json_object *facts);

/* Means over the CPUs that are online, as "busy_percent" and "states"; null members if no CPU's
 * residency is known. */
json_object *cpus_summarize(json_object *cpus);

/* How long busy times and idle states in the answers were measured, in microseconds; NULL: not at
 * all. */
json_object *cpus_interval(json_object *facts);

/* "12.3", "~12.3" if estimated, "-" if not known, as a new string. */
char *percent_text(json_object *object, const char *key, bool estimated);

#endif
