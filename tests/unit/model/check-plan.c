/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans: how requests merge, and what is made safe. */
#include "machine.h"
#include "model/plan.h"
#include "table.h"

static const struct {
        const char *name;
        const char *allowed; /* of the first 8 CPUs */
        uint64_t period_usec;
        bool unsettled, on_pressure;
        struct {
                const char *allowed; /* NULL: no request */
                uint64_t period_usec;
                bool unsettled, on_pressure;
        } wishes[3];
        int n;
} merge_cases[] = {
        { "none", "0-7" },
        { "nothing requested", "0-7", .n = 1, .wishes = { { NULL } } },
        { "one", "0-3", .period_usec = 250000, .on_pressure = true, .n = 1,
          .wishes = { { "0-3", 250000, false, true } } },
        { "sets intersect", "2-3", .n = 2, .wishes = { { "0-3", 0 }, { "2-7", 0 } } },
        { "sets apart", "", .n = 2, .wishes = { { "0", 0 }, { "1", 0 } } },
        { "shortest period", "0-7", .period_usec = 4, .n = 2,
          .wishes = { { NULL, 9 }, { NULL, 4 } } },
        { "shortest period first", "0-7", .period_usec = 4, .n = 2,
          .wishes = { { NULL, 4 }, { NULL, 9 } } },
        { "never is no period", "0-7", .period_usec = 4, .n = 3,
          .wishes = { { NULL }, { NULL, 4 }, { NULL } } },
        { "one unsettled", "0-7", .unsettled = true, .n = 2,
          .wishes = { { NULL, 0, true }, { NULL } } },
        { "one on pressure", "0-7", .on_pressure = true, .n = 2,
          .wishes = { { NULL, 0, false, true }, { NULL } } },
};

TEST_EACH(merge, merge_cases)
{
        CpuSet expected = set_of(c->allowed), first = set_of("0-7");
        Plan plan;

        plan_init(&plan, NULL, 0);
        for (int i = 0; i < c->n; i++) {
                Wish wish;

                wish_init(&wish);
                if (c->wishes[i].allowed)
                        wish.allowed = set_of(c->wishes[i].allowed);
                wish.period_usec = c->wishes[i].period_usec;
                wish.settled = !c->wishes[i].unsettled;
                wish.on_pressure = c->wishes[i].on_pressure;
                wish.reads = 1u << i;
                plan_merge(&plan, &wish);
        }
        cpuset_and(&plan.allowed, &first);
        ck_case(c->name, plan.reads == (1u << c->n) - 1, "reads %x", plan.reads);
        ck_case(c->name, cpuset_equal(&plan.allowed, &expected), "allowed");
        ck_case(c->name, plan.period_usec == c->period_usec, "period %" PRIu64, plan.period_usec);
        ck_case(c->name, plan.settled == !c->unsettled, "settled");
        ck_case(c->name, plan.on_pressure == c->on_pressure, "on_pressure");
}

