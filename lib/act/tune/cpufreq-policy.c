/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cpufreq policies: governor, EPP, EPB and limits.
 *
 * What drivers do differently:
 * - The governors are read, not assumed: intel_pstate and amd-pstate-epp have only performance and
 *   powersave, and a name that is not offered is refused here.
 * - These two refuse EPP while the governor is performance, and set it to performance themselves.
 *   So EPP is restored before that governor is chosen, and left alone as long as it is.
 * - EPP "default" is an order, not a value: what is read afterwards is another word. It counts as
 *   no request.
 * - A maximum is raised before the minimum, a minimum lowered before the maximum.
 */
#include <errno.h>
#include <stdio.h>

#include "act/tune/cpufreq-knobs.h"
#include "base/file.h"
#include "base/number.h"

int cpufreq_first_error(int a, int b)
{
        return a < 0 ? a : MIN(b, 0);
}

static bool fixes_preference(const FreqPolicy *policy, const char *governor)
{
        return (g_str_equal(policy->driver, "intel_pstate") ||
                g_str_equal(policy->driver, "amd-pstate-epp")) &&
               g_strcmp0(governor, "performance") == 0;
}

static bool governor_is_performance(const CpufreqState *state, const FreqPolicy *policy)
{
        g_autofree char *governor = NULL;
        char name[TUNE_NAME];

        cpufreq_name(name, policy->number, "scaling_governor");
        return tune_read(&state->context, name, &governor) == 0 &&
               fixes_preference(policy, governor);
}

/* One policy and what to change in it. */
typedef struct Work {
        const FreqPolicy *policy;
        const CpuWish *wish;
        Tuned *tuned;
        bool choices, bias, limits; /* what may need a change */
        bool raised;                /* the maximum rises */
        const char *found_max;      /* before we moved it; NULL: that which it has */
        char found_min[16];         /* the same; "" */
} Work;

/* What is being done for many policies at once: one step for all of them, then the next. */
typedef struct Round {
        CpufreqState *state;
        Knobs *knobs;
        Work *works;
        int n;
        int first; /* the first error */
} Round;

static void note_error(Round *round, int i, int r)
{
        if (r < 0)
                round->works[i].tuned->known = false;
        round->first = cpufreq_first_error(round->first, r);
}

static void governor_done(void *data, int i, bool effective, int r)
{
        Round *round = data;
        const Work *work = &round->works[i];

        work->tuned->effective.governor = effective ? work->wish->governor : NULL;
        note_error(round, i, r);
}

static void apply_governors(Round *round)
{
        TuneBatch batch;

        tune_batch_init(&batch, round->knobs, governor_done, round);
        for (int i = 0; i < round->n; i++) {
                const FreqPolicy *policy = round->works[i].policy;
                const char *governor = round->works[i].wish->governor;

                if (!round->works[i].choices)
                        continue;
                if (governor &&
                    !g_strv_contains((const char *const *)policy->governors, governor)) {
                        note_error(round, i, -EINVAL);
                        continue;
                }
                cpufreq_name(tune_batch_name(&batch), policy->number, "scaling_governor");
                tune_batch_add(&batch, &cpufreq_governor_kind, governor, i);
        }
        tune_batch_end(&batch);
}

/* What is asked of the policy's preference, where the driver lets it be set. */
static const char *wished_preference(const Work *work)
{
        const char *preference = work->wish->preference;

        return g_strcmp0(preference, "default") == 0 ||
                               fixes_preference(work->policy, work->wish->governor)
                       ? NULL
                       : preference;
}

static void preference_done(void *data, int i, bool effective, int r)
{
        Round *round = data;
        const Work *work = &round->works[i];
        char name[TUNE_NAME];

        if (r == -EBUSY && governor_is_performance(round->state, work->policy)) {
                cpufreq_name(name, work->policy->number, CPUFREQ_EPP);
                r = tune_set(round->knobs, &cpufreq_choice_kind, name, NULL, &effective);
        }
        work->tuned->effective.preference = effective ? wished_preference(work) : NULL;
        note_error(round, i, r);
}

/* Sets or restores preferences: those that the driver fixes with the requested governor, or the
 * others. */
