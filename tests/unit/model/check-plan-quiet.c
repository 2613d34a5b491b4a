/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What wakes parked CPUs: requests of several policies become one, which is harmless. */
#include "machine.h"
#include "model/plan.h"
#include "table.h"

#define N_CPUS 4

static const struct {
        const char *name;
        QuietWish first, second, merged;
} merges[] = {
        { "nothing", { 0 }, { 0 }, { 0 } },
        { "one", { true, true, 60, 1800, 1500 }, { 0 }, { true, true, 60, 1800, 1500 } },
        { "flags: or", { .interrupts = true }, { .workqueues = true }, { true, true } },
        { "times: the longest",
          { .stat_s = 5, .check_s = 900, .writeback_cs = 500 },
          { .stat_s = 60, .check_s = 600, .writeback_cs = 1500 },
          { .stat_s = 60, .check_s = 900, .writeback_cs = 1500 } },
};

TEST_EACH(merge, merges)
{
        Plan plan, expected;
        Wish first, second;

        wish_init(&first);
        wish_init(&second);
        first.quiet = c->first;
        second.quiet = c->second;
        plan_init(&plan, NULL, 0);
        expected = plan;
        plan_merge(&plan, &first);
        plan_merge(&plan, &second);
        expected.quiet = c->merged;
        ck_case(c->name, plan_equal_quiet(&plan, &expected), "merged to %u %u %u",
                plan.quiet.stat_s, plan.quiet.check_s, plan.quiet.writeback_cs);
}

static const struct {
        const char *name, *parked, *window; /* CPUs that a window adds; NULL: none is open */
        const char *resting;
} rests[] = {
        { "nothing parked", "", NULL, "" },
        { "parked", "2-3", NULL, "2-3" },
        { "a window changes nothing", "2-3", "0-3", "2-3" },
        { "a window for some", "1-3", "0-1", "1-3" },
        { "all of it parked", "0-3", NULL, "1-3" },
};

TEST_EACH(rest, rests)
{
        Topology *topology = machine_make(N_CPUS, 1, N_CPUS, "0-3", "");
        const Dependents who = { .window = c->window ? "a program starts" : NULL };
        g_autofree char *resting = NULL;
        CpuSet parked;
        Wish wish;
        Plan plan;

        plan_init(&plan, NULL, 0);
        wish_init(&wish);
        ck_assert_int_eq(cpuset_parse(c->parked, &parked), 0);
        cpuset_subtract(&wish.allowed, &parked);
        wish.quiet.stat_s = 60;
        plan_merge(&plan, &wish);
        if (c->window)
                ck_assert_int_eq(cpuset_parse(c->window, &plan.widest), 0);
        plan_sanitize(&plan, topology, &who, NULL);
        plan_sanitize_quiet(&plan);
        resting = cpuset_format(&plan.resting);
        ck_case(c->name, g_str_equal(resting, c->resting), "%s rest", resting);
        ck_case(c->name, (plan.quiet.stat_s > 0) == (*c->resting != '\0'), "interval of %u s",
                plan.quiet.stat_s);
        topology_free(topology);
}

TEST(bounds)
{
        const QuietWish most = { true, true, QUIET_STAT_MAX_S, QUIET_CHECK_MAX_S,
                                 QUIET_WRITEBACK_MAX_CS };
        Plan plan, expected;
        Wish wish;

        plan_init(&plan, NULL, 0);
        wish_init(&wish);
        wish.quiet = (QuietWish){ true, true, UINT32_MAX, UINT32_MAX, UINT32_MAX };
        plan_merge(&plan, &wish);
        cpuset_add(&plan.resting, 3);
        plan_sanitize_quiet(&plan);
        expected = plan;
        expected.quiet = most;
        ck_assert(plan_equal_quiet(&plan, &expected));
        cpuset_add(&expected.resting, 2);
        ck_assert(!plan_equal_quiet(&plan, &expected));
        ck_assert(!plan_equal(&plan, &expected));
}

UNIT("plan-quiet")
