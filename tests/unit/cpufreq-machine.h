/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of cpufreq share: drivers as they present themselves, and a machine of two
 * frequency policies with two CPUs each.
 */
#ifndef IDLED_TESTS_CPUFREQ_MACHINE_H
#define IDLED_TESTS_CPUFREQ_MACHINE_H

#include "machine.h"
#include "table.h"
#include "world.h"

/* A driver as it presents itself. */
typedef struct Driver {
        const char *name, *governors, *preferences;
        uint32_t min_khz, max_khz, base_khz;
        bool has_bias, has_boost;
} Driver;

#define ALL_GOVERNORS "conservative ondemand userspace powersave performance schedutil"
#define ALL_EPP       "default performance balance_performance balance_power power"
#define EPP_7_3       ALL_EPP " dynamic"

static const Driver intel_active = {
        "intel_pstate", "performance powersave", ALL_EPP, 400000, 4700000, 2100000, true, true
};
static const Driver intel_passive = { "intel_cpufreq", ALL_GOVERNORS, ALL_EPP, 400000,
                                      4700000,         2100000,       true,    true };
static const Driver amd_active = {
        "amd-pstate-epp", "performance powersave", ALL_EPP, 400000, 5137000, 0, false, true
};
static const Driver amd_7_3 = {
        "amd-pstate-epp", "performance powersave", EPP_7_3, 400000, 5137000, 0, false, true
};
static const Driver amd_performance = {
        "amd-pstate-epp", "performance powersave", "performance", 400000, 5137000, 0, false, true
};
static const Driver acpi = { "acpi-cpufreq", ALL_GOVERNORS, "", 1500000, 2450000, 0, false, true };
static const Driver cppc = { "cppc_cpufreq", ALL_GOVERNORS, "", 1000000, 3000000, 0, false, false };
static const Driver module_less = { "intel_cpufreq", "performance", ALL_EPP, 800000,
                                    2000000,         2000000,       false,   false };

static const Grid four_cpus = { 1, 1, 4, 1, 0, 0, NULL };

typedef struct Machine {
        Topology *topology;
        FreqPolicy policies[2]; /* of CPUs 0-1 and 2-3 */
        World *world;
} Machine;

static inline FreqPolicy policy_of(const Driver *driver, int number, const char *cpus)
{
        FreqPolicy policy = { .number = number,
                              .cpus = set_of(cpus),
                              .governors = g_strsplit(driver->governors, " ", -1),
                              .preferences = g_strsplit(driver->preferences, " ", -1),
                              .min_khz = driver->min_khz,
                              .max_khz = driver->max_khz,
                              .base_khz = driver->base_khz,
                              .has_bias = driver->has_bias,
                              .has_boost = driver->has_boost };

        g_strlcpy(policy.driver, driver->name, sizeof(policy.driver));
        return policy;
}

static inline Machine machine_start(const Driver *first, const Driver *second, const char *options)
{
        Machine m = { .topology = grid_build(&four_cpus) };

        m.policies[0] = policy_of(first, 0, "0-1");
        m.policies[1] = policy_of(second, 2, "2-3");
        m.world = world_new(&idled_policy, m.topology);
        world_set_all(m.world, options);
        return m;
}

static inline void machine_stop(Machine *m)
{
        for (int i = 0; i < 2; i++) {
                g_strfreev(m->policies[i].governors);
                g_strfreev(m->policies[i].preferences);
        }
        world_free(m->world);
        topology_free(m->topology);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Machine, machine_stop)

static inline void decide(Machine *m, uint64_t usec)
{
        m->world->frequency = m->policies;
        m->world->n_frequency = 2;
        world_decide(m->world, usec);
}

/* The request, "governor=powersave min=400". */
static inline char *wish_format(const CpuWish *wish)
{
        GString *text = g_string_new(NULL);

        if (wish->governor)
                g_string_append_printf(text, " governor=%s", wish->governor);
        if (wish->preference)
                g_string_append_printf(text, " epp=%s", wish->preference);
        if (wish->bias >= 0)
                g_string_append_printf(text, " epb=%d", wish->bias);
        if (wish->min_khz)
                g_string_append_printf(text, " min=%u", wish->min_khz);
        if (wish->max_khz)
                g_string_append_printf(text, " max=%u", wish->max_khz);
        if (wish->boost >= 0)
                g_string_append_printf(text, " boost=%d", wish->boost);
        if (wish->latency_us >= 0 || wish->disabled)
                g_string_append(text, " idle states");
        if (text->len)
                g_string_erase(text, 0, 1);
        return g_string_free(text, FALSE);
}

static inline void expect(const char *name, const Machine *m, int cpu, const char *expected)
{
        g_autofree char *text = wish_format(&m->world->cpus[cpu]);

        ck_case(name, strcmp(text, expected) == 0, "CPU %d: \"%s\", expected \"%s\"", cpu, text,
                expected);
}

/* The reasons of a CPU, each with its option, "BECAUSE [OPTION]; ...", and where another value than
 * the configured one is in effect both: "[OPTION 9000, now 2450 MHz]". */
static inline char *explain(const Machine *m, int cpu)
{
        PolicyInput input = { .topology = m->topology,
                              .snapshot = m->world->snapshot,
                              .frequency = m->world->frequency,
                              .n_frequency = m->world->n_frequency,
                              .options = m->world->options };
        Reason reasons[EXPLAIN_MAX] = { 0 };
        int n = idled_policy.explain(m->world->state, &input, cpu, reasons);
        GString *text = g_string_new(NULL);

        for (int i = 0; i < n; i++) {
                g_string_append_printf(text, "%s%s [%s", i ? "; " : "", reasons[i].because,
                                       reasons[i].option);
                if (reasons[i].effective_because)
                        g_string_append_printf(text, " %g, now %g %s", reasons[i].threshold,
                                               reasons[i].effective, reasons[i].threshold_unit);
                g_string_append_c(text, ']');
        }
        return g_string_free(text, FALSE);
}

/* Seconds with this load on CPU 0. */
static inline void run(Machine *m, double busy, int seconds)
{
        for (int i = 0; i < seconds; i++) {
                m->world->snapshot->busy[0] = (float)busy;
                decide(m, 1000000);
        }
}

#endif
