/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What cpufreq offers, on described machines and on trees where something is missing; and what CPUs
 * that share a policy get together.
 */
#include "model/plan.h"
#include "sense/frequency-read.h"
#include "sense/topology-read.h"

#include "sense.h"
#include "table.h"

#define CPUFREQ "sys/devices/system/cpu/cpufreq"
#define EPP     "default performance balance_performance balance_power power"
#define PSTATE  "performance powersave"
#define FULL    "conservative ondemand userspace powersave performance schedutil"

static Tree tree;
static FreqPolicy *policies;
static int n;

static void setup(void)
{
        tree = tree_make();
}

static void teardown(void)
{
        frequency_free(policies, n);
        tree_done(&tree);
}

static const struct {
        const char *name;
        int n, of; /* policies, and the index of the one that is checked */
        int number;
        const char *cpus, *driver, *governors, *preferences;
        uint32_t min_khz, max_khz, base_khz;
        bool has_bias, has_boost;
        uint32_t table[8]; /* empty: none */
} machines[] = {
        { "adl0", 16, 8, 8, "8", "intel_pstate", PSTATE, EPP, 400000, 3400000, 1500000, true,
          true },
        { "bdwep0", 88, 87, 87, "87", "intel_cpufreq", FULL, "", 1200000, 3600000, 0, true, true },
        { "milan0", 128, 3, 3, "3", "acpi-cpufreq", FULL, "", 1500000, 3739225, 2801000, false,
          true, .table = { 1500000, 2100000, 2800000 } },
        { "synthetic-amd-epp", 8, 7, 7, "7", "amd-pstate-epp", PSTATE, EPP, 400000, 5090000,
          3800000, false, true },
        { "synthetic-biglittle", 3, 1, 4, "4-6", "cpufreq-dt",
          "ondemand userspace performance schedutil", "", 710400, 2419200, 0 },
        { "synthetic-offline", 5, 1, 2, "2", "intel_pstate", PSTATE, "", 800000, 3600000, 0 },
        { "cwf0", 576, 575, 575, "575", "intel_pstate", PSTATE, EPP, 800000, 3200000, 2200000, true,
          true },
};

static void assert_table(const char *name, const uint32_t *table, const uint32_t *expected)
{
        for (int i = 0; table && (table[i] || expected[i]); i++)
                ck_case(name, table[i] == expected[i], "%u, expected %u", table[i], expected[i]);
        ck_case(name, !table == !expected[0], "table %p", (const void *)table);
}

TEST_EACH(described, machines)
{
        g_autoptr(Topology) topology = NULL;
        g_autofree char *governors = NULL, *preferences = NULL, *cpus = NULL;
        const FreqPolicy *p;
        char driver[32];

        ck_assert(tree_build(&tree, c->name));
        ck_assert_int_eq(topology_read(tree.root, &topology), 0);
        ck_assert_int_eq(frequency_read(tree.root, topology, &policies, &n), 0);
        ck_case(c->name, n == c->n, "%d policies", n);
        p = &policies[c->of];
        ck_case(c->name, p->number == c->number, "number %d", p->number);
        ck_case(c->name, g_str_equal(p->driver, c->driver), "driver %s", p->driver);
        ck_case(c->name, p->min_khz == c->min_khz, "min %u", p->min_khz);
        ck_case(c->name, p->max_khz == c->max_khz, "max %u", p->max_khz);
        ck_case(c->name, p->base_khz == c->base_khz, "base %u", p->base_khz);
        ck_case(c->name, p->has_bias == c->has_bias, "bias %d", p->has_bias);
        ck_case(c->name, p->has_boost == c->has_boost, "boost %d", p->has_boost);
        cpus = cpuset_format(&p->cpus);
        governors = g_strjoinv(" ", p->governors);
        preferences = g_strjoinv(" ", p->preferences);
        ck_assert_str_eq(cpus, c->cpus);
        ck_assert_str_eq(governors, c->governors);
        ck_assert_str_eq(preferences, c->preferences);
        assert_table(c->name, p->frequencies, c->table);
        frequency_read_driver(tree.root, topology, driver);
        ck_assert_str_eq(driver, c->driver);
}

