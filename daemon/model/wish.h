/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one policy wishes, and why.
 *
 * Every field has a value that means "no wish", which wish_init() sets; how the wishes of several
 * policies become one plan is said here, field by field, and done by plan_merge() in plan.c.
 *
 * Part of what idled installs for plugins.
 */
#ifndef IDLED_WISH_H
#define IDLED_WISH_H

#include <stdbool.h>

#include "base/cpuset.h"

#define REASON_INPUTS 4

/* Why a policy decided so: one sentence, the inputs it looked at, and the option whose value was
 * the threshold. All strings are static in the policy's module. */
typedef struct Reason {
        const char *because; /* "the filtered load needs fewer cores"; NULL: no reason given */
        struct {
                const char *name; /* "filtered load"; NULL ends the list */
                const char *unit; /* "CPUs", "%", "s", ... */
                double value;     /* in that unit */
        } inputs[REASON_INPUTS];
        const char *option;            /* key of the option behind the decision; NULL: none */
        double threshold;              /* the option's value as configured, in `threshold_unit`; the
                                          inputs were compared with it, unless `effective_because` */
        const char *threshold_unit;    /* NULL: the option's value is no number, see it there */
        double effective;              /* what they were compared with instead, in the same unit */
        const char *effective_because; /* "after 2 reversals"; NULL: the configured value counts */
} Reason;

/* What a policy wishes for one CPU's frequency and idle states. */
typedef struct CpuWish {
        int32_t latency_us; /* PM QoS: wake up within this time; 0 forbids every sleep. No wish: -1.
                               Merge: minimum. */
        uint16_t disabled;  /* idle states to switch off, bit n for state n of this CPU. No wish: 0.
                               Merge: union; never all of them. */
        int8_t bias;        /* EPB, 0 (performance) .. 15 (power). No wish: -1. Merge: by rank. */
        int8_t boost;       /* 0 or 1. No wish: -1. Merge: by rank. */
        uint32_t min_khz;   /* No wish: 0. Merge: maximum. */
        uint32_t max_khz;   /* No wish: 0. Merge: minimum of those wished; raised to min_khz. */
        const char *governor;   /* that the CPU's FreqPolicy has. No wish: NULL. Merge: by rank. */
        const char *preference; /* EPP. No wish: NULL. Merge: by rank. */
} CpuWish;

typedef struct Wish {
        CpuSet allowed;        /* CPUs for ordinary work. No wish: all CPUs. Merge: intersection. */
        Reason allowed_reason; /* of the set as it is now */
        uint64_t period_usec;  /* call again after this time, READING_USEC at least. The timer has
                                  slack: it may go off a quarter of the period later, together
                                  with others. While all wishes are `settled` and nothing changes
                                  the period doubles with each call, up to MaxStretch= periods.
                                  No wish: 0, never. Merge: minimum. */
        uint64_t wake_at_usec; /* call at this time of CLOCK_MONOTONIC, which is that of
                                  snapshot->time_usec, however the period stretches, and without
                                  slack; READING_USEC from now at the soonest. Ask for it in each
                                  call until the time has come. No wish: 0. Merge: minimum. */
        CpuSet kept;           /* CPUs that nobody may park. No wish: none. Merge: union. */
        unsigned min_cores;    /* in use, whoever parks. No wish: 0. Merge: maximum. */
        unsigned max_cores;    /* so many cores of `allowed` and of what policies of higher rank
                                  leave are enough: idled chooses which, whole clusters and
                                  packages first, the cheapest capacity kept, and takes the others
                                  out of `allowed`. No wish: 0. Merge: as `allowed`. */
        int n_cpus;            /* entries of `cpus`: 0, or the topology's number */
        CpuWish *cpus;         /* by CPU number, of policies with WISHES_CPUS; else NULL */
        const char
                *idle_governor; /* of the kernel: "menu", "teo". No wish: NULL. Merge: by rank. */
        int32_t global_latency_us; /* of all CPUs, by /dev/cpu_dma_latency, only if somebody asked
                                      for just that. No wish: -1. Merge: minimum. */
        bool for_saving;  /* it requests something now, and only to save energy: idled measures what
                             that saves, by ignoring it for some seconds now and then, and may
                             ignore it for longer where it costs. Default: false. Merge: none. */
        bool settled;     /* the next calls will decide the same as long as the load stays as it
                             is, so the period may stretch. Set it to false while a dwell time
                             runs, or if the period has to stay as it is. No wish: true. Merge:
                             and. */
        bool on_pressure; /* call at once when tasks begin to wait for CPUs. No wish: false.
                             Merge: or. */
        unsigned reads;   /* Sense flags that the next reading shall have beside those of `needs`.
                             What is a difference is in a snapshot if both its ends had it. No
                             wish: 0. Merge: union. */
} Wish;

/* A wish for nothing. */
static inline void wish_init(Wish *wish)
{
        *wish = (Wish){ .settled = true, .global_latency_us = -1 };
        memset(&wish->allowed, 0xff, sizeof(wish->allowed));
}

/* Gives the wish `n_cpus` wishes for single CPUs, for nothing. `cpus` stays the caller's. */
static inline void wish_init_cpus(Wish *wish, CpuWish *cpus, int n_cpus)
{
        for (int i = 0; i < n_cpus; i++)
                cpus[i] = (CpuWish){ .latency_us = -1, .bias = -1, .boost = -1 };
        wish->cpus = cpus;
        wish->n_cpus = n_cpus;
}

#endif