/* 8 CPUs in cores of 2, nodes 0-3 and 4-7; CPUs 6 and 7 are faster than the others. */
static const struct {
        const char *name, *online, *isolated, *nohz_full;
        const char *sets;  /* of pinned tasks, at most four */
        const char *nodes; /* node numbers as a list */
        const char *wished, *allowed;
        const char *safety; /* one letter for each CPU: . L(ast) I(solated) P(inned) N(ode) */
} cases[] = {
        { "as requested", "0-7", "", "", "", "", "0-3", "0-3", "........" },
        { "empty: the fastest", "0-7", "", "", "", "", "", "6", "......L." },
        { "empty, fast ones offline", "0-5", "", "", "", "", "", "0", "L......." },
        { "only offline CPUs requested", "0-3", "", "", "", "", "4-7", "0", "L......." },
        { "offline CPUs requested too", "0-3", "", "", "", "", "2-7", "2-3", "........" },
        { "all offline", "", "", "", "3", "0", "0-7", "", "........" },
        { "isolated are added", "0-7", "4-5", "", "", "", "0", "0,4-5", "....II.." },
        { "isolated and offline", "0-4", "4-5", "", "", "", "0", "0,4", "....I..." },
        { "nohz_full are added", "0-7", "", "5", "", "", "0", "0,5", ".....I.." },
        { "isolated do no ordinary work", "0-7", "4-5", "", "", "", "4", "4-6", ".....IL." },
        { "core of an isolated one first", "0-7", "5", "", "", "", "", "4-5", "....LI.." },
        { "all isolated", "0-7", "0-7", "", "", "", "", "0-7", "IIIIIIII" },
        { "pin of one", "0-7", "", "", "5", "", "0", "0,5", ".....P.." },
        { "pin met", "0-7", "", "", "0-3", "", "0", "0", "........" },
        { "pin of more: the fastest", "0-7", "", "", "3-7", "", "0", "0,6", "......P." },
        { "pin of more: the core", "0-7", "", "", "1,6", "", "0", "0-1", ".P......" },
        { "pin of more: the first", "0-7", "", "", "3-5", "", "0", "0,3", "...P...." },
        { "pin offline", "0-3", "", "", "6", "", "0", "0", "........" },
        { "pin in part offline", "0-3", "", "", "3,6", "", "0", "0,3", "...P...." },
        { "pin stands for the last", "0-7", "", "", "2", "", "", "2", "..P....." },
        { "pin to isolated does not", "0-7", "2", "", "2", "", "", "2-3", "..IL...." },
        { "affinities overlap in one", "0-7", "", "", "1-2 2-3 2,4-5", "", "0", "0,2", "..P....." },
        { "single first, it meets others", "0-7", "", "", "2-7 3-4 3", "", "0", "0,3", "...P...." },
        { "singles first, though 2 meets as many", "0-7", "", "", "2-3 2,4 3 4", "", "0", "0,3-4",
          "...PP..." },
        { "chain of affinities", "0-7", "", "", "2-3 3-4 4-5", "", "0", "0,3-4", "...PP..." },
        { "affinities apart", "0-7", "", "", "2-3 4-5 6-7", "", "0", "0,2,4,6", "..P.P.P." },
        { "node met", "0-7", "", "", "", "0", "0", "0", "........" },
        { "node", "0-7", "", "", "", "1", "0", "0,6", "......N." },
        { "both nodes, empty request", "0-7", "", "", "", "0-1", "", "0,6", "N.....N." },
        { "node without CPUs", "0-7", "", "", "", "7", "0", "0", "........" },
        { "node all isolated", "0-7", "4-7", "", "", "1", "0", "0,4-7", "....IIII" },
        { "node's isolated CPU is not enough", "0-7", "4", "", "", "1", "0", "0,4-5", "....IN.." },
        { "pin within a node", "0-7", "", "", "4-5", "1", "0", "0,4", "....P..." },
};

static Topology *eight(const char *online, const char *isolated, const char *nohz_full)
{
        Topology *topology = machine_make(8, 2, 4, online, isolated);

        topology->nohz_full = set_of(nohz_full);
        for (int cpu = 0; cpu < 6; cpu++)
                topology->cpus[cpu].capacity = CAPACITY_SCALE / 2;
        return topology;
}

