/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by the two actuators that keep parked CPUs from being woken: irq.c, with irqbalance.c, and
 * sysctl.c.
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

/* The CPUs that irqbalance keeps interrupts off, as a list, or "none". The knob's name is that of
 * irqbalance's socket: "irqbalance812.sock" in /run/irqbalance, or with "@" before it in the
 * abstract name space. */
extern const KnobKind irqbalance_kind;

/* The knob's name, as a new string, if irqbalance runs; else NULL. */
char *irqbalance_find(const ActContext *context);

/* Asks irqbalance for the CPUs that it keeps free already, then has it keep interrupts off `cpus`
 * as well. Returns as knob_set(). -EBUSY: the answer is pending, and `*question` is the connection
 * to pass to the next call; it is -1 before the first. */
int irqbalance_ban(Knobs *knobs, const ActContext *context, const char *name, const CpuSet *cpus,
                   int *question);

/* Waits for the answer, 15 s at most, and closes the connection; there may be none. */
void irqbalance_done(int *question);

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
