/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Delays of wake-ups: from when a task is woken until it runs, as counts in bins, and what they
 * were spent on. The BPF programs that count them use the first part, too.
 *
 * Part of what idled installs for plugins.
 */
#ifndef IDLED_WAKEUPS_H
#define IDLED_WAKEUPS_H

#include "model/octaves.h"

/* 8 bins per power of 2, from 2^10 ns (1 us) to 2^34 ns (17 s). The first bin is for all that is
 * shorter, the last for all that is longer. */
#define WAKEUPS_SUB     3  /* bits: 2^3 bins per power of 2 */
#define WAKEUPS_SHIFT   10 /* 2^10 ns: the end of the first bin */
#define WAKEUPS_OCTAVES 24 /* powers of 2 with bins of their own */
#define WAKEUPS_BINS    OCTAVES_BINS(WAKEUPS_SUB, WAKEUPS_OCTAVES)

/* Limits whose exceeding is counted exactly. */
#define WAKEUPS_LIMITS 16

/* The kernel has at most 10 idle states a CPU; the last index is for any other. */
#define WAKEUPS_STATES 11

/* What most of a delay was spent on: 0 .. WAKEUPS_STATES - 1 are the idle states that were left by
 * the task's CPU, or by the one that handled its timer. */
enum wakeup_kind {
        WAKEUPS_WAITING = WAKEUPS_STATES, /* the CPU ran another task */
        WAKEUPS_PARKED,                   /* the same, while a parked CPU could have run it */
        WAKEUPS_OTHER,                    /* the CPU was about to choose a task anyway */
        WAKEUPS_KINDS,
};

typedef struct WakeupDelays {
        uint64_t count; /* of wake-ups */
        uint64_t sum_ns, max_ns;
        uint32_t bins[WAKEUPS_BINS];
        uint32_t late[WAKEUPS_LIMITS]; /* longer than each limit that was set (bpf/bill.h) */
} WakeupDelays;

/* The bin of a delay. */
static inline uint32_t wakeups_bin(uint64_t ns)
{
        return octaves_bin(ns, WAKEUPS_SUB, WAKEUPS_SHIFT, WAKEUPS_OCTAVES);
}

#ifndef __bpf__

/* Counts one delay. */
void wakeups_add(WakeupDelays *delays, uint64_t ns);

/* Adds all of `from`, bins that are full stay so. */
void wakeups_merge(WakeupDelays *into, const WakeupDelays *from);

/* Adds all of `from`, as they are expected to be if CPUs left their idle state `less_ns` earlier.
 * The median loses that once, longer ones up to twice: the CPU that handled the timer left an idle
 * state, and then the one that ran the task. None becomes shorter than the median does, or than
 * `least_ns`; what is shorter already stays. */
void wakeups_merge_shorter(WakeupDelays *into, const WakeupDelays *from, uint64_t less_ns,
                           uint64_t least_ns);

/* How many delays the bins hold. */
uint64_t wakeups_binned(const WakeupDelays *delays);

/* The delay, in us, that the share `q` (0 .. 1) does not exceed, interpolated in its bin, which is
 * at most 12.5 % wide; NAN without delays. */
double wakeups_quantile_us(const WakeupDelays *delays, double q);

/* Where bin `i` begins, in ns; `i` up to WAKEUPS_BINS. */
static inline uint64_t wakeups_bin_begin(unsigned i)
{
        return octaves_begin(i, WAKEUPS_SUB, WAKEUPS_SHIFT);
}

#endif
#endif
