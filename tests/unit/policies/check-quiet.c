/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* quiet: options become requests, at any time the same, and parked CPUs have reasons. */
#include "machine.h"
#include "table.h"
#include "world.h"

static const struct {
        const char *name, *options;
        QuietWish wish;
        int n_reasons;
} cases[] = {
        { "defaults", "", { true, true, 60, 1800, 1500 }, 5 },
        { "everything off",
          "Interrupts=no Workqueues=no StatInterval=0 MachineCheckInterval=0 WritebackInterval=0",
          { 0 },
          0 },
        { "what is less than a unit is one",
          "StatInterval=10ms MachineCheckInterval=1.5s WritebackInterval=1us",
          { true, true, 1, 2, 1 },
          5 },
        { "the longest",
          "StatInterval=1h MachineCheckInterval=24h WritebackInterval=10min",
          { true, true, QUIET_STAT_MAX_S, QUIET_CHECK_MAX_S, QUIET_WRITEBACK_MAX_CS },
          5 },
};

TEST_EACH(wishes, cases)
{
        Topology *topology = machine_make(4, 1, 4, "0-3", "");
        Reason reasons[EXPLAIN_MAX] = { 0 };
        World *world = world_new(&idled_policy, topology);
        PolicyInput input;
        QuietWish found;
        CpuSet active;
        int n;

        world_set_all(world, c->options);
        world_decide(world, 1000000);
        found = world->wish.quiet;
        ck_case(c->name,
                found.interrupts == c->wish.interrupts && found.workqueues == c->wish.workqueues &&
                        found.stat_s == c->wish.stat_s && found.check_s == c->wish.check_s &&
                        found.writeback_cs == c->wish.writeback_cs,
                "requests %u s, %u s, %u cs", found.stat_s, found.check_s, found.writeback_cs);
        ck_case(c->name, world->wish.settled && !world->wish.period_usec, "asks to be called");

        ck_assert_int_eq(cpuset_parse("0-1", &active), 0);
        input = (PolicyInput){ .allowed = &active, .options = world->options };
        n = idled_policy.explain(NULL, &input, 3, reasons);
        ck_case(c->name, n == c->n_reasons, "%d reasons", n);
        for (int i = 0; i < n; i++)
                ck_case(c->name, reasons[i].because && reasons[i].option, "reason %d", i);
        ck_assert_int_eq(idled_policy.explain(NULL, &input, 0, reasons), 0);
        world_free(world);
        topology_free(topology);
}

UNIT("quiet")