/* What files hold that a driver should not write, and what is missing. */
static const struct {
        const char *name, *affected, *max;
        int r;
        const char *cpus;
        uint32_t max_khz;
} damaged[] = {
        { "as it should be", "0 1 2", "3000000", 0, "0-2", 3000000 },
        { "as a list", "0-1,3", "3000000", 0, "0-1,3", 3000000 },
        { "CPUs that are not there", "1 77", "3000000", 0, "1", 3000000 },
        { "all CPUs offline", "", "3000000", -ENOENT, "", 0 },
        { "no CPUs given", NULL, "3000000", -ENOENT, "", 0 },
        { "nonsense for CPUs", "all of them", "3000000", -ENOENT, "", 0 },
        { "nonsense for a frequency", "0", "fast", 0, "0", 0 },
        { "a frequency too high for words", "0", "99999999999", 0, "0", 0 },
        { "no frequency", "0", NULL, 0, "0", 0 },
};

TEST_EACH(damage, damaged)
{
        g_autoptr(Topology) topology = machine_make(4, 1, 4, "0-3", "");
        int r;

        tree_put(&tree, "sys/devices/system/cpu/cpufreq/policyX/affected_cpus", "0");
        tree_put(&tree, "sys/devices/system/cpu/cpufreq/policy0/related_cpus", "0 1 2 3");
        if (c->affected)
                tree_put(&tree, "sys/devices/system/cpu/cpufreq/policy0/affected_cpus",
                         c->affected);
        if (c->max)
                tree_put(&tree, "sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", c->max);
        r = frequency_read(tree.root, topology, &policies, &n);
        ck_case(c->name, r == c->r, "%d", r);
        if (r == 0) {
                g_autofree char *cpus = cpuset_format(&policies[0].cpus);

                ck_case(c->name, g_str_equal(cpus, c->cpus), "CPUs %s", cpus);
                ck_case(c->name, policies[0].max_khz == c->max_khz, "%u", policies[0].max_khz);
                ck_assert(!*policies[0].governors && !*policies[0].preferences);
        }
}

/* What amd-pstate lists depends on the governor, and what idled may set does not. */
static const struct {
        const char *name, *governor, *listed;
        bool dynamic_epp;
        const char *preferences;
} listings[] = {
        { "all", "powersave", EPP " dynamic", true, EPP " dynamic" },
        { "hidden by the governor", "performance", "performance", false, EPP },
        { "hidden, with dynamic", "performance", "performance", true, EPP " dynamic" },
        { "not hidden by it", "performance", EPP, true, EPP },
        { "one", "powersave", "performance", true, "performance" },
        { "another one", "performance", "power", true, "power" },
        { "none", "performance", NULL, true, "" },
        { "an unknown governor", NULL, "performance", true, "performance" },
};

TEST_EACH(listed_preferences, listings)
{
        g_autoptr(Topology) topology = machine_make(4, 1, 4, "0-3", "");
        g_autofree char *preferences = NULL;

        tree_put(&tree, CPUFREQ "/policy0/affected_cpus", "0");
        if (c->governor)
                tree_put(&tree, CPUFREQ "/policy0/scaling_governor", c->governor);
        if (c->listed)
                tree_put(&tree, CPUFREQ "/policy0/energy_performance_available_preferences",
                         c->listed);
        if (c->dynamic_epp)
                tree_put(&tree, "sys/devices/system/cpu/amd_pstate/dynamic_epp", "disabled");
        ck_assert_int_eq(frequency_read(tree.root, topology, &policies, &n), 0);
        preferences = g_strjoinv(" ", policies[0].preferences);
        ck_case(c->name, g_str_equal(preferences, c->preferences), "%s", preferences);
}

