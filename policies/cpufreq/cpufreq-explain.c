/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a CPU's frequency is governed as it is: step 5. The texts are put together here, because they
 * name what was requested and what the driver offers.
 */
#include "cpufreq/cpufreq-explain.h"

#include <math.h>

#define NO_CPUFREQ "this machine has no cpufreq"

typedef struct Text {
        char *at, *end; /* there is always room for the last 0 */
} Text;

/* Adds what fits; what is not a visible character of ASCII becomes a question mark. */
static void add(Text *text, const char *more)
{
        for (; *more && text->at < text->end; more++)
                *text->at++ = *more >= ' ' && *more <= '~' ? *more : '?';
        *text->at = '\0';
}

static void add_list(Text *text, char *const *words)
{
        for (int i = 0; words[i]; i++) {
                add(text, i > 0 ? ", " : "");
                add(text, words[i]);
        }
}

/* "governor schedutil, the first wanted that intel_pstate offers", or why there is none. */
static void explain_word(Text *text, const char *what, const Choice *choice, char *const *wanted,
                         const FreqPolicy *policy, bool has_any)
{
        if (choice->outcome == OUTCOME_FOUND) {
                add(text, what);
                add(text, " ");
                add(text, choice->word);
                add(text, wanted[1] ? ", the first configured one that " : ", which ");
                add(text, policy->driver);
                add(text, " offers");
                return;
        }
        add(text, "no ");
        add(text, what);
        add(text, ": ");
        if (choice->outcome == OUTCOME_FORCED) {
                add(text, "with the governor performance, ");
                add(text, policy->driver);
                add(text, " chooses it");
        } else if (!has_any) {
                add(text, policy->driver);
                add(text, " has none");
        } else {
                add(text, wanted[1] ? "none of " : "");
                add_list(text, wanted);
                add(text, wanted[1] ? " is offered by " : " is not offered by ");
                add(text, policy->driver);
        }
}

static const char *explain_plain(Item item, const Choice *choice)
{
        static const char *const texts[ITEMS][2] = {
                [ITEM_BIAS] = { "energy bias", "no energy bias: these CPUs have none" },
                [ITEM_MIN] = { "lowest frequency",
                               "no lowest frequency: the hardware does not report it" },
                [ITEM_MAX] = { "highest frequency",
                               "no highest frequency: the hardware does not report it" },
                [ITEM_BOOST] = { "boost on",
                                 "boost is left unchanged: this machine cannot switch it" },
        };

        if (item == ITEM_BOOST && choice->outcome == OUTCOME_FOUND && !choice->number)
                return "boost off";
        return texts[item][choice->outcome != OUTCOME_FOUND];
}

static void add_value(Reason *reason, Item item, const Choice *choice)
{
        if (choice->outcome != OUTCOME_FOUND)
                return;
        reason->inputs[0].value = choice->number;
        if (item == ITEM_BIAS) {
                reason->inputs[0].name = "bias";
                reason->inputs[0].unit = "";
        } else if (item == ITEM_MIN || item == ITEM_MAX) {
                reason->inputs[0].name = "frequency";
                reason->inputs[0].unit = "MHz";
                reason->inputs[0].value = choice->number / 1e3;
        }
}

/* What the case of the choice was found out from. */
static void add_case(Reason *reason, const Choice *choice, float busiest)
{
        int n = reason->inputs[0].name != NULL;

        if (choice->from != CASE_LOW && choice->from != CASE_HIGH)
                return;
        reason->inputs[n].name = "busiest CPU";
        reason->inputs[n].unit = "%";
        reason->inputs[n].value = 100 * (double)busiest;
}

/* A frequency that the hardware lacks is quoted as configured, followed by the nearest one. */
static void add_limit(Reason *reason, const char *asked, const Choice *choice)
{
        double khz;

        if (choice->outcome != OUTCOME_FOUND || !khz_parse(asked, &khz) ||
            lround(khz) == (long)choice->number)
                return;
        reason->threshold = khz / 1e3;
        reason->threshold_unit = "MHz";
        reason->effective = choice->number / 1e3;
        reason->effective_because = "because the hardware does not have the configured frequency";
}

Reason explain_item(const CpufreqOptions *options, const FreqPolicy *policy, Item item,
                    const Choice *choice, float busiest, char room[TEXT_MAX])
{
        const Request *request = &options->requests[choice->from];
        Text text = { room, room + TEXT_MAX - 1 };
        Reason reason = { .because = room, .option = cpufreq_key(item, choice->from) };

        if (item == ITEM_GOVERNOR)
                explain_word(&text, "governor", choice, request->governors, policy,
                             policy->governors[0]);
        else if (item == ITEM_PREFERENCE)
                explain_word(&text, "energy preference", choice, request->preferences, policy,
                             policy->preferences[0]);
        else
                reason.because = explain_plain(item, choice);
        add_value(&reason, item, choice);
        if (item == ITEM_MIN || item == ITEM_MAX)
                add_limit(&reason, item == ITEM_MIN ? request->min : request->max, choice);
        add_case(&reason, choice, busiest);
        return reason;
}

