/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pace of samples.
 */
#include "pace.h"

#include <glib.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/file.h"

/* Timeouts to find the ticks with. Each ends with a tick, and a little later on a busy machine. */
#define TIMEOUTS 4

/* In shorter intervals a sample would be late by too much of one. */
#define TICKS_LEAST 10

/* Waits until a tick has passed. */
static bool wait_for_tick(int socket)
{
        char nothing;

        return recv(socket, &nothing, sizeof(nothing), 0) < 0;
}

/* How long after a multiple of `tick_nsec` ticks are over, by the earliest of some. False: there
 * are no sockets. */
static bool find_phase(uint64_t tick_nsec, uint64_t *ret_phase_nsec)
{
        const struct timeval least = { .tv_usec = 1 };
        int pair[2] = { -1, -1 };
        int64_t earliest = 0;
        uint64_t first = 0;
        bool found = false;

        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
                return false;
        if (setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &least, sizeof(least)) == 0)
                for (int i = 0; i < TIMEOUTS && wait_for_tick(pair[0]); i++) {
                        int64_t later;

                        if (!found)
                                first = clock_nsec(CLOCK_MONOTONIC);
                        found = true;
                        later = (int64_t)((clock_nsec(CLOCK_MONOTONIC) - first) % tick_nsec);
                        if (later > (int64_t)tick_nsec / 2)
                                later -= (int64_t)tick_nsec;
                        earliest = MIN(earliest, later);
                }
        fd_close(&pair[0]);
        fd_close(&pair[1]);
        *ret_phase_nsec = (uint64_t)((int64_t)(first % tick_nsec + tick_nsec) + earliest) %
                          tick_nsec;
        return found;
}

void pace_begin(Pace *pace, uint64_t interval_usec, uint64_t first_usec, uint64_t slack_nsec)
{
        uint64_t now_usec = clock_usec(CLOCK_MONOTONIC), tick_nsec;
        struct timespec resolution = { 0 };

        *pace = (Pace){ .interval_usec = interval_usec,
                        .planned_usec = now_usec + first_usec,
                        .slack_nsec = slack_nsec };
        clock_getres(CLOCK_MONOTONIC_COARSE, &resolution); /* that clock moves with ticks */
        tick_nsec = timespec_nsec(&resolution);
        if (tick_nsec > 0 && tick_nsec * TICKS_LEAST <= interval_usec * 1000 &&
            find_phase(tick_nsec, &pace->phase_nsec))
                pace->tick_nsec = tick_nsec;
        pace_plan(pace, now_usec);
}

void pace_done(Pace *pace)
{
        pace->planned_usec += pace->interval_usec;
        pace_plan(pace, clock_usec(CLOCK_MONOTONIC));
}

void pace_plan(Pace *pace, uint64_t now_usec)
{
        uint64_t due;

        pace->planned_usec = MAX(pace->planned_usec, now_usec);
        due = pace->planned_usec * 1000 + pace->slack_nsec;
        if (pace->tick_nsec > 0)
                due += (pace->phase_nsec + pace->tick_nsec - due % pace->tick_nsec) %
                       pace->tick_nsec;
        pace->next_usec = (due - pace->slack_nsec + 999) / 1000;
}
