/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of ondemand. conf/policies/ondemand.conf documents them.
 */
#include <string.h>

#include "ondemand/ondemand.h"

static const char *const pack_orders[] = { "efficiency", "performance", "package", NULL };

static const char *const kinds[] = CORE_KIND_NAMES;

#define ROW(key, type, field, fallback, ...)                                                       \
        {                                                                                          \
                "Policy", key, type, offsetof(OndemandOptions, field), fallback, __VA_ARGS__       \
        }

const Setting ondemand_settings[] = {
        ROW("Park", SETTING_BOOL, park, "yes", .help = "Park cores at all"),
        ROW("Period", SETTING_DURATION, period_usec, "250ms", READING_USEC, 60e6,
            .help = "How often to sample the load while it changes"),
        ROW("FilterTime", SETTING_DURATION, filter_usec, "1s", 0, 600e6,
            .help = "Time constant of the load's moving average"),
        ROW("TargetUtilization", SETTING_PERCENT, target, "70%", 0.05, 1,
            .help = "Utilization up to which the filtered load may fill the active cores"),
        ROW("UpThreshold", SETTING_PERCENT, up, "90%", 0.05, 1,
            .help = "Unpark when a CPU, or all active cores together, are used this much"),
        ROW("DownThreshold", SETTING_PERCENT, down, "60%", 0, 1,
            .help = "Park when the active cores are used less than this"),
        ROW("MaxWait", SETTING_DURATION, max_wait_usec, "0", 0, 60e6,
            .help = "How long tasks may wait for CPUs before cores are unparked"),
        ROW("Dwell", SETTING_DURATION, dwell_usec, "5s", 0, 3600e6,
            .help = "How long the load must be low before cores are parked"),
        ROW("MinCores", SETTING_COUNT, min_cores, "1", 1, CPUSET_MAX,
            .help = "Number of cores that are always active"),
        ROW("MaxCores", SETTING_COUNT, max_cores, "0", 0, CPUSET_MAX,
            .help = "Number of cores that are active at most; 0: all"),
        ROW("PackOrder", SETTING_CHOICE, pack_order, "efficiency", .choices = pack_orders,
            .help = "Which cores stay active: the slowest, the fastest, or package by package"),
        ROW("Kinds", SETTING_LIST, kinds, "", .choices = kinds,
            .help = "Kinds of cores to use first, and alone while they suffice, in this order"),
        ROW("MaxTransitions", SETTING_COUNT, max_transitions, "6", 2, CHANGES_MAX,
            .help = "Changes of the set of parked CPUs in any minute, at most"),
        { 0 },
};

PackKinds ondemand_kinds(const OndemandOptions *options)
{
        PackKinds first = { { 0 } };
        unsigned seen = 0;
        int n = 0;

        for (char **word = options->kinds; *word; word++)
                for (int i = 0; i < CORE_KINDS; i++)
                        if (strcmp(*word, kinds[i]) == 0 && !(seen & 1u << i)) {
                                seen |= 1u << i;
                                first.kinds[n++] = (uint16_t)(1u << i);
                        }
        return first;
}

int ondemand_unmet(const void *options, const PolicyInput *machine, Unmet *ret_unmet, int max)
{
        static const char few[] = "is more cores than this machine has; all of them stay active";
        static const char many[] = "is more cores than this machine has, so it is no limit";
        const OndemandOptions *o = options;
        const uint64_t cores = (uint64_t)machine->topology->n_cores;
        int n = 0;

        if (o->min_cores > cores && n < max) {
                ret_unmet[n].key = "MinCores";
                memcpy(ret_unmet[n++].text, few, sizeof(few));
        }
        if (o->max_cores > cores && n < max) {
                ret_unmet[n].key = "MaxCores";
                memcpy(ret_unmet[n++].text, many, sizeof(many));
        }
        return n;
}

const char *ondemand_check(const void *options, const char **ret_key)
{
        const OndemandOptions *o = options;
        const char *key = NULL, *wrong = NULL;

        if (o->down > o->target) {
                key = "DownThreshold";
                wrong = "is greater than TargetUtilization";
        } else if (o->target > o->up) {
                key = "TargetUtilization";
                wrong = "is greater than UpThreshold";
        } else if (o->max_cores > 0 && o->min_cores > o->max_cores) {
                key = "MinCores";
                wrong = "is greater than MaxCores";
        }
        if (wrong)
                *ret_key = key;
        return wrong;
}
