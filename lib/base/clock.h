/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Clocks as whole numbers. */
#ifndef IDLED_BASE_CLOCK_H
#define IDLED_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t timespec_nsec(const struct timespec *time)
{
        return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

static inline struct timespec timespec_of(uint64_t nsec)
{
        return (struct timespec){ (time_t)(nsec / 1000000000), (long)(nsec % 1000000000) };
}

static inline uint64_t clock_nsec(clockid_t clock)
{
        struct timespec now;

        clock_gettime(clock, &now);
        return timespec_nsec(&now);
}

static inline uint64_t clock_usec(clockid_t clock)
{
        return clock_nsec(clock) / 1000;
}

/* CPU time of this thread. */
static inline uint64_t clock_spent_usec(void)
{
        return clock_usec(CLOCK_THREAD_CPUTIME_ID);
}

#endif
