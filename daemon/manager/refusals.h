/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Refused affinities: sees them while CPUs are parked, and knows which CPUs stay active because of
 * them. model/refused-cpus.h has the rules.
 */
#ifndef IDLED_REFUSALS_H
#define IDLED_REFUSALS_H

#include "manager/ground.h"
#include "model/refused-cpus.h"

typedef struct Refusals Refusals;

/* Reads the services of an earlier instance from the state directory, and keeps them there. */
Refusals *refusals_new(Ground *ground, const Knobs *knobs);
void refusals_free(Refusals *refusals);

/* Watches from now on if CPUs are parked: these, of those that are online. */
void refusals_follow(Refusals *refusals, const Topology *topology, const CpuSet *parked);

/* Ends to watch. */
void refusals_rest(Refusals *refusals);

/* Why refusals go unseen, as negative errno of the last parking; 0: they do not. */
int refusals_error(const Refusals *refusals);

/* What is known. */
const RefusedTable *refusals_table(const Refusals *refusals);

/* CPUs that must be active, given which services are loaded; valid until the next call. */
const Affinities *refusals_affinities(Refusals *refusals,
                                      bool (*loaded)(const char *unit, const void *userdata),
                                      const void *userdata);

/* All cgroups whose lists idled wrote, as new strings, and NULL. */
GPtrArray *refusals_own_groups(const Ground *ground, const Knobs *knobs);

/* refused_forget(), also on the disk. */
unsigned refusals_forget(Refusals *refusals, const char *unit);

#endif
