/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans for single CPUs: how requests merge, and what is made harmless. */
#include "machine.h"
#include "model/plan.h"
#include "table.h"

#define WISH(latency_, ...)                                                                        \
        {                                                                                          \
                .latency_us = latency_, .bias = -1, .boost = -1, ##__VA_ARGS__                     \
        }
#define NOTHING WISH(-1)
#define CHOICE(bias_, governor_, preference_)                                                      \
        {                                                                                          \
                .latency_us = -1, .bias = bias_, .boost = bias_ != 0, .governor = governor_,       \
                .preference = preference_                                                          \
        }

static const struct {
        const char *name;
        CpuWish first, second, merged;
} merge_cases[] = {
        { "nothing", NOTHING, NOTHING, NOTHING },
        { "the shortest latency", WISH(50), WISH(20), WISH(20) },
        { "zero is a latency", WISH(0), WISH(20), WISH(0) },
        { "no latency is none", WISH(-1), WISH(20), WISH(20) },
        { "states are united", WISH(-1, .disabled = 4), WISH(-1, .disabled = 2),
          WISH(-1, .disabled = 6) },
        { "choices are the first's", CHOICE(6, "teo", "power"), CHOICE(0, "x", "y"),
          CHOICE(6, "teo", "power") },
        { "or the second's", NOTHING, CHOICE(0, "x", "y"), CHOICE(0, "x", "y") },
        { "frequencies narrow", WISH(-1, .min_khz = 100, .max_khz = 900),
          WISH(-1, .min_khz = 200, .max_khz = 800), WISH(-1, .min_khz = 200, .max_khz = 800) },
        { "the minimum wins", WISH(-1, .max_khz = 300), WISH(-1, .min_khz = 500),
          WISH(-1, .min_khz = 500, .max_khz = 500) },
};

static void merge_two(const CpuWish *first, const CpuWish *second, CpuWish *room, Plan *ret_plan)
{
        CpuWish wishes[2] = { *first, *second };

        plan_init(ret_plan, room, 1);
        for (int i = 0; i < 2; i++) {
                Wish wish;

                wish_init(&wish);
                wish.cpus = &wishes[i];
                wish.n_cpus = 1;
                plan_merge(ret_plan, &wish);
        }
}

static const IdleTable three = {
        .n_states = 3, .states = { { "POLL", 0, 0 }, { "C1", 2, 4 }, { "C6", 100, 300 } }
};

TEST_EACH(merge, merge_cases)
{
        CpuWish room[2], expected_room[2], nothing = NOTHING;
        Plan plan, expected;

        merge_two(&c->first, &c->second, &room[0], &plan);
        plan_sanitize_cpus(&plan, &three);
        merge_two(&c->merged, &nothing, &expected_room[0], &expected);
        ck_case(c->name, plan_equal(&plan, &expected), "differs");
}

static const struct {
        const char *name;
        int n_states;
        uint16_t wished, disabled;
} state_cases[] = {
        { "one of three", 3, 4, 4 },
        { "all of three: the shallowest stays", 3, 7, 6 },
        { "states that are not there go", 3, 0xfff8, 0 },
        { "all, and more than there are", 3, 0xffff, 6 },
        { "the only one stays", 1, 1, 0 },
        { "no states", 0, 3, 0 },
        { "ten states", 10, 0x3ff, 0x3fe },
};

TEST_EACH(states, state_cases)
{
        IdleTable table = { .n_states = c->n_states };
        CpuWish wish = NOTHING, nothing = NOTHING, room[1];
        Plan plan;

        wish.disabled = c->wished;
        merge_two(&wish, &nothing, room, &plan);
        plan_sanitize_cpus(&plan, &table);
        ck_case(c->name, room[0].disabled == c->disabled, "%#x", room[0].disabled);
        room[0].disabled = c->wished;
        plan_sanitize_cpus(&plan, NULL);
        ck_case(c->name, room[0].disabled == 0, "unknown states are not switched off");
}

static const struct {
        const char *name;
        uint32_t latency_us;
        int state;
        uint16_t deeper;
} latency_cases[] = {
        { "shorter than any but polling", 1, 0, 6 },
        { "as long as", 2, 1, 4 },
        { "between", 50, 1, 4 },
        { "the deepest", 100, 2, 0 },
        { "longer than all", 5000, 2, 0 },
        { "zero", 0, 0, 6 },
};

