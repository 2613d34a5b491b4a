/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two policies of two CPUs as different drivers show them, and the cpufreq actuator.
 */
#ifndef IDLED_TESTS_CPUFREQ_TREE_H
#define IDLED_TESTS_CPUFREQ_TREE_H

#include "tuning.h"

#define GOVERNOR "scaling_governor"
#define EPP      "energy_performance_preference"
#define MIN_FREQ "scaling_min_freq"
#define MAX_FREQ "scaling_max_freq"

static FreqPolicy policies[2];

static const char *words_of_pstate[] = { "performance", "powersave", NULL };
static const char *words_of_acpi[] = { "conservative", "ondemand",  "userspace", "powersave",
                                       "performance",  "schedutil", NULL };
static const char *preferences[] = { "default",       "performance", "balance_performance",
                                     "balance_power", "power",       NULL };
static const char *nothing[] = { NULL };

static inline void expect(const char *where, int policy, const char *file, const char *value)
{
        g_autofree char *name = g_strdup_printf("cpufreq/policy%d/%s", policy, file);

        expect_value(where, name, value);
}

static inline void found(int policy, const char *file, const char *value)
{
        put(value, "cpufreq/policy%d/%s", policy, file);
}

static inline void make_policy(int index, const char *driver, const char **governors)
{
        FreqPolicy *policy = &policies[index];
        int number = 2 * index;
        bool has_preferences = governors == words_of_pstate;

        *policy = (FreqPolicy){ .number = number,
                                .governors = (char **)governors,
                                .preferences = (char **)(has_preferences ? preferences : nothing),
                                .min_khz = 800000,
                                .max_khz = 4000000,
                                .has_bias = true,
                                .has_boost = true };
        g_strlcpy(policy->driver, driver, sizeof(policy->driver));
        cpuset_add_range(&policy->cpus, number, number + 1);
        found(number, "affected_cpus", number ? "2 3" : "0 1");
        found(number, GOVERNOR, "powersave");
        found(number, MIN_FREQ, "800000");
        found(number, MAX_FREQ, "4000000");
        found(number, "cpuinfo_max_freq", "4000000");
        if (has_preferences)
                found(number, EPP, "balance_power");
}

static inline void setup(void)
{
        tuning_setup();
        for (int i = 0; i < 2; i++)
                make_policy(i, "intel_pstate", words_of_pstate);
        for (int cpu = 0; cpu < N_CPUS; cpu++)
                put("6", "cpu%d/power/energy_perf_bias", cpu);
        put("0", "intel_pstate/no_turbo");
        facts.frequency = policies;
        facts.n_frequency = 2;
        tuning_start(&actuator_cpufreq, &options);
}

__attribute__((unused)) static inline void acpi_setup(void)
{
        setup();
        for (int i = 0; i < 2; i++)
                make_policy(i, "acpi-cpufreq", words_of_acpi);
        drop("intel_pstate/no_turbo");
        put("1", "cpufreq/boost");
}

/* Boost of the whole machine. */
__attribute__((unused)) static inline void switch_boost(int8_t boost)
{
        wishes[0].boost = wishes[2].boost = boost;
        ck_assert_int_eq(apply(), 0);
}

__attribute__((unused)) static inline void limit_maximum(uint32_t khz)
{
        wishes[0].max_khz = khz;
        ck_assert_int_eq(apply(), 0);
}

#endif
