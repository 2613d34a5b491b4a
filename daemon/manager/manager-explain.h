/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why the manager decided as it did, and its decisions as sentences, by model/explain.h. Texts
 * are new strings unless they are constant.
 */
#ifndef IDLED_MANAGER_EXPLAIN_H
#define IDLED_MANAGER_EXPLAIN_H

#include "manager/manager-view.h"

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
