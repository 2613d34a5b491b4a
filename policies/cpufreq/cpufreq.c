/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cpufreq: governor, energy preference and bias, frequency limits and boost, by load.
 *
 *  1. Which value. Each of the six things has three options. While the load is in the low or the
 *     high band, that of ...Low or ...High counts if it is set; else the plain one; else nothing is
 *     requested, and the current value stays.
 *  2. Bands. The load of a frequency policy (CPUs that change their frequency together) is that of
 *     its busiest CPU: one busy task is slow on a slow CPU however idle its neighbours are. It is
 *     low below LowLoad and high from HighLoad on. Up it goes at once. Down it goes when the load
 *     was below the band during all of Dwell, to the highest band that it was in meanwhile; so a
 *     load that crosses a threshold to and fro stays in the upper band, and at most one change in
 *     Dwell goes down. Bands are evaluated every Period, and only if some ...Low or ...High is set.
 *     They begin in the middle.
 *  3. What is offered. Governors and preferences are lists: the first word that the frequency
 *     policy offers now is taken. Drivers differ (intel_pstate when it is active has only
 *     performance and powersave, acpi-cpufreq has no preferences), and the same driver differs with
 *     its mode, so nothing is assumed of a driver's name but this: with intel_pstate and
 *     amd-pstate-epp the governor performance decides the preference and refuses another, so none
 *     is requested then.
 *  4. Frequencies are absolute, or a share of the hardware's highest, or its lowest, its base (the
 *     highest without boost) or its highest. What the hardware cannot do becomes its nearest. A
 *     highest below the lowest becomes the lowest.
 *  5. A value that nothing offers is not requested, and the explanation names the value and the
 *     frequency policy that does not offer it. All CPUs of a frequency policy get the same request.
 */
#include <math.h>

#include "cpufreq/cpufreq-choose.h"

#define TEXT_MAX 192

/* Where the load of one frequency policy is. */
typedef struct Band {
        int8_t kind;  /* of BandKind */
        int8_t peak;  /* the highest while waiting */
        bool waiting; /* the load has been below the band since: */
        uint64_t since_usec;
        float busiest; /* share of its busiest CPU */
} Band;

typedef struct Cpufreq {
        Band bands[CPUSET_MAX];  /* by the number of the frequency policy */
        char (*texts)[TEXT_MAX]; /* is `room`; only for readers of the state */
        char room[ITEMS][TEXT_MAX];
} Cpufreq;

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

        if (choice->outcome != OUTCOME_FOUND || !khz_parse(asked, 0, &khz) ||
            lround(khz) == (long)choice->number)
                return;
        reason->threshold = khz / 1e3;
        reason->threshold_unit = "MHz";
        reason->effective = choice->number / 1e3;
        reason->effective_because = "because the hardware does not have the configured frequency";
}

/* The reason of a choice for the CPUs of `policy`, of which the busiest is busy for the share
 * `busiest` of the time. `room` is for its text. */
