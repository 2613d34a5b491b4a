/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of cpufreq, six settings for each of three cases, and what of them a frequency policy
 * can do: steps 1, 3 and 4. conf/policies/cpufreq.conf documents the options.
 */
#include "cpufreq/cpufreq-choose.h"

#include <math.h>
#include <string.h>

#include "words.h"

static const char *const boosts[] = { "keep", "on", "off", NULL };
static const char *const biases[] = { "a number from 0 to 15, or a name, such as normal", NULL };
static const char *const speeds[] = { "a frequency, a percentage, min, base or max", NULL };

const char *const cpufreq_platforms[] = { "keep",     "low-power",   "cool",   "quiet",
                                          "balanced", "performance", "custom", NULL };

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
                ROW("EnergyBias" suffix, SETTING_STRING, requests[of].bias, "", .choices = biases, \
                    .help = "Energy bias (EPB)" when ", from 0 (performance) to 15 (power)"),      \
                ROW("MinFrequency" suffix, SETTING_STRING, requests[of].min, "",                   \
                    .choices = speeds,                                                             \
                    .help = "Lowest frequency" when ", such as 1.2GHz, 40%, min, base or max"),    \
                ROW("MaxFrequency" suffix, SETTING_STRING, requests[of].max, "",                   \
                    .choices = speeds,                                                             \
                    .help = "Highest frequency" when ", such as 2.4GHz, 80%, min, base or max"),   \
                ROW("Boost" suffix, SETTING_CHOICE, requests[of].boost, "keep", .choices = boosts, \
                    .help = "Boost above the base frequency" when ": on, off, or keep unchanged")

const Setting cpufreq_settings[] = {
        ROWS("", CASE_ALWAYS, ""),
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
        ROW("PlatformProfile", SETTING_CHOICE, platform, "keep", .choices = cpufreq_platforms,
            .help = "The firmware's profile; if it lacks this one, the nearest that it offers"),
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
                break;
        }
        return request->boost != 0;
}

bool request_has_any(const Request *request)
{
        for (int item = 0; item < ITEMS; item++)
                if (request_has(request, (Item)item))
                        return true;
        return false;
}

/* A frequency as people write it: "1.8GHz", "60%" of the hardware's highest, "min", "base", "max".
 */
typedef struct Speed {
        enum { SPEED_KHZ, SPEED_SHARE, SPEED_MIN, SPEED_BASE, SPEED_MAX } kind;
        double value; /* kHz or a share of 1 */
} Speed;

/* False if the text is not one of a frequency. */
static bool speed_parse(const char *text, Speed *ret_speed)
{
        static const Unit units[] = { { "kHz", 1 }, { "MHz", 1e3 }, { "GHz", 1e6 }, { NULL, 0 } };
        static const Unit percent[] = { { "%", 0.01 }, { NULL, 0 } };
        static const char *const words[] = { "min", "base", "max" };
        Speed speed = { .kind = SPEED_KHZ };

        if (word_to_number(text, percent, &speed.value))
                speed.kind = SPEED_SHARE;
        else if (!word_to_number(text, units, &speed.value))
                for (int i = 0; i < 3; i++)
                        if (strcmp(text, words[i]) == 0)
                                speed.kind = SPEED_MIN + i;
        if (speed.kind == SPEED_KHZ && speed.value <= 0)
                return false;
        if (speed.kind == SPEED_SHARE && speed.value > 1)
                return false;
        *ret_speed = speed;
        return true;
}

bool khz_parse(const char *text, uint32_t most_khz, double *ret_khz)
{
        Speed speed;

        if (!speed_parse(text, &speed) || speed.kind > (most_khz > 0 ? SPEED_SHARE : SPEED_KHZ))
                return false;
        *ret_khz = speed.kind == SPEED_SHARE ? speed.value * most_khz : speed.value;
        return true;
}

