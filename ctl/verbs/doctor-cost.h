/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What it costs that CPUs sleep less deeply than they could: at most the difference between the
 * states in which they sleep now and the cheapest one, by a power table.
 *
 * It is a bound, because some sleeps would be too short for that state, and an estimate.
 */
#ifndef IDLED_DOCTOR_COST_H
#define IDLED_DOCTOR_COST_H

#include "cli/price.h"

typedef struct DoctorCost DoctorCost;

/* `prices` may be NULL, and stay the caller's. */
DoctorCost *doctor_cost_new(int root, const Prices *prices);
void doctor_cost_free(DoctorCost *cost);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DoctorCost, doctor_cost_free)

/* The watts that `cpus` draw now above the cheapest state that the kernel offers them, if only it
 * is switched off or forbidden. NaN: not known. The first call takes a second. */
double doctor_cost_known(DoctorCost *cost, const CpuSet *cpus);

/* The same above the cheapest state of the table, which the kernel may not offer. `idle` is the
 * state that CPUs sleep in where the kernel does not say: "C0" if they poll, "C1" if they halt. */
double doctor_cost_hidden(DoctorCost *cost, const CpuSet *cpus, const char *idle);

#endif
