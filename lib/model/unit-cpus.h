/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which CPUs systemd's units need, from what their files say: pure.
 *
 * A unit that systemd has loaded may start at any moment, and its process asks the kernel for its
 * CPUs within milliseconds. If all of them are parked then, sched_setaffinity(2) fails with EINVAL,
 * or AllowedCPUs= silently has no effect. So idled never parks the last of the CPUs that a loaded
 * unit names.
 */
#ifndef IDLED_UNIT_CPUS_H
#define IDLED_UNIT_CPUS_H

#include "model/plan.h"

/* A unit's properties about CPUs. */
typedef struct UnitCpus {
        CpuSet affinity;    /* CPUAffinity=; empty: not set */
        CpuSet allowed;     /* AllowedCPUs=; empty: not set */
        CpuSet nodes;       /* NUMAMask=, numbers of nodes; empty: not set */
        bool numa_affinity; /* CPUAffinity=numa: the CPUs of these nodes */
        bool numa_bound;    /* NUMAPolicy=bind or preferred: its memory is on these nodes */
        bool oneshot;       /* Type=oneshot: runs for a moment */
} UnitCpus;

/* By the unit's name. */
typedef struct UnitTable UnitTable;

UnitTable *unit_table_new(void);
void unit_table_free(UnitTable *table);

/* What is known of the unit from now on; NULL: systemd unloaded it. True if that is a change. */
bool unit_table_set(UnitTable *table, const char *unit, const UnitCpus *cpus);
void unit_table_clear(UnitTable *table);

/* NULL: nothing is known of it. */
const UnitCpus *unit_table_find(const UnitTable *table, const char *unit);

/* The sets of CPUs of which the units need one each, with owners such as "a.service
 * (CPUAffinity=3)". */
Affinities *unit_table_affinities(const UnitTable *table, const Topology *topology);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(UnitTable, unit_table_free)

#endif
