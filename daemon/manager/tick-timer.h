/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When the next tick is: the cadence, which is pure, and the timer.
 */
#ifndef IDLED_TICK_TIMER_H
#define IDLED_TICK_TIMER_H

#include "manager/ground.h"

/* How many periods ticks may be apart while nothing changes. By default that is 3 s: a third of a
 * wake-up a second. */
#define STRETCH_MAX 12

typedef struct Cadence {
        uint64_t period_usec; /* that the policies requested; 0: none did */
        bool settled;         /* the policies will decide the same while the load stays */
        bool changed;         /* this tick changed the plan, or something outside called for it */
        uint64_t most_usec;   /* how long ticks may be apart for all load watches. 0: no watch;
                                 UINT64_MAX: load that arrives will wake us */
} Cadence;

/* How many periods to wait, given that it was `stretch` before: doubles from 1 while nothing
 * changes, up to STRETCH_MAX and most_usec; 1 as soon as something does, and always when load could
 * arrive unnoticed. 0: no timer, because no policy requested a period. */
uint64_t cadence_stretch(const Cadence *cadence, uint64_t stretch);

/* The interval to the next tick, given what the period makes it (0: none) and when a policy asked
 * to be called (CLOCK_MONOTONIC; 0: none did), READING_USEC from `now_usec` at the soonest.
 * `*ret_exact`: that time is the next, so that the timer must have no slack. */
uint64_t cadence_wake(uint64_t interval_usec, uint64_t wake_at_usec, uint64_t now_usec,
                      bool *ret_exact);

/* Since when the machine has had next to nothing to do. Starts from zeroes. */
typedef struct Quiet {
        uint64_t since_usec; /* 0: it had something to do lately */
        uint64_t end_usec;   /* of the last interval */
        uint64_t span_usec;  /* what was added up, and for how long CPUs were busy in it */
        double busy_usec;
} Quiet;

/* How much may be busy, in CPUs, on average of a span, and for how long, until the machine is
 * called quiet. A single interval may be so short that one small process fills it. */
#define QUIET_CPUS       0.05
#define QUIET_SPAN_USEC  UINT64_C(2000000)
#define QUIET_AFTER_USEC UINT64_C(30000000)

/* Notes the interval of `interval_usec` that ended at `end_usec`, in which `busy` CPUs were busy on
 * average; the same interval again changes nothing. True if the machine is quiet. */
bool quiet_note(Quiet *quiet, uint64_t end_usec, uint64_t interval_usec, double busy);

/* What decides when the next tick is. */
typedef struct NextTick {
        Cadence cadence;
        uint64_t check_usec;   /* without a period: until what is in effect is checked; 0: never */
        uint64_t recheck_usec; /* CLOCK_MONOTONIC: pinned tasks must be checked again; 0: never */
        uint64_t wake_at_usec; /* CLOCK_MONOTONIC: a policy requested a tick; 0: none did */
        uint64_t read_usec;    /* CLOCK_MONOTONIC: the last reading */
} NextTick;

typedef struct TickTimer TickTimer;

TickTimer *tick_timer_new(void);
void tick_timer_free(TickTimer *timer);

/* From now on the timer calls `tick`; before and after, setting it has no effect. Negative errno.
 */
int tick_timer_listen(TickTimer *timer, sd_event *event, void (*tick)(void *userdata),
                      void *userdata);
void tick_timer_unlisten(TickTimer *timer);

/* After a tick: sets the timer for the next one, with slack unless a policy requested that time, or
 * switches it off. */
void tick_timer_arm(TickTimer *timer, const NextTick *next);

/* After acting between two ticks, which does not count as one: as tick_timer_arm(), but a tick that
 * is due stays so. */
void tick_timer_arm_sooner(TickTimer *timer, const NextTick *next);

/* The next tick is as soon as the loop is free, in `usec`, or at `usec` (CLOCK_MONOTONIC) with this
 * accuracy but not before the policies' period is over. */
void tick_timer_soon(TickTimer *timer);
void tick_timer_in(TickTimer *timer, uint64_t usec);
void tick_timer_at(TickTimer *timer, uint64_t usec, uint64_t accuracy_usec);

/* True while a tick is due. */
bool tick_timer_is_set(const TickTimer *timer);

/* Ticks so far: how often tick_timer_arm() was called. */
uint64_t tick_timer_count(const TickTimer *timer);

/* To the next tick as armed; 0: none. */
uint64_t tick_timer_interval(const TickTimer *timer);

/* The most that a tick came after the time and slack of the timer. */
uint64_t tick_timer_late(const TickTimer *timer);

#endif
