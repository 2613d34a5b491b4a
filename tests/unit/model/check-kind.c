/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kinds of cores: which CPUs are of which kind, given the facts about each CPU.
 */
#include "machine.h"
#include "model/kind.h"
#include "table.h"

#define GROUPS 3

/* Each group is of CPUs that are alike; a machine has up to GROUPS of them, in order. */
typedef struct Group {
        int n;
        uint64_t capacity;
        uint32_t cache_kib;
        int cache_level;
        CoreType type;
} Group;

static const struct {
        const char *name;
        const char *efficient, *fast, *cache, *island; /* NULL: none */
        Group groups[GROUPS];
} machines[] = {
        { "one CPU", .groups = { { 1, 1024, 32768, 3, 0 } } },
        { "alike", .groups = { { 8, 1024, 32768, 3, 0 } } },
        { "nothing known", .groups = { { 8, 0, 0, 0, 0 } } },
        { "preferred cores", .groups = { { 2, 1024, 32768, 3, 0 }, { 6, 950, 32768, 3, 0 } } },
        { "compact cores", .efficient = "4-11", .fast = "0-3",
          .groups = { { 4, 1024, 16384, 3, 0 }, { 8, 700, 16384, 3, 0 } } },
        { "little, big, prime", .efficient = "0-3", .fast = "4-7",
          .groups = { { 4, 325, 0, 0, 0 }, { 3, 872, 0, 0, 0 }, { 1, 1024, 0, 0, 0 } } },
        { "P and E", .efficient = "4-11", .fast = "0-3",
          .groups = { { 4, 1024, 30720, 3, 2 }, { 8, 640, 30720, 3, 1 } } },
        { "types matter more than speed", .efficient = "4-11", .fast = "0-3",
          .groups = { { 4, 1024, 30720, 3, 2 }, { 8, 800, 30720, 3, 1 } } },
        { "one CPU without a type: speed decides", .efficient = "4-7", .fast = "0-3,8",
          .groups = { { 4, 1024, 30720, 3, 2 },
                      { 4, 640, 30720, 3, 1 },
                      { 1, 800, 30720, 3, 0 } } },
        { "P cores are off", .groups = { { 8, 640, 30720, 3, 1 } } },
        { "an island", .efficient = "4-13", .fast = "0-3", .island = "12-13",
          .groups = { { 4, 1024, 24576, 3, 2 }, { 8, 649, 24576, 3, 1 }, { 2, 358, 2048, 2, 1 } } },
        { "efficient cores all without the cache", .efficient = "4-7", .fast = "0-3",
          .groups = { { 4, 1024, 12288, 3, 2 }, { 4, 689, 4096, 2, 1 } } },
        { "two caches", .fast = "8-15", .cache = "0-7",
          .groups = { { 8, 933, 98304, 3, 0 }, { 8, 1024, 32768, 3, 0 } } },
        { "two caches, and cores ranked", .fast = "5-7", .cache = "0-3",
          .groups = { { 4, 933, 98304, 3, 0 },
                      { 1, 900, 32768, 3, 0 },
                      { 3, 1024, 32768, 3, 0 } } },
        { "a cache that is little larger",
          .groups = { { 8, 1024, 36864, 3, 0 }, { 8, 1024, 32768, 3, 0 } } },
        { "a cache of unknown size", .groups = { { 8, 1024, 98304, 3, 0 }, { 8, 1024, 0, 3, 0 } } },
};

TEST_EACH(kinds, machines)
{
        const char *expected[] = { c->efficient, c->fast, c->cache, c->island };
        g_autofree CpuFacts *facts = g_new0(CpuFacts, 32);
        g_autoptr(Topology) topology = NULL;
        CpuSet all = { 0 };
        int n = 0;

        for (int i = 0; i < GROUPS; i++)
                for (int j = 0; j < c->groups[i].n; j++, n++)
                        facts[n] = (CpuFacts){ .core_id = n,
                                               .cluster_id = -1,
                                               .cache_id = -1,
                                               .capacity = c->groups[i].capacity,
                                               .cache_kib = c->groups[i].cache_kib,
                                               .cache_level = c->groups[i].cache_level,
                                               .type = c->groups[i].type };
        cpuset_add_range(&all, 0, n - 1);
        topology = topology_build(n, facts, &all, &all, NULL, NULL);
        for (int i = 0; kind_names[i]; i++) {
                CpuSet found = topology_of_kinds(topology, 1u << i);
                g_autofree char *text = cpuset_format(&found);

                ck_case(c->name, g_str_equal(text, expected[i] ?: ""), "%s: %s", kind_names[i],
                        text);
        }
}

/* CPUs 0-1 have the cache, 2-3 are fast, 4-5 efficient, 6-7 efficient and isolated. */
static const struct {
        const char *name;
        unsigned kinds;
        const char *online, *active, *chosen;
} choices[] = {
        { "a kind", KIND_CACHE, "0-7", "0-7", "0-1" },
        { "two kinds", KIND_CACHE | KIND_EFFICIENT, "0-7", "0-7", "0-1,4-5" },
        { "isolated CPUs are left out", KIND_EFFICIENT, "0-7", "0-7", "4-5" },
        { "some are parked", KIND_FAST, "0-7", "1-2,6-7", "1-2" },
        { "some are offline", KIND_FAST, "1-7", "0-7", "1-3" },
        { "all are parked", KIND_EFFICIENT, "0-7", "0-3,6-7", "0-3,6-7" },
        { "all are offline", KIND_CACHE, "2-7", "0-7", "2-7" },
        { "none of the kind", KIND_ISLAND, "0-7", "0-7", "0-7" },
};

TEST_EACH(choose, choices)
{
        TopologyCpu cpus[8] = { 0 };
        Topology topology = {
                .n_cpus = 8, .cpus = cpus, .online = set_of(c->online), .isolated = set_of("6-7")
        };
        CpuSet active = set_of(c->active), chosen;
        g_autofree char *text = NULL;

        CPUSET_FOREACH(cpu, &topology.online)
                cpus[cpu].kinds = cpu < 2   ? KIND_FAST | KIND_CACHE
                                  : cpu < 4 ? KIND_FAST
                                            : KIND_EFFICIENT;
        chosen = kinds_choose(&topology, c->kinds, &active);
        text = cpuset_format(&chosen);
        ck_case(c->name, g_str_equal(text, c->chosen), "%s", text);
}

TEST(words)
{
        const char *good[] = { "cache", "efficient", NULL }, *bad[] = { "fast", "Fast", NULL };
        const char *word = NULL;
        unsigned found = 7;

        ck_assert_int_eq(kinds_parse(bad, &found, &word), -EINVAL);
        ck_assert_str_eq(word, "Fast");
        ck_assert_uint_eq(found, 7);
        ck_assert_int_eq(kinds_parse(good, &found, &word), 0);
        ck_assert_uint_eq(found, KIND_CACHE | KIND_EFFICIENT);
        ck_assert_int_eq(kinds_parse(good + 2, &found, &word), 0);
        ck_assert_uint_eq(found, 0);
}

UNIT("kind")