static void apply_preferences(Round *round, bool fixed)
{
        TuneBatch batch;

        tune_batch_init(&batch, round->knobs, preference_done, round);
        for (int i = 0; i < round->n; i++) {
                const Work *work = &round->works[i];

                if (!work->choices || fixes_preference(work->policy, work->wish->governor) != fixed)
                        continue;
                cpufreq_name(tune_batch_name(&batch), work->policy->number, CPUFREQ_EPP);
                tune_batch_add(&batch, &cpufreq_choice_kind, wished_preference(work), i);
        }
        tune_batch_end(&batch);
}

static void bias_done(void *data, int i, bool effective, int r)
{
        Round *round = data;

        if (!effective)
                round->works[i].tuned->effective.bias = -1;
        note_error(round, i, r);
}

static void apply_biases(Round *round)
{
        TuneBatch batch;

        tune_batch_init(&batch, round->knobs, bias_done, round);
        for (int i = 0; i < round->n; i++) {
                const Work *work = &round->works[i];
                int bias = work->wish->bias;
                char text[8];

                if (!work->bias)
                        continue;
                snprintf(text, sizeof(text), "%d", bias);
                work->tuned->effective.bias = (int8_t)bias;
                CPUSET_FOREACH(cpu, &work->policy->cpus) {
                        cpufreq_bias_name(tune_batch_name(&batch), cpu);
                        tune_batch_add(&batch, &cpufreq_choice_kind, bias < 0 ? NULL : text, i);
                }
        }
        tune_batch_end(&batch);
}

/* The minimum or maximum that comes of asking for `khz`, as the kernel rounds it: the next
 * frequency of the driver's table that is no lower, or no higher. 0 stays 0. */
static uint32_t possible(const FreqPolicy *policy, uint32_t khz, bool minimum)
{
        const uint32_t *table = policy->frequencies;

        if (khz && policy->max_khz)
                khz = MIN(khz, policy->max_khz);
        khz = khz ? MAX(khz, policy->min_khz) : 0;
        if (!khz || !table)
                return khz;
        while (table[1] && (minimum ? table[0] < khz : table[1] <= khz))
                table++;
        return table[0];
}

static void minimum_done(void *data, int i, bool effective, int r)
{
        Round *round = data;
        const Work *work = &round->works[i];

        work->tuned->effective.min_khz = effective
                                                 ? possible(work->policy, work->wish->min_khz, true)
                                                 : 0;
        note_error(round, i, r);
}

static void maximum_done(void *data, int i, bool effective, int r)
{
        Round *round = data;
        const Work *work = &round->works[i];

        work->tuned->effective.max_khz = effective ? possible(work->policy, work->wish->max_khz,
                                                              false)
                                                   : 0;
        note_error(round, i, r);
}

static void add_limit(TuneBatch *batch, const Work *work, bool minimum, int i)
{
        uint32_t khz = minimum ? work->wish->min_khz : work->wish->max_khz;
        const char *found = !minimum ? work->found_max : *work->found_min ? work->found_min : NULL;
        char text[16];

        cpufreq_name(tune_batch_name(batch), work->policy->number,
                     minimum ? CPUFREQ_MIN : CPUFREQ_MAX);
        snprintf(text, sizeof(text), "%u", possible(work->policy, khz, minimum));
        tune_batch_add_found(batch, &cpufreq_limit_kind, khz ? text : NULL, found, i);
}

/* The next maximum, and the present one, in kHz; 0 if not known. */
static uint64_t maximum(const Round *round, const FreqPolicy *policy, bool now)
{
        g_autofree char *text = NULL;
        char name[TUNE_NAME];
        uint64_t khz;

        if (now)
                return cpufreq_read_limit(&round->state->context, policy->number, CPUFREQ_MAX);
        cpufreq_name(name, policy->number, CPUFREQ_MAX);
        return knob_original(round->knobs, &cpufreq_limit_kind, name, &text) < 0 ||
                               u64_parse(text, &khz) < 0
                       ? 0
                       : khz;
}

