/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flags that are due, and the event source that has the manager attend to them.
 */
#include "manager/ground.h"

#include <time.h>

#include "base/log.h"

static void enable(sd_event_source *source, int enabled)
{
        int r = source ? sd_event_source_set_enabled(source, enabled) : 0;

        if (r < 0)
                log_error_errno(r, "Failed to set an event source: %m");
}

int timer_add(sd_event *event, sd_event_source **ret_timer, uint64_t accuracy_usec,
              sd_event_time_handler_t callback, void *userdata)
{
        int r = sd_event_add_time(event, ret_timer, CLOCK_MONOTONIC, 0, accuracy_usec, callback,
                                  userdata);

        return r < 0 ? r : sd_event_source_set_enabled(*ret_timer, SD_EVENT_OFF);
}

void timer_set_at(sd_event_source *timer, uint64_t usec)
{
        int r = timer && usec > 0 ? sd_event_source_set_time(timer, usec) : 0;

        if (r < 0)
                log_error_errno(r, "Failed to set a timer: %m");
        else
                enable(timer, usec > 0 ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

void timer_set_in(sd_event_source *timer, uint64_t usec)
{
        timer_set_at(timer, manager_now() + usec);
}

void ground_raise(Ground *ground, unsigned due)
{
        ground->due |= due;
        if (due & ~DUE_LATER)
                enable(ground->attend, SD_EVENT_ONESHOT);
}

unsigned ground_take(Ground *ground, unsigned flags)
{
        unsigned due = ground->due & flags;

        ground->due &= ~flags;
        if (due && !(ground->due & ~DUE_LATER))
                enable(ground->attend, SD_EVENT_OFF);
        return due;
}
