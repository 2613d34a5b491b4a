/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From what is asked for to what the frequency policy can do: steps 1, 3 and 4.
 */
#include <math.h>
#include <string.h>

#include "cpufreq/cpufreq-parts.h"
#include "words.h"

bool speed_parse(const char *text, Speed *ret_speed)
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

bool bias_parse(const char *text, uint32_t *ret_bias)
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

/* Step 1. */
static Case case_of(const CpufreqOptions *options, Item item, bool on_battery, BandKind band)
{
        Case in_band = band == BAND_LOW ? CASE_LOW : band == BAND_HIGH ? CASE_HIGH : CASE_ALWAYS;

        if (on_battery && request_has(&options->requests[CASE_BATTERY], item))
                return CASE_BATTERY;
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
        case ITEMS:
                break;
        }
}

Choices choose(const CpufreqOptions *options, const FreqPolicy *policy, bool on_battery,
               BandKind band)
{
        Choices choices = { 0 };
        Choice *min = &choices.of[ITEM_MIN], *max = &choices.of[ITEM_MAX];

        for (int i = 0; i < ITEMS; i++) {
                Case from = case_of(options, (Item)i, on_battery, band);

                choices.of[i].from = from;
                if (request_has(&options->requests[from], (Item)i))
                        choose_item((Item)i, &options->requests[from], policy, &choices);
        }
        if (min->outcome == OUTCOME_FOUND && max->outcome == OUTCOME_FOUND &&
            max->number < min->number)
                max->number = min->number;
        return choices;
}
