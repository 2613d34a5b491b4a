/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Timers of the monotonic clock that fire once.
 */
#ifndef IDLED_TIMER_H
#define IDLED_TIMER_H

#include <systemd/sd-event.h>

/* A timer that is off; negative errno. */
int timer_add(sd_event *event, sd_event_source **ret_timer, uint64_t accuracy_usec,
              sd_event_time_handler_t callback, void *userdata);

/* Has the timer fire once, in `usec` or at that time; 0: never. Without a timer (NULL) nothing is
 * done. An error is logged. */
void timer_set_in(sd_event_source *timer, uint64_t usec);
void timer_set_at(sd_event_source *timer, uint64_t usec);

#endif