/* False if the text is not one of a bias: a number to 15 or a name. */
static bool bias_parse(const char *text, uint32_t *ret_bias)
{
        static const Unit names[] = { { "performance", 0 }, { "balance-performance", 4 },
                                      { "normal", 6 },      { "balance-power", 8 },
                                      { "power", 15 },      { NULL, 0 } };
        static const Unit none[] = { { "", 1 }, { NULL, 0 } };
        double number;

        for (const Unit *name = names; name->name; name++)
                if (word_equal(text, name->name)) {
                        *ret_bias = (uint32_t)name->factor;
                        return true;
                }
        if (!word_to_number(text, none, &number) || number > 15 || number != floor(number))
                return false;
        *ret_bias = (uint32_t)number;
        return true;
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
        static const char *const above[CASES] = { [CASE_ALWAYS] = "is above MaxFrequency",
                                                  [CASE_LOW] = "is above MaxFrequencyLow",
                                                  [CASE_HIGH] = "is above MaxFrequencyHigh" };
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
                return above[when];
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

/* Step 1. */
static Case case_of(const CpufreqOptions *options, Item item, BandKind band)
{
        Case in_band = band == BAND_LOW ? CASE_LOW : band == BAND_HIGH ? CASE_HIGH : CASE_ALWAYS;

        return request_has(&options->requests[in_band], item) ? in_band : CASE_ALWAYS;
}

/* The first of `wanted` that is among `offered`, as it stands there; NULL if none is. */
static const char *first_offered(char *const *wanted, char *const *offered)
{
        for (; *wanted; wanted++)
                for (char *const *word = offered; *word; word++)
                        if (strcmp(*word, *wanted) == 0)
                                return *word;
        return NULL;
}

static void choose_word(Choice *choice, char *const *wanted, char *const *offered)
{
        choice->word = first_offered(wanted, offered);
        choice->outcome = choice->word ? OUTCOME_FOUND : OUTCOME_MISSING;
}

static bool governor_decides_preference(const FreqPolicy *policy, const Choice *governor)
{
        bool active = strcmp(policy->driver, "intel_pstate") == 0 ||
                      strcmp(policy->driver, "amd-pstate-epp") == 0;

        return active && governor->outcome == OUTCOME_FOUND &&
               strcmp(governor->word, "performance") == 0;
}

static void choose_speed(Choice *choice, const char *text, const FreqPolicy *policy)
{
        Speed speed;
        double khz;

        choice->outcome = OUTCOME_MISSING;
        if (!speed_parse(text, &speed))
                return;
        switch (speed.kind) {
        case SPEED_KHZ:
                khz = speed.value;
                break;
        case SPEED_SHARE:
                khz = speed.value * policy->max_khz;
                break;
        case SPEED_MIN:
                khz = policy->min_khz;
                break;
        case SPEED_BASE:
                khz = policy->base_khz;
                break;
        default:
                khz = policy->max_khz;
        }
        if ((speed.kind == SPEED_BASE && policy->base_khz == 0) || policy->max_khz == 0)
                return;
        khz = fmin(fmax(khz, policy->min_khz), policy->max_khz);
        choice->number = (uint32_t)lround(khz);
        choice->outcome = OUTCOME_FOUND;
}

static void choose_item(Item item, const Request *request, const FreqPolicy *policy,
                        Choices *choices)
{
        Choice *choice = &choices->of[item];

        switch (item) {
        case ITEM_GOVERNOR:
                choose_word(choice, request->governors, policy->governors);
                break;
        case ITEM_PREFERENCE:
                choose_word(choice, request->preferences, policy->preferences);
                if (governor_decides_preference(policy, &choices->of[ITEM_GOVERNOR]))
                        choice->outcome = OUTCOME_FORCED;
                break;
        case ITEM_BIAS:
                choice->outcome = policy->has_bias && bias_parse(request->bias, &choice->number)
                                          ? OUTCOME_FOUND
                                          : OUTCOME_MISSING;
                break;
        case ITEM_MIN:
        case ITEM_MAX:
                choose_speed(choice, item == ITEM_MIN ? request->min : request->max, policy);
                break;
        case ITEM_BOOST:
                choice->number = request->boost == 1;
                choice->outcome = policy->has_boost ? OUTCOME_FOUND : OUTCOME_MISSING;
                break;
        }
}

Choices choose(const CpufreqOptions *options, const FreqPolicy *policy, BandKind band)
{
        Choices choices = { 0 };
        Choice *min = &choices.of[ITEM_MIN], *max = &choices.of[ITEM_MAX];

        for (int i = 0; i < ITEMS; i++) {
                Case from = case_of(options, (Item)i, band);

                choices.of[i].from = from;
                if (request_has(&options->requests[from], (Item)i))
                        choose_item((Item)i, &options->requests[from], policy, &choices);
        }
        if (min->outcome == OUTCOME_FOUND && max->outcome == OUTCOME_FOUND &&
            max->number < min->number)
                max->number = min->number;
        return choices;
}
