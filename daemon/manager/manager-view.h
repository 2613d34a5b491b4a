/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What others may read of the manager: its parts, whose headers have the questions. Nothing here
 * changes what it decides. What is returned belongs to the manager and is valid until the loop runs
 * again. manager-explain.c has the reasons of its decisions.
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
#include "manager/watching.h"
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

/* What must not notice parking: what of that is not watched, and which affinities were refused,
 * also to forget them. */
const Watching *manager_watching(const Manager *manager);

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

/* In manager-explain.c and next to it: why the manager decided as it did, and its decisions as
 * sentences, by model/explain.h. Texts are new strings unless they are constant. */

/* Why `cpu` is parked or active, with the inputs of the last decision. Valid until the next call.
 */
const CpuCause *manager_cause(Manager *manager, int cpu);

/* Why tasks may still run on the CPUs that the plan leaves out: "another program changed cgroup
 * NAME", "this is a dry run"; NULL if they may not, or there are no such CPUs. */
char *manager_obstacle(const Manager *manager);

/* The same if it is that there is nothing to confine, though nothing failed, or no way of parking;
 * else NULL. */
const char *manager_unconfined(const Manager *manager);

/* Why `active` requested what it did for `cpu` in addition to parking, each part with its reason,
 * into `ret_reasons` (room for EXPLAIN_MAX). Returns how many; 0 while paused. Valid until the next
 * tick. */
int manager_reasons(const Manager *manager, const ActivePolicy *active, int cpu,
                    Reason *ret_reasons);

/* Why nothing is in effect that policies and holds request: a pause, or a dry run; else NULL. */
char *manager_idle_obstacle(const Manager *manager);

/* Why no contract is in effect: that, or that contracts cost energy; else NULL. */
char *manager_contracts_obstacle(const Manager *manager);

/* Why the hold, or a part of it, is not in effect, with private words (private-text.h); NULL
 * if nothing is known to be in its way. */
char *manager_hold_obstacle(Manager *manager, const Held *held);

/* Why the profile in effect has no effect ("paused by ..."), or which other one cannot be applied;
 * NULL if all is well. */
char *manager_profile_inhibited(const Manager *manager);

/* "CPU 3 is parked by ondemand: ...", "CPU 3 is offline." `obstacle` is manager_obstacle(), which
 * is the same for all CPUs. */
char *manager_explain_cpu(Manager *manager, int cpu, const char *obstacle);

/* "ondemand: ..."; `source` is that of reason->option. */
char *policy_explain_reason(const char *policy, const Reason *reason, const Source *source);

/* "Requests CPUs 0-1: ...": what the policy requests and why. */
char *policy_explain_wish(const ActivePolicy *active, const CpuSet *online);

#endif
