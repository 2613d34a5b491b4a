/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The switchback schedule: balance, order and wash-out. */
#include "stats/schedule.h"
#include "table.h"

#define SEC UINT64_C(1000000)

static const struct {
        const char *name;
        ScheduleOptions options;
} cases[] = {
        { "with a wash-out", { 10 * SEC, SEC, 1 } },
        { "no wash-out", { 10 * SEC, 0, 2 } },
        { "a long one", { 2 * SEC, 10 * SEC, 3 } },
};

/* Walks through 400 pairs, slot by slot, and checks each. */
TEST_EACH(keeps_its_promises, cases)
{
        const ScheduleOptions *o = &c->options;
        uint64_t length = schedule_pair_length(o), counted[2] = { 0 };
        unsigned on_first = 0;

        for (uint64_t pair = 0; pair < 400; pair++) {
                bool first = schedule_at(o, pair, 0).on;

                on_first += first;
                if (pair % 2)
                        ck_case(c->name, first != schedule_at(o, pair - 1, 0).on, "same order");
                for (uint64_t usec = 0; usec < length;) {
                        ScheduleSlot slot = schedule_at(o, pair, usec);
                        ScheduleSlot last = schedule_at(o, pair, slot.end_usec - 1);

                        ck_case(c->name, slot.end_usec > usec, "does not go on");
                        ck_case(c->name, last.end_usec == slot.end_usec && last.on == slot.on,
                                "changes");
                        ck_case(c->name, slot.pair == pair && slot.on == (first == !slot.half),
                                "pair");
                        ck_case(c->name,
                                slot.end_usec - usec ==
                                        (slot.counted ? o->block_usec : o->washout_usec),
                                "length");
                        counted[slot.on] += slot.counted ? slot.end_usec - usec : 0;
                        usec = slot.end_usec;
                }
        }
        ck_case(c->name, counted[0] == counted[1] && counted[0] == 400 * o->block_usec,
                "not balanced");
        ck_case(c->name, on_first == 200, "on came first %u times", on_first);
}

/* Two seeds give two schedules, and one seed the same. */
TEST(is_random)
{
        const ScheduleOptions a = { 2 * SEC, SEC, 8 }, b = { 2 * SEC, SEC, 9 };
        unsigned same = 0;

        for (uint64_t pair = 0; pair < 100; pair++) {
                ck_assert_int_eq(schedule_at(&a, pair, 0).on, schedule_at(&a, pair, 0).on);
                same += schedule_at(&a, pair, 0).on == schedule_at(&b, pair, 0).on;
        }
        ck_assert_uint_gt(same, 20);
        ck_assert_uint_lt(same, 80);
}

UNIT("schedule")
