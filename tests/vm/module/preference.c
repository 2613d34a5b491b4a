/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Energy preferences (EPP), which change nothing here. As with amd-pstate, the driver offers and
 * takes none but `performance` while that is the governor, and refuses all of them while
 * dynamic_epp is on, which is a file for all CPUs.
 */
#include <linux/cpu.h>
#include <linux/cpufreq.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "pmlab.h"

bool lab_epp;
module_param_named(epp, lab_epp, bool, 0444);
MODULE_PARM_DESC(epp, "the frequency driver has energy preferences");

static bool dynamic_epp;
module_param(dynamic_epp, bool, 0444);
MODULE_PARM_DESC(dynamic_epp, "the driver chooses them itself, and begins so");

enum { BALANCED, PERFORMANCE, DEFAULT };
static const char *const words[] = { "balance_performance", "performance", "default",
                                     "balance_power",       "power",       "dynamic" };

static int chosen[LAB_CPUS_MAX]; /* of the policy whose first CPU this is */

static int *find(const struct cpufreq_policy *policy)
{
        return &chosen[cpumask_first(policy->related_cpus)];
}

static bool is_fixed(const struct cpufreq_policy *policy)
{
        return policy->governor && strcmp(policy->governor->name, words[PERFORMANCE]) == 0;
}

static ssize_t show_energy_performance_available_preferences(struct cpufreq_policy *policy,
                                                             char *buffer)
{
        int length = 0;

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (i == PERFORMANCE || !is_fixed(policy))
                        length += sysfs_emit_at(buffer, length, "%s ", words[i]);
        return length + sysfs_emit_at(buffer, length, "\n");
}

static ssize_t show_energy_performance_preference(struct cpufreq_policy *policy, char *buffer)
{
        return sysfs_emit(buffer, "%s\n", words[is_fixed(policy) ? PERFORMANCE : *find(policy)]);
}

static ssize_t store_energy_performance_preference(struct cpufreq_policy *policy, const char *text,
                                                   size_t size)
{
        int i = sysfs_match_string(words, text);

        if (i < 0)
                return i;
        if (dynamic_epp || (is_fixed(policy) && i != PERFORMANCE))
                return -EBUSY;
        *find(policy) = i == DEFAULT ? BALANCED : i;
        return size;
}

cpufreq_freq_attr_rw(energy_performance_preference);
cpufreq_freq_attr_ro(energy_performance_available_preferences);

struct freq_attr *lab_preference_attributes[] = { &energy_performance_preference,
                                                  &energy_performance_available_preferences, NULL };

static ssize_t dynamic_epp_show(struct device *unused, struct device_attribute *attribute,
                                char *buffer)
{
        return sysfs_emit(buffer, "%s\n", dynamic_epp ? "enabled" : "disabled");
}

static ssize_t dynamic_epp_store(struct device *unused, struct device_attribute *attribute,
                                 const char *text, size_t size)
{
        if (!sysfs_streq(text, "enabled") && !sysfs_streq(text, "disabled"))
                return -EINVAL;
        dynamic_epp = sysfs_streq(text, "enabled");
        return size;
}
static DEVICE_ATTR_RW(dynamic_epp);

static struct attribute *attributes[] = { &dev_attr_dynamic_epp.attr, NULL };
static const struct attribute_group group = { .name = "amd_pstate", .attrs = attributes };

/* /sys/devices/system/cpu */
static struct kobject *directory(void)
{
        return get_cpu_device(0)->kobj.parent;
}

int lab_preference_register(void)
{
        return lab_epp ? sysfs_create_group(directory(), &group) : 0;
}

void lab_preference_unregister(void)
{
        if (lab_epp)
                sysfs_remove_group(directory(), &group);
}
