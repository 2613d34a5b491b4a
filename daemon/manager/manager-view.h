/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What others may read of the manager: its parts, whose headers have the questions. Nothing here
 * changes what it decides. What is returned belongs to the manager and is valid until the loop runs
 * again. manager-explain.h has the reasons of its decisions.
 */
#ifndef IDLED_MANAGER_VIEW_H
#define IDLED_MANAGER_VIEW_H

#include "apps/apps.h"
#include "holds/holds.h"
#include "manager/active-policy.h"
#include "manager/active-profile.h"
#include "manager/actuator-set.h"
#include "manager/contracts.h"
#include "manager/history.h"
#include "manager/load-watch.h"
#include "manager/manager.h"
#include "manager/observers.h"
#include "manager/refusals.h"
#include "model/energy-source.h"

/* The command line; the configuration in effect; the CPUs; the sensors, for their errors and names.
 */
const ManagerSetup *manager_setup(const Manager *manager);
const Config *manager_config(const Manager *manager);
const Topology *manager_topology(const Manager *manager);
const Sensors *manager_sensors(const Manager *manager);

/* The last reading of the policies. */
const Snapshot *manager_snapshot(const Manager *manager);

/* The plan in effect, merged and safe; and the online CPUs that are parked now. */
const Plan *manager_plan(const Manager *manager);
const CpuSet *manager_parked(const Manager *manager);

/* The active policies by rank, one by one; NULL after the last. */
const ActivePolicy *manager_policy(const Manager *manager, unsigned i);

/* Readings for queries, which change nothing that is decided; when ticks are; how new load is
 * noticed between them; application rules (NULL: there are none). */
Observers *manager_observers(const Manager *manager);
const TickTimer *manager_timer(const Manager *manager);
const LoadWatch *manager_load_watch(const Manager *manager);
const Apps *manager_apps(const Manager *manager);

/* Why idled does not notice input to terminals, or cpusets that change, while CPUs are parked, for
 * people: an inotify watch is refused. NULL: it does, or there are none. */
const char *manager_terminals_unwatched(const Manager *manager);
const char *manager_cpusets_unwatched(const Manager *manager);

/* Affinities that were refused because CPUs were parked. */
const Refusals *manager_refusals(const Manager *manager);

/* The actuators, everything that is changed or was, and the changes of the parked CPUs. */
const ActuatorSet *manager_actuators(const Manager *manager);
const Knobs *manager_knobs(const Manager *manager);
const History *manager_history(const Manager *manager);

/* The holds, to read, add and remove them; after a change call manager_attend(). */
Holds *manager_holds(const Manager *manager);

/* Contracts of units. */
const Contracts *manager_contracts(const Manager *manager);

/* The pauses, also to add and end them; and the trial that runs, NULL if none does. */
Pauses *manager_pauses(const Manager *manager);
const Trial *manager_trial(const Manager *manager);

/* The profile in effect: why it is, and which one a client chose. */
const ActiveProfile *manager_profile(const Manager *manager);

/* True if waiting will not change the decision: the policies are settled, or no call of them is
 * due, or they have parked. */
bool manager_has_decided(const Manager *manager);

/* True if a policy that reads holds is active. */
bool manager_serves_holds(const Manager *manager);

/* What idled has in effect for `cpu`, each part as CpuWish says it. Nothing in a dry run. */
CpuWish manager_limits(const Manager *manager, int cpu);

/* What evaluators measure energy by on this machine. */
EnergySource manager_energy_source(const Manager *manager);

#endif
