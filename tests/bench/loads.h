/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What loads in guests share: clocks, and times that are drawn from a seed alone.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(clockid_t clock)
{
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline void sleep_until(uint64_t ns)
{
        struct timespec until = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
                ;
}

/* splitmix64 */
static inline double random_share(uint64_t *state)
{
        uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static inline double exponential(uint64_t *random, double mean)
{
        return -mean * log(1 - random_share(random));
}
