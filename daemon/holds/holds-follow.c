/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The CPUs that holds are about.
 *
 * No event tells that a process may run elsewhere. It is looked at when the machine is looked at
 * anyway, which may be seldom or never: while that matters to a hold a timer sees to the rest. It
 * has much slack, and is put off by every look.
 */
#include "base/log.h"
#include "holds/holds-parts.h"

/* How often it is looked where processes may run at most, and what that may cost. */
#define FOLLOW_SOON_USEC   G_USEC_PER_SEC
#define FOLLOW_COST_FACTOR 100

static uint64_t now(void)
{
        return (uint64_t)g_get_monotonic_time();
}

CpuSet holds_cpus_of(const Holds *holds, const Held *held)
{
        CpuSet cpus = holds->online;

        if (held->named)
                cpuset_and(&cpus, held->named);
        else if (held->holder)
                cpuset_and(&cpus, &held->holder->cpus);
        return cpus;
}

bool holds_update_cpus(Holds *holds)
{
        bool moved = false;

        for (guint i = 0; i < holds->held->len; i++) {
                Held *held = g_ptr_array_index(holds->held, i);
                Hold *hold = held_hold(held);
                CpuSet cpus = holds_cpus_of(holds, held);

                if (cpuset_equal(&cpus, &hold->cpus))
                        continue;
                hold->cpus = cpus;
                held->n_moves++;
                moved = true;
        }
        return moved;
}

/* True if where the hold's process may run can change, and matters. */
static bool is_followed(const Held *held)
{
        const Hold *hold = held_hold(held);

        return held->holder && held->holder->alive && !held->named &&
               (hold->latency_us >= 0 || hold->min_khz > 0);
}

/* Looks again after a while, if there is somebody to look at. */
static void follow_later(Holds *holds)
{
        uint64_t wait = MAX(holds->late_usec, FOLLOW_COST_FACTOR * holds->cost_usec);
        bool followed = false;
        int r = 0;

        for (guint i = 0; i < holds->held->len && !followed; i++)
                followed = is_followed(holds_nth(holds, i));
        if (followed)
                r = sd_event_source_set_time_relative(holds->late, wait);
        if (r >= 0)
                r = sd_event_source_set_enabled(holds->late,
                                                followed ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
        if (r < 0)
                log_error_errno(r, "Failed to follow the CPUs of processes with holds: %m");
}

void holds_follow_new(const Held *held)
{
        Holds *holds = held->holds;

        if (is_followed(held) && sd_event_source_get_enabled(holds->late, NULL) == 0)
                follow_later(holds);
}

static int on_late(sd_event_source *source, uint64_t usec, void *userdata)
{
        Holds *holds = userdata;
        CpuSet online = holds->online;

        holds->again = true;
        if (holds_follow(holds, &online, now()))
                holds_tell(holds);
        return 0;
}

void holds_make_timer(Holds *holds)
{
        int r = sd_event_add_time(holds->event, &holds->late, CLOCK_MONOTONIC, 0,
                                  holds->late_usec / 2, on_late, holds);

        if (r >= 0)
                r = sd_event_source_set_enabled(holds->late, SD_EVENT_OFF);
        if (r < 0)
                log_error_errno(r, "Failed to create a timer for processes with holds: %m");
}

bool holds_follow(Holds *holds, const CpuSet *online, uint64_t now_usec)
{
        uint64_t wait = MAX(FOLLOW_SOON_USEC, FOLLOW_COST_FACTOR * holds->cost_usec);
        bool others = !cpuset_equal(online, &holds->online);

        if (holds->held->len == 0 && !others)
                return false;
        if (!others && !holds->again && now_usec - holds->followed_usec < wait)
                return false;
        holds->again = false;
        holds->online = *online;
        holds->followed_usec = now_usec;
        holders_follow(holds->holders, online);
        holds->cost_usec = now() - now_usec;
        follow_later(holds);
        return holds_update_cpus(holds);
}

void holds_look_again(Holds *holds)
{
        holds->again = true;
}