/* True if a limit of the policy is ours, or was meant to become ours. */
static bool has_limits(const Knobs *knobs, const FreqPolicy *policy)
{
        char min[TUNE_NAME], max[TUNE_NAME];

        cpufreq_name(min, policy->number, CPUFREQ_MIN);
        cpufreq_name(max, policy->number, CPUFREQ_MAX);
        return knob_find(knobs, &cpufreq_limit_kind, min) ||
               knob_find(knobs, &cpufreq_limit_kind, max);
}

/* Sets or restores minima, or maxima: those that rise, or the others. */
static void apply_bounds(Round *round, bool minimum, bool raised)
{
        TuneBatch batch;

        tune_batch_init(&batch, round->knobs, minimum ? minimum_done : maximum_done, round);
        for (int i = 0; i < round->n; i++) {
                const Work *work = &round->works[i];

                if (work->limits && (minimum || work->raised == raised))
                        add_limit(&batch, work, minimum, i);
        }
        tune_batch_end(&batch);
}

/* Limits that a boost or a maximum of ours has moved are not those that were found; what a maximum
 * is about to move is remembered. */
static void find_limits(const Round *round, int dir, Work *work)
{
        CpufreqState *state = round->state;
        int number = work->policy->number;
        uint32_t min = 0;

        if (work->wish->max_khz)
                cpufreq_remember_minimum(state, round->knobs, dir, number);
        else
                cpufreq_keep_maximum(round->knobs, number);
        if (work->wish->min_khz)
                min = cpufreq_found_minimum(state, round->knobs, number);
        if (min)
                snprintf(work->found_min, sizeof(work->found_min), "%u", min);
        work->found_max = cpufreq_found_maximum(state, round->knobs, number);
}

static void apply_limits(Round *round)
{
        _fd_ int dir = cpufreq_open_dir(&round->state->context);

        for (int i = 0; i < round->n; i++) {
                Work *work = &round->works[i];
                const CpuWish *wish = work->wish, *effective = &work->tuned->effective;
                uint32_t max = possible(work->policy, wish->max_khz, false);

                work->limits = work->limits &&
                               (wish->min_khz || max || effective->min_khz || effective->max_khz ||
                                has_limits(round->knobs, work->policy));
                if (!work->limits)
                        continue;
                work->raised = (max ? max : maximum(round, work->policy, false)) >
                               maximum(round, work->policy, true);
                find_limits(round, dir, work);
        }
        apply_bounds(round, false, true);
        apply_bounds(round, true, false);
        apply_bounds(round, false, false);
}

static bool limits_differ(const Tuned *tuned, const CpuWish *wish)
{
        return !tuned->known || tuned->wished.min_khz != wish->min_khz ||
               tuned->wished.max_khz != wish->max_khz;
}

static bool choices_differ(const Tuned *tuned, const CpuWish *wish)
{
        return !tuned->known || tuned->wished.governor != wish->governor ||
               tuned->wished.preference != wish->preference;
}

/* Which requests for the policy differ from the last ones; false if none does. */
static bool work_init(Work *work, const FreqPolicy *policy, const CpuWish *wish, Tuned *tuned,
                      bool moved)
{
        *work = (Work){
                .policy = policy,
                .wish = wish,
                .tuned = tuned,
                .choices = choices_differ(tuned, wish),
                .bias = policy->has_bias && (!tuned->known || tuned->wished.bias != wish->bias),
                .limits = moved || limits_differ(tuned, wish),
        };
        tuned->wished = *wish;
        tuned->known = true;
        return work->choices || work->bias || work->limits;
}

int cpufreq_apply_policies(CpufreqState *state, Knobs *knobs, const FreqPolicy *policies,
                           const CpuWish *wishes, int n, bool moved)
{
        g_autofree Work *works = g_new(Work, (gsize)MAX(n, 1));
        Round round = { .state = state, .knobs = knobs, .works = works };

        for (int i = 0; i < n; i++)
                round.n += work_init(&works[round.n], &policies[i], &wishes[i],
                                     &state->policies[policies[i].number], moved);
        apply_preferences(&round, true);
        apply_governors(&round);
        apply_preferences(&round, false);
        apply_biases(&round);
        apply_limits(&round);
        return round.first;
}
