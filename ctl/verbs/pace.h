/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When the next sample is due: right behind a tick.
 *
 * Where a tick finds a CPU busy, the scheduler may wake an idle CPU to balance the load
 * (nohz_balancer_kick() in kernel/sched/fair.c). An interval of many ticks meets every tick or none
 * of them, by chance: a sample that lasts 0.3 ms wakes another CPU each time, or never. Samples
 * that begin behind a tick have all of the time until the next one.
 *
 * Ticks come at multiples of their period on all CPUs, but from when these count is not published.
 * Timeouts of sockets end with a tick (schedule_timeout() in kernel/time/timer.c): some short ones
 * show when ticks come.
 */
#ifndef IDLED_PACE_H
#define IDLED_PACE_H

#include <stdint.h>

typedef struct Pace {
        uint64_t next_usec;     /* when the next sample is due, monotonic, before timer slack */
        uint64_t interval_usec; /* between samples */
        uint64_t planned_usec;  /* next_usec if there were no ticks */
        uint64_t slack_nsec;    /* by which the kernel may be late, and on an idle CPU is */
        uint64_t tick_nsec;     /* between ticks; 0: not known, or too long for the interval */
        uint64_t phase_nsec;    /* how long after a multiple of tick_nsec a tick is over */
} Pace;

/* Finds out when ticks come, which takes some ticks. The first sample is due after `first_usec`,
 * the others every `interval_usec`; each is later by up to a tick. */
void pace_begin(Pace *pace, uint64_t interval_usec, uint64_t first_usec, uint64_t slack_nsec);

/* Sets next_usec after a sample. */
void pace_done(Pace *pace);

/* The pure part: the next sample is due at planned_usec or after `now_usec`, and as soon as a tick
 * is over. */
void pace_plan(Pace *pace, uint64_t now_usec);

#endif
