/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a latency limit costs: only the sleeps that it keeps shallow, at the right difference. */
#include "ctl/verbs/hold-cost.h"
#include "table.h"

#define NONE HOLD_COST_UNLIMITED
#define ALL  0x7

/* One CPU: 25 W that polls, 15 W in C1, 5 W in C6. */
static const IdleTable table = {
        .n_states = 3,
        .states = { { "POLL", 0, 0 }, { "C1", 2, 2 }, { "C6", 133, 600 } },
};
enum { POLL, C1, C6 };

static const struct {
        const char *name;
        uint32_t limit_us, others_us;
        uint16_t enabled;
        int state, sleeps; /* so many in this state */
        double each_us;
        int resumed;       /* of these */
        double current_us; /* of a sleep in the same state that goes on */
        double joules;     /* expected */
} cases[] = {
        { "long sleeps in C1", 50, NONE, ALL, C1, 100, 10e3, 0, 0, 10 },
        { "too short for C6", 50, NONE, ALL, C1, 10000, 300, 0, 0, 0 },
        { "the tick ends what would go on", 50, NONE, ALL, C1, 10000, 300, 9000, 0, 30 },
        { "the tick ends all", 50, NONE, ALL, C1, 10000, 300, 10000, 0, 30 },
        { "one long sleep that goes on", 50, NONE, ALL, C1, 0, 0, 0, 1e6, 10 },
        { "a short one that goes on", 50, NONE, ALL, C1, 0, 0, 0, 500, 0 },
        { "a limit that C6 meets", 200, NONE, ALL, C1, 100, 10e3, 0, 0, 0 },
        { "C6 is switched off", 50, NONE, 0x3, C1, 100, 10e3, 0, 0, 0 },
        { "another hold is as strict", 50, 50, ALL, C1, 100, 10e3, 0, 0, 0 },
        { "another hold is stricter", 50, 0, ALL, POLL, 100, 10e3, 0, 0, 0 },
        { "another hold permits C1 as well", 0, 50, ALL, POLL, 100, 10e3, 0, 0, 10 },
        { "no sleep at all", 0, NONE, ALL, POLL, 100000, 10, 99000, 0, 20 },
        { "polling, and often woken", 0, NONE, ALL, POLL, 100000, 10, 90000, 0, 10 },
        { "the governor chose a shallower state", 50, NONE, ALL, POLL, 100, 10e3, 0, 0, 0 },
        { "asleep deeply all the same", 50, NONE, ALL, C6, 100, 10e3, 0, 0, 0 },
        { "nothing", 50, NONE, ALL, C1, 0, 0, 0, 0, 0 },
};

TEST_EACH(joules, cases)
{
        struct sleep_stats sleeps[SLEEPS_STATES] = { 0 };
        HoldCostCpu cpu = { .table = &table,
                            .enabled = c->enabled,
                            .watts = { 25, 15, 5 },
                            .limit_us = c->limit_us,
                            .others_us = c->others_us,
                            .sleeps = sleeps,
                            .current = c->current_us > 0 ? c->state : -1,
                            .current_ns = (uint64_t)(c->current_us * 1e3) };
        double found;

        for (int i = 0; i < c->sleeps; i++)
                sleep_stats_add(&sleeps[c->state], (uint64_t)(c->each_us * 1e3));
        cpu.resumed[c->state] = (uint64_t)c->resumed;
        found = hold_cost_joules(&cpu);
        ck_case(c->name, fabs(found - c->joules) <= 0.001 * c->joules, "%g J, expected %g", found,
                c->joules);
}

/* Only sleeps that are long enough for C6 count. */
TEST(mixed)
{
        struct sleep_stats sleeps[SLEEPS_STATES] = { 0 };
        HoldCostCpu cpu = { .table = &table,
                            .enabled = ALL,
                            .watts = { 25, 15, 5 },
                            .limit_us = 50,
                            .others_us = NONE,
                            .sleeps = sleeps,
                            .current = -1 };

        for (int i = 0; i < 1000; i++) {
                sleep_stats_add(&sleeps[C1], 200 * 1000);
                sleep_stats_add(&sleeps[C1], 3000 * 1000);
        }
        ck_assert(fabs(hold_cost_joules(&cpu) - 30) < 3); /* the width of a bucket */
}

TEST(unknown_prices)
{
        struct sleep_stats sleeps[SLEEPS_STATES] = { 0 };
        HoldCostCpu cpu = { .table = &table,
                            .enabled = ALL,
                            .watts = { 25, 15, NAN },
                            .limit_us = 50,
                            .others_us = NONE,
                            .sleeps = sleeps,
                            .current = -1 };
        static const IdleTable no_states;

        sleep_stats_add(&sleeps[C1], 1000000);
        ck_assert(isnan(hold_cost_joules(&cpu)));
        cpu.table = &no_states;
        ck_assert(hold_cost_joules(&cpu) == 0);
}

UNIT("hold-cost")
