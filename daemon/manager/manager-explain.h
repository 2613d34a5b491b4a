/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The daemon's decisions as sentences, by model/explain.h. All results are new strings.
 */
#ifndef IDLED_MANAGER_EXPLAIN_H
#define IDLED_MANAGER_EXPLAIN_H

#include "manager/manager-view.h"

/* "CPU 3 is parked by ondemand: ...", "CPU 3 is offline." `obstacle` is manager_obstacle(), which
 * is the same for all CPUs. */
char *manager_explain_cpu(Manager *manager, int cpu, const char *obstacle);

/* "ondemand: ..."; `source` is that of reason->option. */
char *policy_explain_reason(const char *policy, const Reason *reason, const Source *source);

/* "Wishes 0-1 in use: ...": what the policy requests and why. */
char *policy_explain_wish(const ActivePolicy *active, const CpuSet *online);

#endif