int explain_platform(const CpufreqOptions *options, Reason *ret_reason)
{
        if (!options->platform)
                return 0;
        *ret_reason = (Reason){ .because = "platform profile: as configured",
                                .option = "PlatformProfile" };
        return 1;
}

int explain_none(const CpufreqOptions *options, Reason *ret_reasons)
{
        int n = 0;

        for (int i = 0; i < ITEMS; i++)
                for (int when = 0; when < CASES; when++) {
                        if (!request_has(&options->requests[when], (Item)i))
                                continue;
                        ret_reasons[n++] = (Reason){ .because = NO_CPUFREQ,
                                                     .option = cpufreq_key((Item)i, (Case)when) };
                        break;
                }
        return n;
}

static void add_number(Text *text, uint32_t number)
{
        char digits[2] = { (char)('0' + number % 10), '\0' };

        if (number >= 10)
                add_number(text, number / 10);
        add(text, digits);
}

/* What every frequency policy of the machine makes of the item in a case. */
typedef struct Survey {
        bool met;                     /* one of them offers it */
        uint32_t least_khz, most_khz; /* of the hardware */
} Survey;

static Survey survey(const CpufreqOptions *options, const PolicyInput *machine, Item item,
                     Case when)
{
        BandKind band = when == CASE_LOW ? BAND_LOW : when == CASE_HIGH ? BAND_HIGH : BAND_MIDDLE;
        Survey found = { .least_khz = UINT32_MAX };

        for (int i = 0; i < machine->n_frequency; i++) {
                const FreqPolicy *policy = &machine->frequency[i];
                Choices choices = choose(options, policy, band);

                found.met |= choices.of[item].outcome != OUTCOME_MISSING;
                if (policy->min_khz < found.least_khz)
                        found.least_khz = policy->min_khz;
                if (policy->max_khz > found.most_khz)
                        found.most_khz = policy->max_khz;
        }
        return found;
}

/* True if the frequency is one that no CPU has; `text` goes on after "which ". */
static bool explain_beyond(Text *text, const char *asked, const Survey *found)
{
        double khz;
        bool above;

        if (!khz_parse(asked, &khz))
                return false;
        above = khz > found->most_khz;
        if (!above && khz >= found->least_khz)
                return false;
        add(text, above ? "is above the highest frequency of this machine; "
                        : "is below the lowest frequency of this machine; ");
        add_number(text, (above ? found->most_khz : found->least_khz) / 1000);
        add(text, " MHz is in effect");
        return true;
}

/* The same of the rest. */
static void explain_unmet(Text *text, Item item, const FreqPolicy *policy)
{
        char *const *offered = item == ITEM_GOVERNOR     ? policy->governors
                               : item == ITEM_PREFERENCE ? policy->preferences
                                                         : NULL;

        add(text, item == ITEM_BOOST ? "cannot be switched on this machine"
                                     : "this machine does not offer");
        if (!offered || !offered[0])
                return;
        add(text, ", expected one of ");
        add_list(text, offered);
}

int cpufreq_unmet(const void *data, const PolicyInput *machine, Unmet *ret_unmet, int max)
{
        const CpufreqOptions *options = data;
        int n = 0;

        for (int i = 0; i < CASES * ITEMS && n < max; i++) {
                Item item = (Item)(i % ITEMS);
                Case when = (Case)(i / ITEMS);
                const Request *request = &options->requests[when];
                const char *speed = item == ITEM_MIN   ? request->min
                                    : item == ITEM_MAX ? request->max
                                                       : "";
                Unmet *unmet = &ret_unmet[n];
                Text text = { unmet->text, unmet->text + sizeof(unmet->text) - 1 };
                Survey found;

                if (!request_has(request, item))
                        continue;
                found = survey(options, machine, item, when);
                unmet->key = cpufreq_key(item, when);
                *unmet->text = '\0';
                if (machine->n_frequency == 0)
                        add(&text, "has no effect: " NO_CPUFREQ);
                else if (!found.met)
                        explain_unmet(&text, item, &machine->frequency[0]);
                else if (!*speed || !explain_beyond(&text, speed, &found))
                        continue;
                n++;
        }
        return n;
}
