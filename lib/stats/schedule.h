/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The randomised switchback schedule: which of two settings, the arms, is in effect at a time.
 *
 * Blocks come in pairs of one block per arm, one right after the other. Each block begins with a
 * wash-out, in which the machine settles and nothing is counted. Between pairs one arm rests: it is
 * in effect, and nothing is counted. Pure: a time and a seed give the answer, so a restart, a test
 * and a simulation see the same schedule. The reasons are in docs/evaluate.md.
 */
#ifndef IDLED_SCHEDULE_H
#define IDLED_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ScheduleOptions {
        uint64_t block_usec;   /* counted in each block; not 0 */
        uint64_t washout_usec; /* before it; may be 0 */
        double duty;           /* share of the time in the arm that does not rest, wash-out
                                  included: above 0, at most 0.5, which leaves no rest */
        unsigned burst;        /* so many pairs first follow on each other without rest */
        bool rest_on;          /* the arm that rests is "on" */
        uint64_t seed;         /* of the order within pairs, and of where in its cycle a pair is */
} ScheduleOptions;

typedef struct ScheduleSlot {
        bool on;           /* the arm that is in effect */
        bool counted;      /* a block is being measured */
        bool rest;         /* between two pairs */
        uint64_t pair;     /* number of this pair, or of the next while at rest */
        int half;          /* 0: the pair's first block, 1: the second; 0 at rest */
        uint64_t end_usec; /* until when all this holds, since the start of the schedule */
} ScheduleSlot;

/* What is in effect `usec` after the start of the schedule. */
ScheduleSlot schedule_at(const ScheduleOptions *options, uint64_t usec);

/* When the pair begins, and how long a pair takes, in microseconds. */
uint64_t schedule_pair_start(const ScheduleOptions *options, uint64_t pair);
uint64_t schedule_pair_length(const ScheduleOptions *options);

#endif
