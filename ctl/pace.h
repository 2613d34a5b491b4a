/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When the next sample is due.
 *
 * Where a tick finds a CPU busy, the scheduler may wake an idle CPU to balance the load
 * (nohz_balancer_kick() in kernel/sched/fair.c). An interval of many ticks meets every tick or none
 * of them, by chance: a sample that lasts 0.3 ms wakes another CPU each time, or never. So the pace
 * moves away from ticks that it meets.
 */
#ifndef IDLED_PACE_H
#define IDLED_PACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Pace {
        uint64_t interval_usec, next_usec; /* next_usec: when the next sample is due, monotonic */
        uint64_t tick_usec;                /* 0: not known */
        uint64_t ticked_usec;              /* the last tick before the sample */
} Pace;

/* A pace whose first sample is due after `first_usec`. */
void pace_begin(Pace *pace, uint64_t interval_usec, uint64_t first_usec);

/* To be called before a sample, and when all of it is done, output included. */
void pace_awake(Pace *pace);
void pace_done(Pace *pace);

/* Pure: the sample ended at `now_usec`, and the kernel's last tick was at `ticked_usec` then. Sets
 * next_usec. Samples that last longer than a tick meet one whenever they begin: these stay. */
void pace_advance(Pace *pace, uint64_t now_usec, uint64_t ticked_usec);

#endif
