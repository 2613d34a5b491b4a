/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The randomised switchback schedule: which of two settings, the arms, is in effect at a time.
 *
 * Blocks come in pairs of one block per arm, one right after the other. Each block begins with a
 * wash-out, in which the machine settles and nothing is counted. When pairs begin is the caller's.
 * Pure: a time and a seed give the answer. The reasons are in docs/evaluate.md.
 */
#ifndef IDLED_SCHEDULE_H
#define IDLED_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ScheduleOptions {
        uint64_t block_usec;   /* counted in each block; not 0 */
        uint64_t washout_usec; /* before it; may be 0 */
        uint64_t seed;         /* of the order within pairs */
} ScheduleOptions;

typedef struct ScheduleSlot {
        bool on;           /* the arm that is in effect */
        bool counted;      /* a block is being measured */
        int half;          /* 0: the pair's first block, 1: the second */
        uint64_t pair;     /* its number */
        uint64_t end_usec; /* until when all this holds, since the pair began */
} ScheduleSlot;

/* What is in effect `usec` after the beginning of a pair. */
ScheduleSlot schedule_at(const ScheduleOptions *options, uint64_t pair, uint64_t usec);

/* How long a pair takes, in microseconds. */
uint64_t schedule_pair_length(const ScheduleOptions *options);

#endif
