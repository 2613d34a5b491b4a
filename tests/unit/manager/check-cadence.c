/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cadence of ticks: when waits double, and what brings them back to one period. */
#include "manager/tick-timer.h"
#include "model/snapshot.h"
#include "table.h"

#define ANY     UINT64_MAX
#define NOTHING 0

static const struct {
        const char *name;
        Cadence cadence;
        uint64_t before, after;
} cases[] = {
        { "no policy has a period", { 0, true, true, ANY }, 4, 0 },
        { "first tick", { 250000, true, false, ANY }, 0, 1 },
        { "doubles", { 250000, true, false, ANY }, 1, 2 },
        { "doubles again", { 250000, true, false, ANY }, 4, 8 },
        { "reaches the cap", { 250000, true, false, ANY }, 8, STRETCH_MAX },
        { "stays at the cap", { 250000, true, false, ANY }, STRETCH_MAX, STRETCH_MAX },
        { "changed", { 250000, true, true, ANY }, 12, 1 },
        { "a dwell runs", { 250000, false, false, ANY }, 12, 1 },
        { "not longer than is watched for", { 250000, true, false, 2000000 }, 4, 8 },
        { "stays there", { 250000, true, false, 2000000 }, 8, 8 },
        { "goes back there", { 250000, true, false, 2000000 }, 12, 8 },
        { "a period longer than that", { 3000000, true, false, 2000000 }, 1, 1 },
        { "load could arrive unnoticed", { 250000, true, false, NOTHING }, 12, 1 },
};

TEST_EACH(stretch, cases)
{
        ck_assert_msg(cadence_stretch(&c->cadence, c->before) == c->after, "%s", c->name);
}

#define NOW 1000000000

static const struct {
        const char *name;
        uint64_t interval, wake_at, expected;
        bool exact;
} wakes[] = {
        { "nothing", 0, 0, 0, false },
        { "a period alone", 250000, 0, 250000, false },
        { "a time alone", 0, NOW + 70000000, 70000000, true },
        { "a time before the period is over", 4000000, NOW + 300000, 300000, true },
        { "a time within the slack of the period", 250000, NOW + 300000, 300000, true },
        { "a time after that", 250000, NOW + 320000, 250000, false },
        { "both at once", 300000, NOW + 300000, 300000, true },
        { "a time that is over", 4000000, NOW - 1, READING_USEC, true },
        { "now", 0, NOW, READING_USEC, true },
        { "too soon for a reading", 4000000, NOW + 1, READING_USEC, true },
        { "shorter period than that", READING_USEC / 2, NOW, READING_USEC / 2, false },
};

TEST_EACH(wake, wakes)
{
        bool exact = !c->exact;

        ck_assert_msg(cadence_wake(c->interval, c->wake_at, NOW, &exact) == c->expected &&
                              exact == c->exact,
                      "%s", c->name);
}

static const struct {
        const char *name;
        double busy[6]; /* in intervals of ten seconds; below zero: there are no more */
        bool quiet;     /* after the last */
} quiets[] = {
        { "at once", { 0, -1 }, false },
        { "not yet", { 0, 0, -1 }, false },
        { "for long enough", { 0, 0, 0, -1 }, true },
        { "a little is as good as nothing", { 0.01, 0.04, 0.02, 0.03, -1 }, true },
        { "busy", { 1, 1, 1, 1, -1 }, false },
        { "busy before", { 2, 0, 0, 0, -1 }, true },
        { "busy before, and not for long enough since", { 0, 0, 0, 0.1, 0, 0 }, false },
        { "busy now", { 0, 0, 0, 0, 0.05, -1 }, false },
};

TEST_EACH(quiet, quiets)
{
        uint64_t now = 5000000;
        bool is_quiet = false;
        Quiet state = { 0 };

        for (size_t i = 0; i < G_N_ELEMENTS(c->busy) && c->busy[i] >= 0; i++) {
                now += 10000000;
                quiet_note(&state, now, 10000000, c->busy[i]);
                is_quiet = quiet_note(&state, now, 10000000, c->busy[i]);
        }
        ck_assert_msg(is_quiet == c->quiet, "%s", c->name);
}

/* A quarter of a second says little: what counts is the share of two seconds. */
static const struct {
        const char *name;
        double first, then; /* busy in the first of every eight intervals, and in the others */
        bool quiet;
} shorts[] = {
        { "a process of 50 ms", 0.2, 0, true },
        { "one of 100 ms", 0.4, 0, false },
        { "a little all the time", 0.04, 0.04, true },
        { "more all the time", 0.06, 0.06, false },
        { "a core", 1, 1, false },
};

TEST_EACH(quiet_in_short_intervals, shorts)
{
        uint64_t now = 5000000;
        bool is_quiet = false;
        Quiet state = { 0 };

        for (int i = 0; i < 160; i++) {
                double busy = i % 8 == 0 ? c->first : c->then;

                now += 250000;
                quiet_note(&state, now, 250000, busy);
                is_quiet = quiet_note(&state, now, 250000, busy);
        }
        ck_assert_msg(is_quiet == c->quiet, "%s", c->name);
}

TEST(quiet_without_an_interval)
{
        Quiet state = { 0 };

        ck_assert(!quiet_note(&state, 100000000, 0, 0));
        ck_assert(!quiet_note(&state, 200000000, 0, 0));
}

UNIT("cadence")
