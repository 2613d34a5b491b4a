/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Contracts, kinds of cores and refused affinities of units, for status, why and doctor.
 */
#ifndef IDLED_CTL_REQUESTS_H
#define IDLED_CTL_REQUESTS_H

#include "cli/json.h"

/* An object for each contract, from the property Contracts. */
json_object *contracts_describe(json_object *manager);

/* "mail.service: 99 % of wake-ups within 5 ms: 1 of 2 cores, p99 ...". `cores` are the machine's.
 */
char *contract_text(json_object *contract, int cores);

/* An object for each hold that requests a kind of cores for a unit, with the CPUs that idled gave
 * it. `objects` is client_objects(). */
json_object *kinds_describe(json_object *manager, json_object *objects);

/* "game.scope: AllowedCPUs=0-7, before: all, for cores of kind cache; requested by ...". */
char *kind_text(json_object *unit);

/* "; requested by OWNER (REASON)" of either, or "". */
char *requester_text(json_object *request);

/* The refused affinities of the manager's properties: unit (null: of none), user, program and pid
 * (null: not for this user), cpus, count. */
json_object *refused_describe(json_object *manager);

/* "CPUs 2-3, for a.service (taskset, PID 123)" of one of them, as a new string. */
char *refused_text(json_object *refused);

#endif
