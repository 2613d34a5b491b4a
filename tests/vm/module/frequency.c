/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cpufreq driver, so that the kernel's own governors work behind the real files.
 *
 * A core of smaller capacity has the lower end of the table: the frequencies that are no higher
 * than its share of the highest.
 */
#include <linux/cpufreq.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/version.h>

#include "pmlab.h"

unsigned int lab_freqs_khz[LAB_FREQ_MAX] = { 3600000, 3300000, 3000000, 2700000, 2400000, 2100000,
                                             1800000, 1500000, 1200000, 1000000, 800000 };
int lab_n_freqs = 11;
module_param_array_named(freqs_khz, lab_freqs_khz, uint, &lab_n_freqs, 0444);
MODULE_PARM_DESC(freqs_khz, "frequencies, the highest first");

static char *policy_scope = "core";
module_param(policy_scope, charp, 0444);
MODULE_PARM_DESC(policy_scope, "whose CPUs share a policy: cpu, core or package");

static bool boost;
module_param(boost, bool, 0444);
MODULE_PARM_DESC(boost, "the highest frequency is a boost");

static int fail_verify;
module_param(fail_verify, int, 0644);
MODULE_PARM_DESC(fail_verify, "errno of every change of a policy, such as its governor");

static struct cpufreq_frequency_table table[LAB_FREQ_MAX + 1];

static const struct cpumask *cpus_of_policy(int cpu)
{
        struct lab_core *core = lab_cpus[cpu].core;

        if (strcmp(policy_scope, "package") == 0)
                return &core->package->cpus;
        return strcmp(policy_scope, "cpu") == 0 ? cpumask_of(cpu) : &core->cpus;
}

static struct cpufreq_frequency_table *table_of_core(const struct lab_core *core)
{
        u64 highest = (u64)lab_freqs_khz[0] * core->capacity / LAB_CAPACITY_MAX;
        int i = 0;

        while (i < lab_n_freqs - 1 && table[i].frequency > highest)
                i++;
        return &table[i];
}

static int policy_init(struct cpufreq_policy *policy)
{
        struct lab_core *core = lab_cpus[policy->cpu].core;

        cpumask_copy(policy->cpus, cpus_of_policy(policy->cpu));
        policy->freq_table = table_of_core(core);
        policy->cpuinfo.transition_latency = 10000; /* ns */
        policy->dvfs_possible_from_any_cpu = true;
        policy->fast_switch_possible = true;
        policy->shared_type = CPUFREQ_SHARED_TYPE_ANY;
        lab_set_khz(policy->cpus, policy->freq_table->frequency);
        policy->cur = core->khz;
        return 0;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
static void policy_exit(struct cpufreq_policy *policy)
{
}
#else
static int policy_exit(struct cpufreq_policy *policy)
{
        return 0;
}
#endif

static int policy_verify(struct cpufreq_policy_data *data)
{
        if (fail_verify)
                return -fail_verify;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
        return cpufreq_frequency_table_verify(data);
#else
        return cpufreq_frequency_table_verify(data, data->freq_table);
#endif
}

static int policy_target(struct cpufreq_policy *policy, unsigned int index)
{
        lab_set_khz(policy->cpus, policy->freq_table[index].frequency);
        return 0;
}

/* schedutil calls it with a run queue locked. Takes the lowest frequency that is high enough. */
static unsigned int policy_switch(struct cpufreq_policy *policy, unsigned int khz)
{
        const struct cpufreq_frequency_table *row = policy->freq_table;

        while (row[1].frequency != CPUFREQ_TABLE_END && row[1].frequency >= khz)
                row++;
        lab_set_khz(policy->cpus, row->frequency);
        return row->frequency;
}

static unsigned int policy_get(unsigned int cpu)
{
        return cpu < LAB_CPUS_MAX && lab_cpus[cpu].core ? lab_cpus[cpu].core->khz : 0;
}

/* From 6.15 on the kernel does so by itself, and boost is the driver's own function. */
#define SHOWS_FREQUENCIES (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0))

static struct freq_attr *attributes[8];

static struct cpufreq_driver driver = {
        .name = "acpi-cpufreq",
        .flags = CPUFREQ_CONST_LOOPS,
        .init = policy_init,
        .exit = policy_exit,
        .verify = policy_verify,
        .target_index = policy_target,
        .fast_switch = policy_switch,
        .get = policy_get,
        .attr = attributes,
};

bool lab_frequency_check(void)
{
        static const char *const scopes[] = { "cpu", "core", "package" };

        if (match_string(scopes, ARRAY_SIZE(scopes), policy_scope) < 0) {
                pr_err("pmlab: policy_scope is '%s', expected cpu, core or package\n",
                       policy_scope);
                return false;
        }
        for (int i = 0; i < lab_n_freqs; i++)
                if (lab_freqs_khz[i] == 0 || (i > 0 && lab_freqs_khz[i] >= lab_freqs_khz[i - 1])) {
                        pr_err("pmlab: %u in freqs_khz, expected the highest first and none of 0\n",
                               lab_freqs_khz[i]);
                        return false;
                }
        return true;
}

static void add_attribute(struct freq_attr *attribute)
{
        int i = 0;

        while (attributes[i])
                i++;
        attributes[i] = attribute;
}

static void add_attributes(void)
{
#if !SHOWS_FREQUENCIES
        add_attribute(&cpufreq_freq_attr_scaling_available_freqs);
        if (boost)
                add_attribute(&cpufreq_freq_attr_scaling_boost_freqs);
#endif
        for (int i = 0; lab_epp && lab_preference_attributes[i]; i++)
                add_attribute(lab_preference_attributes[i]);
}

static int register_driver(void)
{
#if SHOWS_FREQUENCIES
        if (boost)
                driver.set_boost = cpufreq_boost_set_sw;
        return cpufreq_register_driver(&driver);
#else
        int r;

        r = cpufreq_register_driver(&driver);
        if (r < 0 || !boost)
                return r;
        r = cpufreq_enable_boost_support();
        if (r < 0)
                cpufreq_unregister_driver(&driver);
        return r;
#endif
}

int lab_frequency_register(void)
{
        for (int i = 0; i < lab_n_freqs; i++) {
                table[i].driver_data = i;
                table[i].frequency = lab_freqs_khz[i];
        }
        table[lab_n_freqs].frequency = CPUFREQ_TABLE_END;
        if (boost)
                table[0].flags |= CPUFREQ_BOOST_FREQ;
        add_attributes();
        if (lab_epp)
                strscpy(driver.name, "amd-pstate-epp", sizeof(driver.name));
        return register_driver();
}

void lab_frequency_unregister(void)
{
        cpufreq_unregister_driver(&driver);
}