static Reason explain_item(const CpufreqOptions *options, const FreqPolicy *policy, Item item,
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

/* The reason of the platform profile, which is all CPUs'. Policies are not informed which ones the
 * firmware offers. Returns 0 if none is requested, else 1. */
static int explain_platform(const CpufreqOptions *options, Reason *ret_reason)
{
        static const char *const requested[] = {
                "",
                "platform profile low-power is requested, or the nearest that is offered",
                "platform profile cool is requested, or the nearest that is offered",
                "platform profile quiet is requested, or the nearest that is offered",
                "platform profile balanced is requested, or the nearest that is offered",
                "platform profile performance is requested, or the nearest that is offered",
                "platform profile custom is requested, or the nearest that is offered",
        };

        if (!options->platform)
                return 0;
        *ret_reason = (Reason){ .because = requested[options->platform],
                                .option = "PlatformProfile" };
        return 1;
}

/* Without cpufreq each item that an option sets has the same reason. Returns how many there are. */
static int explain_none(const CpufreqOptions *options, Reason *ret_reasons)
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

        if (!khz_parse(asked, found->most_khz, &khz))
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

/* As IdledPolicy.unmet. */
static int cpufreq_unmet(const void *data, const PolicyInput *machine, Unmet *ret_unmet, int max)
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

static bool uses_bands(const CpufreqOptions *options)
{
        return request_has_any(&options->requests[CASE_LOW]) ||
               request_has_any(&options->requests[CASE_HIGH]);
}

/* The busiest of the CPUs; false if none was read at both ends of an interval. */
static bool read_busiest(const FreqPolicy *policy, const Snapshot *snapshot, float *ret_busiest)
{
        float busiest = -1;

        if (snapshot->interval_usec == 0)
                return false;
        CPUSET_FOREACH(cpu, &policy->cpus)
                if (cpuset_has(&snapshot->cpus, cpu) && snapshot->busy[cpu] > busiest)
                        busiest = snapshot->busy[cpu];
        if (busiest < 0)
                return false;
        *ret_busiest = busiest;
        return true;
}

static int8_t band_of(float busiest, const CpufreqOptions *options)
{
        return busiest >= options->high ? BAND_HIGH
               : busiest < options->low ? BAND_LOW
                                        : BAND_MIDDLE;
}

/* Brings the band up to date with the load of a new snapshot; true if it will stay what it is as
 * long as the load does. */
static bool band_update(Band *band, const FreqPolicy *policy, const Snapshot *snapshot,
                        const CpufreqOptions *options)
{
        int8_t kind;

        if (!read_busiest(policy, snapshot, &band->busiest))
                return false;
        kind = band_of(band->busiest, options);
        if (kind >= band->kind) {
                band->kind = kind;
                band->waiting = false;
                return true;
        }
        if (!band->waiting) {
                band->waiting = true;
                band->since_usec = snapshot->time_usec;
                band->peak = kind;
        }
        band->peak = kind > band->peak ? kind : band->peak;
        if (snapshot->time_usec - band->since_usec < options->dwell_usec)
                return false;
        band->kind = band->peak;
        band->waiting = kind < band->kind;
        band->since_usec = snapshot->time_usec;
        band->peak = kind;
        return !band->waiting;
}

static void wish_make(const Choices *choices, CpuWish *wish)
{
        const Choice *of = choices->of;

        if (of[ITEM_GOVERNOR].outcome == OUTCOME_FOUND)
                wish->governor = of[ITEM_GOVERNOR].word;
        if (of[ITEM_PREFERENCE].outcome == OUTCOME_FOUND)
                wish->preference = of[ITEM_PREFERENCE].word;
        if (of[ITEM_BIAS].outcome == OUTCOME_FOUND)
                wish->bias = (int8_t)of[ITEM_BIAS].number;
        if (of[ITEM_MIN].outcome == OUTCOME_FOUND)
                wish->min_khz = of[ITEM_MIN].number;
        if (of[ITEM_MAX].outcome == OUTCOME_FOUND)
                wish->max_khz = of[ITEM_MAX].number;
        if (of[ITEM_BOOST].outcome == OUTCOME_FOUND)
                wish->boost = (int8_t)of[ITEM_BOOST].number;
}

static void wish_for_policy(Cpufreq *self, const PolicyInput *input, const FreqPolicy *policy,
                            Wish *wish)
{
        const CpufreqOptions *options = input->options;
        Band *band = &self->bands[policy->number];
        Choices choices;

        if (uses_bands(options))
                wish->settled &= band_update(band, policy, input->snapshot, options);
        else
                *band = (Band){ .kind = BAND_MIDDLE };
        choices = choose(options, policy, (BandKind)band->kind);
        CPUSET_FOREACH(cpu, &policy->cpus)
                if (cpu < wish->n_cpus)
                        wish_make(&choices, &wish->cpus[cpu]);
}

static void cpufreq_init(void *state, const Topology *topology)
{
        Cpufreq *self = state;

        self->texts = self->room;
        for (int i = 0; i < topology->n_cpus; i++)
                self->bands[i].kind = BAND_MIDDLE;
}

static void cpufreq_decide(void *state, const PolicyInput *input, Wish *wish)
{
        Cpufreq *self = state;
        const CpufreqOptions *options = input->options;

        if (options->platform)
                wish->platform = cpufreq_platforms[options->platform];
        if (!input->frequency || !wish->cpus)
                return;
        for (int i = 0; i < input->n_frequency; i++)
                if (input->frequency[i].number >= 0 && input->frequency[i].number < CPUSET_MAX)
                        wish_for_policy(self, input, &input->frequency[i], wish);
        if (uses_bands(options))
                wish->period_usec = options->period_usec;
}

static const FreqPolicy *policy_of(const PolicyInput *input, int cpu)
{
        for (int i = 0; i < input->n_frequency; i++)
                if (cpuset_has(&input->frequency[i].cpus, cpu))
                        return &input->frequency[i];
        return NULL;
}

static int cpufreq_explain(const void *state, const PolicyInput *input, int cpu,
                           Reason *ret_reasons)
{
        const Cpufreq *self = state;
        const FreqPolicy *policy = input->frequency ? policy_of(input, cpu) : NULL;
        const Band *band;
        Choices choices;
        int n = explain_platform(input->options, ret_reasons);

        if (input->n_frequency == 0)
                return n + explain_none(input->options, ret_reasons + n);
        if (!policy || policy->number < 0 || policy->number >= CPUSET_MAX)
                return n;
        band = &self->bands[policy->number];
        choices = choose(input->options, policy, (BandKind)band->kind);
        for (int i = 0; i < ITEMS; i++)
                if (choices.of[i].outcome != OUTCOME_NOTHING)
                        ret_reasons[n++] = explain_item(input->options, policy, (Item)i,
                                                        &choices.of[i], band->busiest,
                                                        self->texts[i]);
        return n;
}

const IdledPolicy idled_policy = {
        .abi = IDLED_POLICY_ABI,
        .name = "cpufreq",
        .summary = "chooses governor, energy preference, frequency limits and boost",
        .settings = cpufreq_settings,
        .options_size = sizeof(CpufreqOptions),
        .state_size = sizeof(Cpufreq),
        .wishes = WISHES_CPUS,
        .check = cpufreq_check,
        .unmet = cpufreq_unmet,
        .init = cpufreq_init,
        .decide = cpufreq_decide,
        .explain = cpufreq_explain,
};
