/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by the two actuators that keep parked CPUs from being woken: irq.c and sysctl.c.
 */
#ifndef IDLED_QUIET_H
#define IDLED_QUIET_H

#include "act/tune/tuning.h"

/* Section [Interrupts] of idled.conf. */
typedef struct InterruptOptions {
        bool manage;
        char **exclude; /* globs of numbers and of names of handlers */
} InterruptOptions;

/* Section [Housekeeping] of idled.conf. */
typedef struct HousekeepingOptions {
        bool manage;
} HousekeepingOptions;

extern const Setting interrupt_settings[], housekeeping_settings[];

/* An identity() of knobs whose names are never used again for others. */
uint64_t quiet_identity(const ActContext *context, const char *name);

/* An equal() of numbers in whatever base: leading zeros and commas count for nothing. */
bool quiet_equal_number(const char *a, const char *b);

/* The CPUs of `found` without `resting`; if none of them is online, all online CPUs for ordinary
 * work without `resting`. False if there are none, or `found` has none of `resting`: then it does
 * not change. */
bool quiet_cpus(const CpuSet *found, const CpuSet *resting, const Topology *topology,
                CpuSet *ret_cpus);

/* Gives all knobs of the kind back. Returns the first error. */
int quiet_release(Knobs *knobs, const KnobKind *kind);

#endif