TEST_EACH(sanitize, cases)
{
        g_autoptr(Topology) topology = eight(c->online, c->isolated, c->nohz_full);
        g_auto(GStrv) texts = g_strsplit(c->sets, " ", 4);
        CpuSet sets[4], nodes = set_of(c->nodes), expected = set_of(c->allowed);
        int numbers[8];
        char owner[] = "process 9 (a)", *owners_of_nodes[8];
        Affinities affinities = { .sets = sets, .nodes = numbers, .node_owners = owners_of_nodes };
        const char *owners[8];
        uint8_t safety[8];
        Plan plan;

        for (; texts[affinities.n_sets]; affinities.n_sets++)
                sets[affinities.n_sets] = set_of(texts[affinities.n_sets]);
        CPUSET_FOREACH(node, &nodes) {
                owners_of_nodes[affinities.n_nodes] = owner;
                numbers[affinities.n_nodes++] = node;
        }
        memset(safety, 0xee, sizeof(safety));
        plan_init(&plan, NULL, 0);
        plan.allowed = set_of(c->wished);
        plan_sanitize(&plan, topology, &(Dependents){ .tasks = &affinities },
                      &(SafetyNotes){ .safety = safety, .owners = owners });

        g_autofree char *text = cpuset_format(&plan.allowed);

        ck_case(c->name, cpuset_equal(&plan.allowed, &expected), "allowed %s", text);
        for (int cpu = 0; cpu < 8; cpu++) {
                ck_case(c->name, safety[cpu] <= SAFETY_NODE, "CPU %d: %d", cpu, safety[cpu]);
                ck_case(c->name, ".LIPN"[safety[cpu]] == c->safety[cpu], "CPU %d: %c", cpu,
                        ".LIPN"[safety[cpu]]);
                ck_case(c->name, (owners[cpu] == owner) == (safety[cpu] == SAFETY_NODE),
                        "CPU %d: %s", cpu, owners[cpu]);
        }
}

TEST(without_affinities_or_safety)
{
        g_autoptr(Topology) topology = eight("0-7", "", "");
        Plan plan;

        plan_init(&plan, NULL, 0);
        plan.allowed = set_of("");
        plan_sanitize(&plan, topology, NULL, NULL);
        ck_assert_int_eq(cpuset_count(&plan.allowed), 1);
}

/* The smallest number of CPUs that meets disjoint or nested affinities, and no more than that. */
TEST(fewest)
{
        g_autoptr(Topology) topology = machine_make(64, 2, 64, "0-63", "");
        CpuSet sets[48];
        Affinities affinities = { .n_sets = 48, .sets = sets };
        Plan plan;

        /* 16 sets of 4 CPUs, each with a half and a single one in it. */
        for (int i = 0; i < 16; i++)
                for (int j = 0; j < 3; j++) {
                        sets[i * 3 + j] = (CpuSet){ 0 };
                        cpuset_add_range(&sets[i * 3 + j], i * 4 + 1, i * 4 + (4 >> j));
                }
        plan_init(&plan, NULL, 0);
        plan.allowed = (CpuSet){ 0 };
        plan_sanitize(&plan, topology, &(Dependents){ .tasks = &affinities }, NULL);
        ck_assert_int_eq(cpuset_count(&plan.allowed), 16);
}

TEST(texts)
{
        ck_assert_str_eq(safety_text(SAFETY_NONE), "");
        for (Safety safety = SAFETY_LAST; safety <= SAFETY_WINDOW; safety++)
                ck_assert_str_ne(safety_text(safety), "");
        ck_assert_str_eq(safety_text((Safety)99), "");
}

/* The earliest of the times, and the strictest of the limits, that policies asked for. */
TEST_RANGE(least, 0, 5)
{
        static const uint64_t times[][3] = {
                { 0, 0, 0 }, { 5, 0, 5 }, { 0, 7, 7 }, { 9, 8, 8 }, { 8, 9, 8 }
        };
        Plan plan;
        Wish wish;

        plan_init(&plan, NULL, 0);
        for (int i = 0; i < 2; i++) {
                wish_init(&wish);
                wish.wake_at_usec = times[_i][i];
                wish.p99_us = (uint32_t)times[_i][i];
                plan_merge(&plan, &wish);
        }
        ck_assert_uint_eq(plan.wake_at_usec, times[_i][2]);
        ck_assert_uint_eq(plan.p99_us, times[_i][2]);
}

UNIT("plan")