TEST_EACH(latencies, latency_cases)
{
        IdleTable none = { 0 }, slow = { .n_states = 1, .states = { { "C1", 9, 9 } } };
        int state = idle_table_deepest(&three, c->latency_us);

        ck_case(c->name, state == c->state, "state %d", state);
        ck_case(c->name, idle_table_deeper(&three, state) == c->deeper, "deeper");
        ck_assert_int_eq(idle_table_deepest(&none, c->latency_us), -1);
        ck_assert_msg(idle_table_deepest(&slow, 1) == 0, "some state must remain");
}

/* Four cores of two CPUs; 6 and 7 are faster. */
static const struct {
        const char *name, *wished, *kept;
        unsigned min_cores;
        const char *allowed;
} keep_cases[] = {
        { "nothing kept", "0-1", "", 0, "0-1" },
        { "kept and requested", "0-1", "1", 0, "0-1" },
        { "kept though parked", "0-1", "4", 0, "0-1,4" },
        { "enough cores", "0-3", "", 2, "0-3" },
        { "one more core: the fastest", "0-1", "", 2, "0-1,6-7" },
        { "two more", "0-1", "", 3, "0-3,6-7" },
        { "more than there are", "0", "", 99, "0,2-7" },
        { "a kept core counts", "0", "4", 2, "0,4" },
};

TEST_EACH(keep, keep_cases)
{
        g_autoptr(Topology) topology = machine_make(8, 2, 8, "0-7", "");
        g_autofree char *found = NULL;
        CpuSet expected = set_of(c->allowed);
        uint8_t safety[8];
        Plan plan;

        for (int core = 0; core < 3; core++)
                topology->cores[core].capacity = CAPACITY_SCALE / 2;
        plan_init(&plan, NULL, 0);
        plan.allowed = set_of(c->wished);
        plan.kept = set_of(c->kept);
        plan.min_cores = c->min_cores;
        plan_sanitize(&plan, topology, NULL, &(SafetyNotes){ .safety = safety });
        found = cpuset_format(&plan.allowed);
        ck_case(c->name, cpuset_equal(&plan.allowed, &expected), "%s", found);
}

static const struct {
        const char *name;
        int32_t first, second, merged;
} global_cases[] = {
        { "no request", -1, -1, -1 },     { "one", 50, -1, 50 },
        { "the other", -1, 50, 50 },      { "the shorter", 100, 50, 50 },
        { "zero is one, too", 0, 50, 0 },
};

TEST_EACH(global_latency, global_cases)
{
        Plan plan, nothing;
        Wish first, second;

        plan_init(&plan, NULL, 0);
        plan_init(&nothing, NULL, 0);
        wish_init(&first);
        wish_init(&second);
        first.global_latency_us = c->first;
        second.global_latency_us = c->second;
        plan_merge(&plan, &first);
        plan_merge(&plan, &second);
        ck_case(c->name, plan.global_latency_us == c->merged, "%d", plan.global_latency_us);
        ck_case(c->name, plan_equal(&plan, &nothing) == (c->merged < 0), "equal to nothing");
}

#define OF_PLAN(field_)                                                                            \
        {                                                                                          \
                .offset = offsetof(Plan, field_), .name = #field_                                  \
        }
#define OF_CPU(field_)                                                                             \
        {                                                                                          \
                .of_cpu = true, .offset = offsetof(CpuWish, field_), .name = #field_               \
        }

static const struct {
        const char *name;
        size_t offset;
        bool of_cpu;
} fields[] = {
        OF_PLAN(allowed),
        OF_PLAN(kept),
        OF_PLAN(min_cores),
        OF_PLAN(idle_governor),
        OF_PLAN(platform),
        OF_PLAN(global_latency_us),
        OF_PLAN(resting),
        OF_PLAN(quiet.interrupts),
        OF_PLAN(quiet.workqueues),
        OF_PLAN(quiet.stat_s),
        OF_PLAN(quiet.check_s),
        OF_PLAN(quiet.writeback_cs),
        OF_PLAN(n_cpus),
        OF_CPU(latency_us),
        OF_CPU(disabled),
        OF_CPU(bias),
        OF_CPU(boost),
        OF_CPU(min_khz),
        OF_CPU(max_khz),
        OF_CPU(governor),
        OF_CPU(preference),
};

/* Plans that differ in one of these fields are not the same: it would not be carried out. */
TEST_EACH(one_field_differs, fields)
{
        CpuWish rooms[2][2];
        Plan plans[2];

        for (int i = 0; i < 2; i++)
                plan_init(&plans[i], rooms[i], 2);
        ck_assert(plan_equal(&plans[0], &plans[1]));
        (c->of_cpu ? (char *)&rooms[1][1] : (char *)&plans[1])[c->offset] ^= 1;
        ck_case(c->name, !plan_equal(&plans[0], &plans[1]), "equal");
}

UNIT("plan-cpus")
