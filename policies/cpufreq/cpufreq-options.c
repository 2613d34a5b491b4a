/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of cpufreq: six settings for each of four cases. conf/policies/cpufreq.conf documents
 * them.
 */
#include "cpufreq/cpufreq-parts.h"

static const char *const boosts[] = { "keep", "on", "off", NULL };

#define ROW(key, type, field, fallback, ...)                                                       \
        {                                                                                          \
                "Policy", key, type, offsetof(CpufreqOptions, field), fallback, __VA_ARGS__        \
        }

/* The six of one case; `when` is part of their help. */
#define ROWS(suffix, of, when)                                                                     \
        ROW("Governor" suffix, SETTING_LIST, requests[of].governors, "",                           \
            .help = "Governors" when "; idled uses the first that the driver offers"),             \
                ROW("EnergyPreference" suffix, SETTING_LIST, requests[of].preferences, "",         \
                    .help = "Energy preferences (EPP)" when                                        \
                            "; idled uses the first that the driver offers"),                      \
                ROW("EnergyBias" suffix, SETTING_STRING, requests[of].bias, "",                    \
                    .help = "Energy bias (EPB)" when ", from 0 (performance) to 15 (power)"),      \
                ROW("MinFrequency" suffix, SETTING_STRING, requests[of].min, "",                   \
                    .help = "Lowest frequency" when ", such as 1.2GHz, 40%, min, base or max"),    \
                ROW("MaxFrequency" suffix, SETTING_STRING, requests[of].max, "",                   \
                    .help = "Highest frequency" when ", such as 2.4GHz, 80%, min, base or max"),   \
                ROW("Boost" suffix, SETTING_CHOICE, requests[of].boost, "keep", .choices = boosts, \
                    .help = "Boost above the base frequency" when ": on, off, or keep unchanged")

const Setting cpufreq_settings[] = {
        ROWS("", CASE_ALWAYS, ""),
        ROWS("Battery", CASE_BATTERY, " on battery power"),
        ROWS("Low", CASE_LOW, " while the load is low"),
        ROWS("High", CASE_HIGH, " while the load is high"),
        ROW("LowLoad", SETTING_PERCENT, low, "10%", 0, 1,
            .help = "The load is low while all CPUs of a frequency policy are used less than this"),
        ROW("HighLoad", SETTING_PERCENT, high, "80%", 0, 1,
            .help = "The load is high while a CPU of a frequency policy is used this much"),
        ROW("Dwell", SETTING_DURATION, dwell_usec, "5s", 0, 3600e6,
            .help = "How long the load must be lower before that takes effect"),
        ROW("Period", SETTING_DURATION, period_usec, "1s", 50e3, 3600e6,
            .help = "How often to sample the load, if an option depends on it"),
        { 0 },
};

const char *cpufreq_key(Item item, Case when)
{
        return cpufreq_settings[when * ITEMS + item].key;
}

bool request_has(const Request *request, Item item)
{
        switch (item) {
        case ITEM_GOVERNOR:
                return request->governors[0] != NULL;
        case ITEM_PREFERENCE:
                return request->preferences[0] != NULL;
        case ITEM_BIAS:
                return *request->bias;
        case ITEM_MIN:
                return *request->min;
        case ITEM_MAX:
                return *request->max;
        case ITEM_BOOST:
                return request->boost != 0;
        case ITEMS:
                break;
        }
        return false;
}

bool request_has_any(const Request *request)
{
        for (int item = 0; item < ITEMS; item++)
                if (request_has(request, (Item)item))
                        return true;
        return false;
}

/* True if the lowest is above the highest on any hardware. */
static bool is_reversed(const Speed *min, const Speed *max)
{
        bool max_is_lower = max->kind == SPEED_MIN || max->kind == SPEED_BASE ||
                            (max->kind == SPEED_SHARE && max->value < 1);

        if (min->kind == max->kind)
                return min->value > max->value;
        return (min->kind == SPEED_MAX && max_is_lower) ||
               (min->kind == SPEED_BASE && max->kind == SPEED_MIN);
}

static const char *check_request(const Request *request, Case when, const char **ret_key)
{
        static const char wrong[] = "is no frequency such as 1.8GHz, 60%, min, base or max";
        Speed min, max;
        uint32_t bias;

        *ret_key = cpufreq_key(ITEM_BIAS, when);
        if (*request->bias && !bias_parse(request->bias, &bias))
                return "is neither a number from 0 to 15 nor performance, balance-performance, "
                       "normal, balance-power or power";
        *ret_key = cpufreq_key(ITEM_MAX, when);
        if (*request->max && !speed_parse(request->max, &max))
                return wrong;
        *ret_key = cpufreq_key(ITEM_MIN, when);
        if (*request->min && !speed_parse(request->min, &min))
                return wrong;
        if (*request->min && *request->max && is_reversed(&min, &max))
                return "is above the highest frequency";
        return NULL;
}

const char *cpufreq_check(const void *options, const char **ret_key)
{
        const CpufreqOptions *o = options;
        const char *wrong = NULL;

        for (int i = 0; i < CASES && !wrong; i++)
                wrong = check_request(&o->requests[i], (Case)i, ret_key);
        if (wrong)
                return wrong;
        *ret_key = "LowLoad";
        return o->low > o->high ? "is greater than HighLoad" : NULL;
}

unsigned cpufreq_reads(const void *options)
{
        const CpufreqOptions *o = options;

        return request_has_any(&o->requests[CASE_BATTERY]) ? SENSE_POWER : 0;
}
