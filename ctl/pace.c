/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pace of samples.
 */
#include "pace.h"

#include <glib.h>
#include <stdbool.h>
#include <time.h>

static uint64_t usec_of(const struct timespec *time)
{
        return (uint64_t)time->tv_sec * G_USEC_PER_SEC + (uint64_t)time->tv_nsec / 1000;
}

/* The coarse clock moves with ticks. */
static uint64_t last_tick(void)
{
        struct timespec time = { 0 };

        clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
        return usec_of(&time);
}

void pace_begin(Pace *pace, uint64_t interval_usec, uint64_t first_usec)
{
        struct timespec tick = { 0 };

        clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
        *pace = (Pace){ .interval_usec = interval_usec,
                        .next_usec = (uint64_t)g_get_monotonic_time() + first_usec,
                        .tick_usec = usec_of(&tick) };
}

void pace_awake(Pace *pace)
{
        pace->awake_usec = (uint64_t)g_get_monotonic_time();
        pace->ticked_usec = last_tick();
        pace->met_usec = 0;
}

void pace_look(Pace *pace)
{
        pace_see(pace, (uint64_t)g_get_monotonic_time(), last_tick());
}

void pace_done(Pace *pace)
{
        pace_look(pace);
        pace_advance(pace, (uint64_t)g_get_monotonic_time());
}

void pace_see(Pace *pace, uint64_t now_usec, uint64_t ticked_usec)
{
        if (pace->met_usec == 0 && ticked_usec > pace->ticked_usec)
                pace->met_usec = now_usec - pace->awake_usec;
}

void pace_advance(Pace *pace, uint64_t now_usec)
{
        bool fits = now_usec - pace->awake_usec < pace->tick_usec;

        pace->next_usec += pace->interval_usec;
        if (fits && pace->met_usec > 0)
                pace->next_usec += pace->met_usec + pace->tick_usec / 32;
        pace->next_usec = MAX(pace->next_usec, now_usec);
}
