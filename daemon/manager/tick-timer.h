/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The timer of ticks: when the next one comes.
 */
#ifndef IDLED_TICK_TIMER_H
#define IDLED_TICK_TIMER_H

#include <systemd/sd-event.h>

#include "manager/cadence.h"

/* What decides when the next tick is. */
typedef struct NextTick {
        Cadence cadence;
        uint64_t check_usec;   /* without a period: until what is in effect is checked; 0: never */
        uint64_t recheck_usec; /* CLOCK_MONOTONIC: pinned tasks must be checked again; 0: never */
        uint64_t wake_at_usec; /* CLOCK_MONOTONIC: a policy requested a tick; 0: none did */
} NextTick;

typedef struct TickTimer TickTimer;

TickTimer *tick_timer_new(void);
void tick_timer_free(TickTimer *timer);

/* From now on the timer calls `tick`; before and after, setting it has no effect. Negative errno.
 */
int tick_timer_listen(TickTimer *timer, sd_event *event, void (*tick)(void *userdata),
                      void *userdata);
void tick_timer_unlisten(TickTimer *timer);
bool tick_timer_is_listening(const TickTimer *timer);

/* After a tick: sets the timer for the next one, with slack unless a policy requested that time, or
 * switches it off. */
void tick_timer_arm(TickTimer *timer, const NextTick *next);

/* After acting between two ticks, which does not count as one: as tick_timer_arm(), but a tick that
 * is due stays so. */
void tick_timer_arm_sooner(TickTimer *timer, const NextTick *next);

/* The next tick is as soon as the loop is free, in `usec`, or at `usec` (CLOCK_MONOTONIC) with this
 * accuracy. */
void tick_timer_soon(TickTimer *timer);
void tick_timer_in(TickTimer *timer, uint64_t usec);
int tick_timer_at(TickTimer *timer, uint64_t usec, uint64_t accuracy_usec);

/* True while a tick is due. */
bool tick_timer_is_set(const TickTimer *timer);

/* Ticks so far: how often tick_timer_arm() was called. */
uint64_t tick_timer_count(const TickTimer *timer);

/* To the next tick as armed; 0: none. */
uint64_t tick_timer_interval(const TickTimer *timer);

/* The most that a tick came after the time and slack of the timer. */
uint64_t tick_timer_late(const TickTimer *timer);

/* Has any timer go off once, after so many microseconds; logs errors. */
void timer_set_in(sd_event_source *timer, uint64_t usec);

#endif
