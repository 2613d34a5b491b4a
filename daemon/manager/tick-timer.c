/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The timer of ticks. A daemon that saves energy must not spend it on finding out that there is
 * nothing to do: the timer has slack, so that the kernel can let it go off with others, and while
 * nothing changes the waits double. Without a period it goes off once a minute while something is
 * changed, to see whether that is still so.
 */
#include "manager/tick-timer.h"

#include <glib.h>
#include <time.h>

#include "model/snapshot.h"

uint64_t cadence_stretch(const Cadence *cadence, uint64_t stretch)
{
        uint64_t most = STRETCH_MAX;

        if (cadence->period_usec == 0)
                return 0;
        if (cadence->most_usec / cadence->period_usec < most)
                most = cadence->most_usec / cadence->period_usec;
        if (cadence->changed || !cadence->settled || stretch == 0 || most == 0)
                return 1;
        return stretch >= most / 2 ? most : 2 * stretch;
}

uint64_t cadence_wake(uint64_t interval_usec, uint64_t wake_at_usec, uint64_t now_usec,
                      bool *ret_exact)
{
        uint64_t rest = wake_at_usec > now_usec + READING_USEC ? wake_at_usec - now_usec
                                                               : READING_USEC;

        *ret_exact = wake_at_usec &&
                     (interval_usec == 0 || rest <= interval_usec + interval_usec / 4);
        if (*ret_exact)
                return rest;
        return interval_usec;
}

bool quiet_note(Quiet *quiet, uint64_t end_usec, uint64_t interval_usec, double busy)
{
        bool again = end_usec == quiet->end_usec, over;

        quiet->end_usec = end_usec;
        quiet->span_usec += again ? 0 : interval_usec;
        quiet->busy_usec += again ? 0 : busy * (double)interval_usec;
        over = quiet->busy_usec >= QUIET_CPUS * (double)MAX(quiet->span_usec, QUIET_SPAN_USEC);
        if (over)
                quiet->since_usec = 0;
        else if (quiet->since_usec == 0 && interval_usec > 0 && !again)
                quiet->since_usec = end_usec - interval_usec;
        if (over || quiet->span_usec >= QUIET_SPAN_USEC)
                quiet->span_usec = 0, quiet->busy_usec = 0;
        return quiet->since_usec > 0 && end_usec - quiet->since_usec >= QUIET_AFTER_USEC;
}

/* The slack of a timer that has none: 0 would mean a quarter of a second. */
#define EXACT_USEC 1

/* The time of a tick that is due at once, in the past. */
#define SOON 1

struct TickTimer {
        sd_event_source *source; /* NULL: not listening */
        void (*tick)(void *userdata);
        void *userdata;
        uint64_t count;         /* of ticks */
        uint64_t stretch;       /* how many periods the interval is */
        uint64_t interval_usec; /* as set; 0: no timer */
        uint64_t over_usec;     /* when the period is */
        uint64_t late_usec;     /* the most that a tick came too late */
};

TickTimer *tick_timer_new(void)
{
        return g_new0(TickTimer, 1);
}

void tick_timer_free(TickTimer *timer)
{
        if (!timer)
                return;
        tick_timer_unlisten(timer);
        g_free(timer);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
        TickTimer *timer = userdata;
        uint64_t slack = 0, now = manager_now();

        sd_event_source_get_time_accuracy(source, &slack);
        if (usec != SOON && now > usec + slack)
                timer->late_usec = MAX(timer->late_usec, now - usec - slack);
        timer->tick(timer->userdata);
        return 0;
}

int tick_timer_listen(TickTimer *timer, sd_event *event, void (*tick)(void *userdata),
                      void *userdata)
{
        timer->tick = tick;
        timer->userdata = userdata;
        return timer_add(event, &timer->source, 0, on_timer, timer);
}

void tick_timer_unlisten(TickTimer *timer)
{
        timer->source = sd_event_source_disable_unref(timer->source);
}

bool tick_timer_is_set(const TickTimer *timer)
{
        return timer->source && sd_event_source_get_enabled(timer->source, NULL) > 0;
}

/* The interval, 0 for none, or that until `usec` if it is sooner. */
static uint64_t sooner(uint64_t interval, uint64_t usec)
{
        uint64_t now = manager_now(), rest = usec > now ? usec - now : 1;

        return interval == 0 ? rest : MIN(interval, rest);
}

static void arm(TickTimer *timer, const NextTick *next)
{
        uint64_t interval;
        bool exact;

        timer->over_usec = next->read_usec + next->cadence.period_usec;
        timer->stretch = cadence_stretch(&next->cadence, timer->stretch);
        interval = timer->stretch * next->cadence.period_usec;
        if (interval > 0 && interval < READING_USEC)
                interval = READING_USEC;
        if (interval == 0)
                interval = next->check_usec;
        if (next->recheck_usec > 0)
                interval = sooner(interval, next->recheck_usec);
        interval = cadence_wake(interval, next->wake_at_usec, manager_now(), &exact);
        timer->interval_usec = interval;
        if (timer->source && interval > 0)
                sd_event_source_set_time_accuracy(timer->source, exact ? EXACT_USEC : interval / 4);
        timer_set_at(timer->source, interval > 0 ? manager_now() + interval : 0);
}

void tick_timer_arm(TickTimer *timer, const NextTick *next)
{
        timer->count++;
        arm(timer, next);
}

/* CLOCK_MONOTONIC; UINT64_MAX: no tick is due. */
static uint64_t due_at(const TickTimer *timer)
{
        uint64_t due = UINT64_MAX;

        if (tick_timer_is_set(timer))
                sd_event_source_get_time(timer->source, &due);
        return due;
}

void tick_timer_arm_sooner(TickTimer *timer, const NextTick *next)
{
        uint64_t due = due_at(timer);

        arm(timer, next);
        /* What no event brought near was for a period, or for knobs, that are no more. */
        if (due >= due_at(timer) ||
            (timer->interval_usec == 0 && due > manager_now() + READING_USEC))
                return;
        timer_set_at(timer->source, due);
}

void tick_timer_soon(TickTimer *timer)
{
        timer_set_at(timer->source, SOON);
}

void tick_timer_in(TickTimer *timer, uint64_t usec)
{
        timer_set_in(timer->source, usec);
}

void tick_timer_at(TickTimer *timer, uint64_t usec, uint64_t accuracy_usec)
{
        if (timer->source)
                sd_event_source_set_time_accuracy(timer->source, accuracy_usec);
        timer_set_at(timer->source, MAX(usec, timer->over_usec));
}

uint64_t tick_timer_count(const TickTimer *timer)
{
        return timer->count;
}

uint64_t tick_timer_interval(const TickTimer *timer)
{
        return timer->interval_usec;
}

uint64_t tick_timer_late(const TickTimer *timer)
{
        return timer->late_usec;
}
