/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When samples are due: not while ticks come, wherever the first one begins. */
#include "ctl/pace.h"
#include "table.h"

#define TICK 4000u

static const struct {
        const char *name;
        unsigned interval, sample, slow; /* us; every tenth sample is slow */
        unsigned most;                   /* ticks that 200 samples may meet */
        bool late;                       /* how late the last one may be is not limited */
} cases[] = {
        { "ten a second", 100000, 300, 500, 2, false },
        { "one a second", 1000000, 300, 500, 2, false },
        { "half of a tick", 100000, 2000, 2500, 4, false },
        { "most of a tick", 100000, 2700, 3200, 6, false },
        { "no time at all", 100000, 1, 1, 2, false },
        { "a multiple of nothing", 97300, 300, 300, 50, true },
        { "longer than a tick", 100000, 9000, 9000, 200, false },
        { "sometimes longer than a tick", 100000, 300, 4500, 22, false },
};

static unsigned tick_before(unsigned time)
{
        return time / TICK * TICK;
}

/* From any beginning; a sample has four parts. */
START_TEST(ticks_are_avoided)
{
        typeof(cases[0]) *c = &cases[_i];

        for (unsigned first = 0; first < TICK; first += 50) {
                Pace pace = { .interval_usec = c->interval,
                              .next_usec = 10 * TICK + first,
                              .tick_usec = TICK };
                unsigned met = 0;

                for (int n = 0; n < 200; n++) {
                        unsigned length = n % 10 == 9 ? c->slow : c->sample;
                        unsigned now = (unsigned)pace.next_usec, end = now + length;

                        pace.awake_usec = now;
                        pace.ticked_usec = tick_before(now);
                        pace.met_usec = 0;
                        for (unsigned part = 1; part <= 4; part++) {
                                unsigned time = now + length * part / 4;

                                pace_see(&pace, time, tick_before(time));
                        }
                        met += tick_before(end) != tick_before(now);
                        pace_advance(&pace, end);
                        ck_case(c->name, pace.next_usec >= now + c->interval, "too early");
                }
                ck_case(c->name, met <= c->most, "%u ticks met from %u us on", met, first);
                ck_case(c->name,
                        c->late || pace.next_usec <= 10 * TICK + first + 200ull * c->interval +
                                                             c->most * TICK,
                        "late by %lld us",
                        (long long)pace.next_usec - (10 * TICK + first + 200ll * c->interval));
        }
}
END_TEST

/* Neither a clock that is not there, nor one that steps back, nor a long pause. */
START_TEST(odd_clocks)
{
        Pace pace = {
                .interval_usec = 1000, .next_usec = 5000, .awake_usec = 5000, .ticked_usec = 4000
        };

        pace_see(&pace, 5100, 8000);
        pace_advance(&pace, 5100);
        ck_assert_uint_eq(pace.next_usec, 6000);
        pace = (Pace){ .interval_usec = 1000,
                       .next_usec = 6000,
                       .tick_usec = TICK,
                       .awake_usec = 6000,
                       .ticked_usec = 8000 };
        pace_see(&pace, 6100, 4000);
        pace_advance(&pace, 6100);
        ck_assert_uint_eq(pace.next_usec, 7000);
        pace_see(&pace, 90000, 88000);
        pace_advance(&pace, 90000);
        ck_assert_uint_eq(pace.next_usec, 90000);
}
END_TEST

START_TEST(real_clocks)
{
        Pace pace;
        uint64_t due;

        pace_begin(&pace, 100000, 1000);
        ck_assert_msg(pace.tick_usec >= 900 && pace.tick_usec <= 10100, "a tick of %llu us",
                      (unsigned long long)pace.tick_usec);
        due = pace.next_usec;
        pace_awake(&pace);
        ck_assert_uint_gt(pace.ticked_usec, 0);
        ck_assert_uint_le(pace.ticked_usec, pace.awake_usec);
        pace_look(&pace);
        pace_done(&pace);
        ck_assert_uint_ge(pace.next_usec, due + 100000);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("pace");
        TCase *tcase = tcase_create("pace");

        tcase_add_loop_test(tcase, ticks_are_avoided, 0, G_N_ELEMENTS(cases));
        tcase_add_test(tcase, odd_clocks);
        tcase_add_test(tcase, real_clocks);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
