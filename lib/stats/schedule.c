/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which arm of a pair comes first is random, but opposite in the second of each two pairs: a load
 * that grows or falls steadily cancels out over the four blocks.
 */
#include "stats/schedule.h"

#include "model/random.h"

static bool is_on_first(const ScheduleOptions *options, uint64_t pair)
{
        uint64_t state = options->seed;

        state = random_next(&state) ^ (pair & ~UINT64_C(1));
        return (random_next(&state) ^ pair) & 1;
}

uint64_t schedule_pair_length(const ScheduleOptions *options)
{
        return 2 * (options->washout_usec + options->block_usec);
}

ScheduleSlot schedule_at(const ScheduleOptions *options, uint64_t pair, uint64_t usec)
{
        uint64_t half_length = schedule_pair_length(options) / 2, begin;
        ScheduleSlot slot = { .pair = pair, .half = usec >= half_length };

        slot.on = is_on_first(options, pair) == (slot.half == 0);
        begin = slot.half ? half_length : 0;
        slot.counted = usec - begin >= options->washout_usec;
        slot.end_usec = begin + (slot.counted ? half_length : options->washout_usec);
        return slot;
}
