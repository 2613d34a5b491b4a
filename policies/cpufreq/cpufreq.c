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
#include "cpufreq/cpufreq-choose.h"
#include "cpufreq/cpufreq-explain.h"

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
