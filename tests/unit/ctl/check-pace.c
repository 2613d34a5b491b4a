/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When samples are due: behind a tick, wherever ticks come and whenever the first is planned. */
#include "ctl/verbs/pace.h"
#include "table.h"

static const struct {
        const char *name;
        uint64_t interval_usec, tick_nsec, slack_nsec;
} cases[] = {
        { "ten a second, 250 Hz", 100000, 4000000, 20000000 },
        { "one a second, 1000 Hz", 1000000, 1000000, 20000000 },
        { "300 Hz, whose tick is no multiple of 1 us", 100000, 3333333, 20000000 },
        { "an interval that is no multiple of a tick", 97300, 4000000, 0 },
        { "as short as it may be", 40000, 4000000, 20000000 },
        { "ticks are not known", 10000, 0, 20000000 },
};

TEST_EACH(behind_ticks, cases)
{
        for (unsigned first = 0; first < 8000; first += 97) {
                Pace pace = { .interval_usec = c->interval_usec,
                              .planned_usec = 1000000 + first,
                              .slack_nsec = c->slack_nsec,
                              .tick_nsec = c->tick_nsec,
                              .phase_nsec = c->tick_nsec / 3 };

                for (int n = 0; n < 100; n++) {
                        uint64_t planned = 1000000 + first + (uint64_t)n * c->interval_usec;
                        uint64_t due_nsec;

                        pace.planned_usec = planned;
                        pace_plan(&pace, planned - 5000);
                        if (c->tick_nsec == 0)
                                continue;
                        due_nsec = pace.next_usec * 1000 + c->slack_nsec - pace.phase_nsec;
                        ck_case(c->name, due_nsec % c->tick_nsec < 1000, "%llu ns after a tick",
                                (unsigned long long)(due_nsec % c->tick_nsec));
                }
        }
}

/* A sample that took longer than its interval: the next one is not in the past, and the ones after
 * it keep the interval. */
TEST(a_long_pause)
{
        Pace pace = { .interval_usec = 100000, .planned_usec = 5000000, .tick_nsec = 4000000 };

        pace_plan(&pace, 90000001);
        ck_assert_uint_eq(pace.next_usec, 90004000);
        pace.planned_usec += pace.interval_usec;
        pace_plan(&pace, 90005000);
        ck_assert_uint_eq(pace.next_usec, 90104000);
}

TEST(real_clocks)
{
        Pace pace;
        uint64_t due;

        pace_begin(&pace, 1000000, 1000, 0);
        ck_assert_msg(pace.tick_nsec >= 900000 && pace.tick_nsec <= 10100000, "a tick of %llu ns",
                      (unsigned long long)pace.tick_nsec);
        ck_assert_uint_lt(pace.phase_nsec, pace.tick_nsec);
        due = pace.planned_usec;
        pace_done(&pace);
        ck_assert_uint_ge(pace.next_usec, due + 1000000);
        pace_begin(&pace, 1000, 1000, 0);
        ck_assert_uint_eq(pace.tick_nsec, 0);
}

UNIT("pace")
