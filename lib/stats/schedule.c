/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The schedule as a function of the time.
 *
 *  1. The first `burst` pairs follow on each other. Then time is cut into cycles with one pair
 *     each, so long that the arm that does not rest takes the share `duty` of them.
 *  2. Where in its cycle a pair begins is random, so that no load that comes at regular times meets
 *     always the same arm.
 *  3. Which arm comes first is random, but opposite in the second of each two pairs: a load that
 *     grows or falls steadily cancels out over the four blocks.
 */
#include "stats/schedule.h"

#include "model/random.h"

enum { DRAW_ORDER, DRAW_PLACE, DRAWS };

/* A random number that depends on nothing but the seed, the index and what it is for. */
static uint64_t draw(const ScheduleOptions *options, uint64_t index, int what)
{
        uint64_t state = options->seed;

        state = random_next(&state) ^ (index * DRAWS + (uint64_t)what);
        return random_next(&state);
}

uint64_t schedule_pair_length(const ScheduleOptions *options)
{
        return 2 * (options->washout_usec + options->block_usec);
}

static uint64_t cycle_length(const ScheduleOptions *options)
{
        double half = (double)schedule_pair_length(options) / 2;

        return options->duty < 0.5 ? (uint64_t)(half / options->duty)
                                   : schedule_pair_length(options);
}

/* A place from 0 to `room`, evenly spread. */
static uint64_t place(const ScheduleOptions *options, uint64_t pair, uint64_t room)
{
        double share = (double)(draw(options, pair, DRAW_PLACE) >> 11) * 0x1p-53;

        return (uint64_t)(share * (double)room);
}

uint64_t schedule_pair_start(const ScheduleOptions *options, uint64_t pair)
{
        uint64_t length = schedule_pair_length(options), cycle = cycle_length(options);
        uint64_t burst = options->burst * length;

        if (pair < options->burst)
                return pair * length;
        return burst + (pair - options->burst) * cycle + place(options, pair, cycle - length);
}

static bool is_on_first(const ScheduleOptions *options, uint64_t pair)
{
        return (draw(options, pair / 2, DRAW_ORDER) ^ pair) & 1;
}

/* The pair that is going on, or the next. */
static uint64_t pair_at(const ScheduleOptions *options, uint64_t usec)
{
        uint64_t length = schedule_pair_length(options), pair = usec / length;

        if (pair < options->burst)
                return pair;
        pair = options->burst + (usec - options->burst * length) / cycle_length(options);
        return usec < schedule_pair_start(options, pair) + length ? pair : pair + 1;
}

ScheduleSlot schedule_at(const ScheduleOptions *options, uint64_t usec)
{
        uint64_t pair = pair_at(options, usec), start = schedule_pair_start(options, pair);
        uint64_t half_length = options->washout_usec + options->block_usec, begin;
        ScheduleSlot slot = { .pair = pair };

        if (usec < start) {
                slot.rest = true;
                slot.on = options->rest_on;
                slot.end_usec = start;
                return slot;
        }
        slot.half = usec - start >= half_length;
        slot.on = is_on_first(options, pair) == (slot.half == 0);
        begin = start + (slot.half ? half_length : 0);
        slot.counted = usec - begin >= options->washout_usec;
        slot.end_usec = begin + (slot.counted ? half_length : options->washout_usec);
        return slot;
}
