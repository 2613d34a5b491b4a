/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random numbers that are the same whenever the seed is: splitmix64 (Steele, Lea, Flood 2014).
 */
#ifndef IDLED_RANDOM_H
#define IDLED_RANDOM_H

#include <stdint.h>

/* The next number of the sequence; `*state` is the seed at first. */
static inline uint64_t random_next(uint64_t *state)
{
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

#endif
