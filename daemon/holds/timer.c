/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Timers of the monotonic clock that fire once.
 */
#include "holds/timer.h"

#include <glib.h>
#include <time.h>

#include "base/log.h"

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

        if (timer && r >= 0)
                r = sd_event_source_set_enabled(timer, usec > 0 ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
        if (r < 0)
                log_error_errno(r, "Failed to set a timer: %m");
}

void timer_set_in(sd_event_source *timer, uint64_t usec)
{
        timer_set_at(timer, (uint64_t)g_get_monotonic_time() + usec);
}
