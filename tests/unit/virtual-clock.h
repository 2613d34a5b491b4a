/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Virtual time: clock_gettime() of a program that includes this is the real one and what has been
 * skipped, which the event loop sees, too.
 */
#ifndef IDLED_VIRTUAL_CLOCK_H
#define IDLED_VIRTUAL_CLOCK_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t skipped_usec, asleep_usec;
static int64_t set_usec; /* by which CLOCK_REALTIME was set forward */

int clock_gettime(clockid_t id, struct timespec *now)
{
        int r = (int)syscall(SYS_clock_gettime, id, now);
        int64_t usec = id == CLOCK_MONOTONIC || id == CLOCK_BOOTTIME || id == CLOCK_REALTIME
                               ? (int64_t)skipped_usec
                               : 0;

        if (id == CLOCK_BOOTTIME || id == CLOCK_REALTIME)
                usec += (int64_t)asleep_usec;
        if (id == CLOCK_REALTIME)
                usec += set_usec;
        usec += now->tv_nsec / 1000;
        now->tv_sec += usec / 1000000;
        now->tv_nsec = usec % 1000000 * 1000 + now->tv_nsec % 1000;
        return r;
}

#endif
