/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known about the machine: read from the daemon if it runs, else read here.
 *
 * Both come in the same form, the daemon's: an object with
 *      Manager   properties of org.idled1.Manager (read here: those that the machine alone shows)
 *      Cpus      array of properties of org.idled1.Cpu, by number
 *      Policies  array of properties of org.idled1.Policy, by rank
 *      Energy    array of properties of org.idled1.Energy, by name
 */
#ifndef IDLED_FACTS_H
#define IDLED_FACTS_H

#include "cli/verb.h"

/* How long the machine is watched if the daemon did not. */
#define FACTS_INTERVAL_USEC (200u * 1000)

/* The option --interval of verbs that measure, as the only row, and what it sets; 0: not given. */
extern const VerbOption interval_option[];
extern uint64_t interval_asked_usec;

/* NULL, after a message, if neither the daemon nor the machine answers. */
json_object *facts_get(Ctl *ctl);

/* As read here, the machine being watched for so long. NULL as above. */
json_object *facts_measure(Ctl *ctl, uint64_t interval_usec);

/* Begins an answer: "daemon" is an object with "version", "dry_run" and "paused", or null, and then
 * "daemon_error" says why. */
json_object *answer_new(Ctl *ctl);

/* Prints the header line that says that there is no daemon, if there is none. */
void answer_show_daemon(const Ctl *ctl, json_object *answer);

/* True if the manager misses `what`: "battery", "pressure", "load averages". */
bool facts_missing(json_object *manager, const char *what);

#endif
