/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When the event came that ended a sleep: by timers, and by what timers showed. */
#include "lab/verbs/wake-time.h"
#include "table.h"

static const struct {
        const char *name;
        ExitLatency latency;
        uint64_t measured_ns, timer_ns;
        bool by_timer;
        uint64_t expected_ns, mean_ns;
} cases[] = {
        /* A state that is left in 100 us. */
        { "a timer", { 100000, 0, false }, 700000, 600000, true, 600000, 100000 },
        { "a timer in a state that is left sooner than listed",
          { 100000, 0, false },
          620000,
          600000,
          true,
          600000,
          20000 },
        { "a late timer", { 100000, 0, false }, 900000, 600000, true, 800000, 100000 },
        { "a late timer in a state without a latency", { 0 }, 605000, 600000, true, 605000, 0 },
        { "a timer that expired before", { 100000, 0, false }, 110000, 0, true, 10000, 100000 },
        { "the mean rises", { 100000, 20000, true }, 700000, 600000, true, 600000, 25000 },
        { "the mean falls", { 100000, 100000, true }, 620000, 600000, true, 600000, 95000 },
        { "an interrupt before the first timer",
          { 100000, 0, false },
          300000,
          600000,
          false,
          300000,
          0 },
        { "an interrupt", { 100000, 90000, true }, 300000, 600000, false, 210000, 90000 },
        { "an interrupt at once", { 100000, 90000, true }, 80000, 600000, false, 0, 90000 },
        { "an earlier timer", { 100000, 90000, true }, 300000, 600000, true, 210000, 90000 },
};

TEST_EACH(finds, cases)
{
        ExitLatency latency = c->latency;
        uint64_t found = wake_time_find(&latency, c->measured_ns, c->timer_ns, c->by_timer);

        ck_case(c->name, found == c->expected_ns,
                "found %" G_GUINT64_FORMAT ", expected %" G_GUINT64_FORMAT, found, c->expected_ns);
        ck_case(c->name, latency.mean_ns == c->mean_ns,
                "mean %" G_GUINT64_FORMAT ", expected %" G_GUINT64_FORMAT, latency.mean_ns,
                c->mean_ns);
}

/* A kernel that measures the length plus the exit latency decides the same in a replay. */
TEST(same_as_measured)
{
        ExitLatency latency = { .listed_ns = 600000 };

        for (uint64_t i = 0; i < 100; i++) {
                uint64_t timer_ns = i * 12345, measured_ns = timer_ns + latency.listed_ns;

                ck_assert_uint_eq(wake_time_find(&latency, measured_ns, timer_ns, true) +
                                          latency.listed_ns,
                                  measured_ns);
                ck_assert_uint_eq(wake_time_find(&latency, measured_ns, UINT64_MAX, false) +
                                          latency.listed_ns,
                                  measured_ns);
        }
}

UNIT("wake-time")
