/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When the next sample is due.
 *
 * Where a tick finds a CPU busy, the scheduler may wake an idle CPU to balance the load
 * (nohz_balancer_kick() in kernel/sched/fair.c). An interval of many ticks meets every tick or none
 * of them, by chance: a sample that lasts 0.3 ms wakes another CPU each time, or never. So once a
 * sample met a tick, the next ones begin right behind where that tick was.
 *
 * Not every tick is seen: the coarse clock advances at a tick only if one of its own steps lies
 * between the beginning of the sample and the tick. Seen on 6.12; there chance still decides.
 */
#ifndef IDLED_PACE_H
#define IDLED_PACE_H

#include <stdint.h>

typedef struct Pace {
        uint64_t interval_usec, next_usec; /* next_usec: when the next sample is due, monotonic */
        uint64_t tick_usec;                /* between ticks; 0: not known */
        uint64_t awake_usec, ticked_usec;  /* when the sample began; the last tick before */
        uint64_t met_usec;                 /* from then until a tick was seen; 0: none */
} Pace;

/* A pace whose first sample is due after `first_usec`. */
void pace_begin(Pace *pace, uint64_t interval_usec, uint64_t first_usec);

/* To be called before a sample, after each part of it, and when all of it is done, output included.
 * pace_done() sets next_usec. */
void pace_awake(Pace *pace);
void pace_look(Pace *pace);
void pace_done(Pace *pace);

/* Pure parts of these: it is `now_usec`, and the kernel's last tick was at `ticked_usec`. Samples
 * that last longer than a tick meet one whenever they begin: these move nothing. */
void pace_see(Pace *pace, uint64_t now_usec, uint64_t ticked_usec);
void pace_advance(Pace *pace, uint64_t now_usec);

#endif
