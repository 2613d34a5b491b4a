/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The switchback schedule: duty, balance, order, wash-out, and what rests. */
#include "stats/schedule.h"
#include "table.h"

#define SEC UINT64_C(1000000)

static const struct {
        const char *name;
        ScheduleOptions options;
        double trial; /* share of the time in the arm that does not rest */
} cases[] = {
        { "half of the time", { 10 * SEC, SEC, 0.5, 0, true, 1 }, 0.5 },
        { "no wash-out", { 10 * SEC, 0, 0.5, 0, true, 2 }, 0.5 },
        { "a tenth", { 10 * SEC, 2 * SEC, 0.1, 0, true, 3 }, 0.1 },
        { "a tenth, off rests", { 10 * SEC, 2 * SEC, 0.1, 0, false, 4 }, 0.1 },
        { "one percent", { 2 * SEC, SEC, 0.01, 0, true, 5 }, 0.01 },
        { "after a burst", { 2 * SEC, SEC, 0.01, 10, true, 6 }, 0.01 },
};

/* Walks through `pairs` pairs, slot by slot, and checks each. */
START_TEST(keeps_its_promises)
{
        typeof(cases[0]) *c = &cases[_i];
        const ScheduleOptions *o = &c->options;
        uint64_t usec = 0, trial = 0, counted[2] = { 0 }, end = schedule_pair_start(o, 400);
        unsigned on_first = 0;
        ScheduleSlot before = { .pair = UINT64_MAX };

        while (usec < end) {
                ScheduleSlot slot = schedule_at(o, usec), last = schedule_at(o, slot.end_usec - 1);

                ck_case(c->name, slot.end_usec > usec, "does not go on");
                ck_case(c->name, last.end_usec == slot.end_usec && last.on == slot.on, "changes");
                ck_case(c->name, !slot.rest || (slot.on == o->rest_on && !slot.counted), "rest");
                if (slot.counted) {
                        counted[slot.on] += slot.end_usec - usec;
                        ck_case(c->name, slot.end_usec - usec == o->block_usec, "length");
                        on_first += slot.half == 0 && slot.on;
                }
                if (slot.counted && slot.half == 1)
                        ck_case(c->name, before.pair == slot.pair && before.on != slot.on, "pair");
                if (slot.counted)
                        before = slot;
                if (slot.on != o->rest_on && slot.pair >= o->burst)
                        trial += slot.end_usec - usec;
                usec = slot.end_usec;
        }
        ck_case(c->name, counted[0] == counted[1], "not balanced");
        ck_case(c->name, on_first == 200, "on came first %u times", on_first);
        end -= schedule_pair_start(o, o->burst);
        ck_case(c->name, fabs((double)trial / (double)end / c->trial - 1) < 0.02,
                "%.4f of the time", (double)trial / (double)end);
}
END_TEST

START_TEST(burst_comes_first)
{
        ScheduleOptions o = { 2 * SEC, SEC, 0.01, 4, true, 7 };

        for (uint64_t pair = 0; pair < 4; pair++)
                ck_assert_uint_eq(schedule_pair_start(&o, pair), pair * 6 * SEC);
        ck_assert_uint_ge(schedule_pair_start(&o, 4), 24 * SEC);
        ck_assert_uint_le(schedule_pair_start(&o, 4), 324 * SEC);
}
END_TEST

/* Two seeds give two schedules, and one seed the same. */
START_TEST(is_random)
{
        ScheduleOptions a = { 2 * SEC, SEC, 0.01, 0, true, 8 }, b = a;
        unsigned same = 0, orders = 0;

        b.seed = 9;
        for (uint64_t pair = 0; pair < 100; pair++) {
                uint64_t start = schedule_pair_start(&a, pair);

                ck_assert_uint_eq(start, schedule_pair_start(&a, pair));
                same += start == schedule_pair_start(&b, pair);
                orders += schedule_at(&a, start).on ==
                          schedule_at(&b, schedule_pair_start(&b, pair)).on;
        }
        ck_assert_uint_lt(same, 3);
        ck_assert_uint_gt(orders, 20);
        ck_assert_uint_lt(orders, 80);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("schedule");
        TCase *tcase = tcase_create("schedule");

        tcase_add_loop_test(tcase, keeps_its_promises, 0, G_N_ELEMENTS(cases));
        tcase_add_test(tcase, burst_comes_first);
        tcase_add_test(tcase, is_random);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
