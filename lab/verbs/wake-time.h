/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When the event came that ended a sleep. A CPU handles an interrupt only after it has left its
 * idle state, so what is measured includes the exit latency, but an idle period of a trace does
 * not.
 *
 * The latency that the driver lists is the longest possible, and on a virtual machine it may not
 * exist at all. Timers show it: they expire at a known time. So a sleep that a timer ended lasted
 * until then, or for the measured length less the listed latency if that is longer. From any other
 * sleep the mean latency of the last 16 or so timers is subtracted, nothing before the first one.
 */
#ifndef IDLED_CTL_WAKE_TIME_H
#define IDLED_CTL_WAKE_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* The exit latency of one state on one CPU. Zeroed except `listed_ns` before its first sleep. */
typedef struct ExitLatency {
        uint64_t listed_ns; /* by the driver; 0: none */
        uint64_t mean_ns;   /* as timers showed it, at most what is listed */
        bool is_known;      /* there was a timer */
} ExitLatency;

/* Nanoseconds from idle entry to the event that ended the sleep: at most `measured_ns`. `timer_ns`
 * is the time to the next timer at idle entry; it counts if that ended the sleep (`by_timer`). */
uint64_t wake_time_find(ExitLatency *latency, uint64_t measured_ns, uint64_t timer_ns,
                        bool by_timer);

#endif
