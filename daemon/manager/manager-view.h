/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What others may read of the manager: nothing here changes what it decides. What is returned
 * belongs to the manager and is valid until the loop runs again, unless it is said otherwise.
 */
#ifndef IDLED_MANAGER_VIEW_H
#define IDLED_MANAGER_VIEW_H

#include "apps/apps.h"
#include "evaluate/evaluator.h"
#include "holds/holds.h"
#include "manager/active-profile.h"
#include "manager/actuator-set.h"
#include "manager/journal.h"
#include "manager/load-watch.h"
#include "manager/manager.h"
#include "manager/observers.h"
#include "manager/tick-timer.h"
#include "manager/trial.h"

/* One active policy. */
typedef struct ActivePolicy ActivePolicy;

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

/* A policy's module, its options, its last request, its evaluator (NULL: its requests never served
 * to save energy), and its figures for `cpu` (room for FIGURES_MAX; returns how many). */
const IdledPolicy *active_module(const ActivePolicy *active);
const Section *active_section(const ActivePolicy *active);
const Wish *active_wish(const ActivePolicy *active);
const Evaluator *active_evaluator(const ActivePolicy *active);
int active_figures(const ActivePolicy *active, int cpu, Figure *ret_figures);

/* Readings for queries, which change nothing that is decided; when ticks are; how new load is
 * noticed between them; application rules (NULL: there are none). */
Observers *manager_observers(const Manager *manager);
const TickTimer *manager_timer(const Manager *manager);
const LoadWatch *manager_load_watch(const Manager *manager);
const Apps *manager_apps(const Manager *manager);

/* The actuators, everything that is changed or was, and the changes of the parked CPUs. */
const ActuatorSet *manager_actuators(const Manager *manager);
const Knobs *manager_knobs(const Manager *manager);
const History *manager_history(const Manager *manager);

/* The holds. manager_open_holds() has them to add and remove. */
const Holds *manager_holds(const Manager *manager);

/* The pauses; and the trial that runs, NULL if none does. */
const Pauses *manager_pauses(const Manager *manager);
const TrialRequest *manager_trial(const Manager *manager);

/* The profile in effect: why it is, and which one a client chose. */
const ActiveProfile *manager_profile(const Manager *manager);

/* True if waiting will not change the decision: the policies are settled, or no call of them is
 * due, or they have parked. */
bool manager_has_decided(const Manager *manager);

/* True if a policy that reads holds is active. */
bool manager_serves_holds(const Manager *manager);

/* Why the hold, or a part of it, is not in effect, as a new string; NULL if nothing is known to be
 * in its way. */
char *manager_hold_obstacle(Manager *manager, const Held *held);

/* Why the profile in effect has no effect ("paused by ..."), or which other one cannot be applied,
 * as a new string; NULL if all is well. */
char *manager_profile_inhibited(const Manager *manager);

/* Why `cpu` is parked or active, with the inputs of the last decision. Valid until the next call.
 */
const CpuCause *manager_cause(Manager *manager, int cpu);

/* Why `active` requested what it did for `cpu` in addition to parking, each part with its reason,
 * into `ret_reasons` (room for EXPLAIN_MAX). Returns how many; 0 while paused. Valid until the next
 * tick. */
int manager_reasons(const Manager *manager, const ActivePolicy *active, int cpu,
                    Reason *ret_reasons);

/* Why tasks may still run on the CPUs that the plan leaves out: "another program changed cgroup
 * NAME", "this is a dry run", as a new string; NULL if they may not, or there are no such CPUs. */
char *manager_obstacle(const Manager *manager);

/* What idled has in effect for `cpu`, each part as CpuWish says it. Nothing in a dry run. */
CpuWish manager_limits(const Manager *manager, int cpu);

/* What evaluators measure energy by on this machine. */
EnergySource manager_energy_source(const Manager *manager);

/* What evaluators count work in. */
WorkUnit manager_work_unit(const Manager *manager);

#endif