/* Boost has a list of its own; nonsense in a list is left out. */
TEST(tables)
{
        g_autoptr(Topology) topology = machine_make(4, 1, 4, "0-3", "");

        for (int i = 0; i < 3; i++) {
                g_autofree char *dir = g_strdup_printf(CPUFREQ "/policy%d", i);
                g_autofree char *cpus = g_strconcat(dir, "/affected_cpus", NULL);
                g_autofree char *table = g_strconcat(dir, "/scaling_available_frequencies", NULL);
                g_autofree char *boosted = g_strconcat(dir, "/scaling_boost_frequencies", NULL);

                tree_put(&tree, cpus, (const char *[]){ "0", "1", "2" }[i]);
                tree_put(&tree, table, i < 2 ? "2400000 800000 fast 1600000 \n" : " \n");
                tree_put(&tree, boosted, "3200000 99999999999 \n");
        }
        ck_assert_int_eq(frequency_read(tree.root, topology, &policies, &n), 0);
        ck_assert_int_eq(n, 3);
        assert_table("all", policies[0].frequencies,
                     (const uint32_t[]){ 800000, 1600000, 2400000, 3200000, 0 });
        ck_assert_ptr_eq(policies[1].frequencies, policies[0].frequencies);
        ck_assert_ptr_null(policies[2].frequencies);
}

TEST(nothing_there)
{
        g_autoptr(Topology) topology = machine_make(4, 1, 4, "0-3", "");
        char driver[32];

        ck_assert_int_eq(frequency_read(tree.root, topology, &policies, &n), -ENOENT);
        frequency_read_driver(tree.root, topology, driver);
        ck_assert_str_eq(driver, "");
}

#define NO_WISH .latency_us = -1, .bias = -1, .boost = -1

static const struct {
        const char *name;
        CpuWish first, second, shared;
} shares[] = {
        { "nothing", { NO_WISH }, { NO_WISH }, { NO_WISH } },
        { "what is not about frequency",
          { .latency_us = 5, .disabled = 2, .bias = -1, .boost = -1 },
          { NO_WISH },
          { NO_WISH } },
        { "only one requests",
          { NO_WISH, .min_khz = 5, .max_khz = 9, .governor = "powersave", .preference = "power" },
          { NO_WISH },
          { NO_WISH, .min_khz = 5, .max_khz = 9, .governor = "powersave", .preference = "power" } },
        { "limits narrow",
          { NO_WISH, .min_khz = 5, .max_khz = 9 },
          { NO_WISH, .min_khz = 4, .max_khz = 8 },
          { NO_WISH, .min_khz = 5, .max_khz = 8 } },
        { "the minimum wins",
          { NO_WISH, .min_khz = 9 },
          { NO_WISH, .max_khz = 4 },
          { NO_WISH, .min_khz = 9, .max_khz = 9 } },
        { "the fastest choice",
          { .latency_us = -1,
            .bias = 15,
            .boost = 0,
            .governor = "powersave",
            .preference = "power" },
          { .latency_us = -1, .bias = 0, .boost = 1, .governor = "ondemand", .preference = "128" },
          { .latency_us = -1,
            .bias = 0,
            .boost = 1,
            .governor = "ondemand",
            .preference = "power" } },
};

static void assert_shared(const char *name, const CpuWish *a, const CpuWish *b)
{
        ck_case(name, a->latency_us == b->latency_us && a->disabled == b->disabled, "idle");
        ck_case(name, a->bias == b->bias, "bias %d", a->bias);
        ck_case(name, a->boost == b->boost, "boost %d", a->boost);
        ck_case(name, a->min_khz == b->min_khz, "min %u", a->min_khz);
        ck_case(name, a->max_khz == b->max_khz, "max %u", a->max_khz);
        ck_case(name, g_strcmp0(a->governor, b->governor) == 0, "governor %s", a->governor);
        ck_case(name, g_strcmp0(a->preference, b->preference) == 0, "EPP %s", a->preference);
}

TEST_EACH(share, shares)
{
        for (int turned = 0; turned < 2; turned++) {
                CpuWish wishes[3] = { turned ? c->second : c->first,
                                      { NO_WISH, .min_khz = 77 },
                                      turned ? c->first : c->second };
                const Plan plan = { .n_cpus = 3, .cpus = wishes };
                const CpuSet cpus = set_of("0,2,5,99"); /* more than there are requests for */
                CpuWish shared = plan_shared_wish(&plan, &cpus);

                assert_shared(c->name, &shared, &c->shared);
        }
}

UNIT("frequency", .setup = setup, .teardown = teardown, .timeout = 60)
