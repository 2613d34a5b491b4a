/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sweeps: settings of the machine, one after the other, each restored before the next.
 *
 * Values are changed by the daemon's own engine with the daemon's own record, whose lock keeps the
 * daemon away meanwhile. A sweep that is killed is therefore restored by "idled --restore", by the
 * next start of idled, and reported by "idlectl verify".
 */
#ifndef IDLED_SWEEP_H
#define IDLED_SWEEP_H

#include "cli/verb.h"
#include "model/topology.h"

typedef enum SweepKind {
        SWEEP_FOUND,       /* nothing is changed */
        SWEEP_GOVERNOR,    /* of cpufreq, for all its policies */
        SWEEP_EPP,         /* energy_performance_preference, the same */
        SWEEP_LATENCY,     /* resume latency limit of the CPUs that are measured */
        SWEEP_DMA_LATENCY, /* /dev/cpu_dma_latency: a latency limit of all CPUs */
        SWEEP_STATES,      /* the deepest idle state of the CPUs that are measured */
        SWEEP_PROFILE,     /* a profile of idled's, by a hold */
} SweepKind;

/* Begins a hold for a profile, with a reason for idled's log: its path, a new string, and the
 * descriptor whose closing ends it. -EBUSY, with `*ret_error`: another profile is in effect; then
 * there is a hold as well. Else errors as those of client_hold(). */
int sweep_hold(const Ctl *ctl, const char *profile, const char *reason, char **ret_path,
               int *ret_fd, char **ret_error);

typedef struct SweepPoint {
        SweepKind kind;
        char *value; /* "performance", "50us", "C1" */
        char *label; /* "governor=performance", "as found" */
} SweepPoint;

typedef struct Sweep Sweep;

/* What --sweep takes: "governor", "latency=0,50us". EXIT_USAGE after a message, in which `option`
 * is what was given. */
int sweep_parse(const char *option, const char *text, GPtrArray *wanted);

/* Finds the points of a sweep: "as found", then those that were asked for, or without values all
 * that the machine offers. `wanted` is of char *; NULL: none. Changes nothing. NULL after a
 * message, in which `option`, static, is what was given. */
Sweep *sweep_new(Ctl *ctl, const char *option, const GPtrArray *wanted, const Topology *topology,
                 const CpuSet *cpus);

/* The points, of SweepPoint. */
const GPtrArray *sweep_points(const Sweep *sweep);

/* The point "governor=performance"; NULL: there is none. */
const SweepPoint *sweep_find(const Sweep *sweep, const char *label);

/* Puts a point into effect, next to those that were entered before. On failure what was changed is
 * restored, and `*ret_error`, a new string, says what failed. */
int sweep_enter(Sweep *sweep, const SweepPoint *point, char **ret_error);

/* Restores what the point changed. Negative errno: something could not be restored, and there was a
 * message. */
int sweep_leave(Sweep *sweep);

void sweep_free(Sweep *sweep);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sweep, sweep_free)

#endif
