/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One cpufreq policy: governor, EPP, EPB and limits.
 *
 * What drivers do differently:
 * - Which governors there are is looked up, not assumed: intel_pstate and amd-pstate-epp have only
 *   performance and powersave, and a name that is not offered is refused here.
 * - These two refuse EPP while the governor is performance, and set it to performance themselves.
 *   So EPP is given back before that governor is chosen, and left alone as long as it is.
 * - EPP "default" is an order, not a value: what is read afterwards is another word. It is taken as
 *   no wish.
 * - A maximum is raised before the minimum, a minimum lowered before the maximum.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "act/cpufreq-knobs.h"
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

/* Sets or gives back the policy's preference, where the driver lets it be set. */
static int apply_preference(CpufreqState *state, Knobs *knobs, const FreqPolicy *policy,
                            const CpuWish *wish, CpuWish *in_force)
{
        const char *preference = wish->preference;
        char name[TUNE_NAME];
        bool there = true;
        int r;

        cpufreq_name(name, policy->number, "energy_performance_preference");
        if (g_strcmp0(preference, "default") == 0 || fixes_preference(policy, wish->governor))
                preference = NULL;
        r = tune_set(knobs, &cpufreq_choice_kind, name, preference, &there);
        if (r == -EBUSY && governor_is_performance(state, policy))
                r = tune_set(knobs, &cpufreq_choice_kind, name, NULL, &there);
        in_force->preference = there ? preference : NULL;
        return r;
}

static int apply_governor(Knobs *knobs, const FreqPolicy *policy, const CpuWish *wish,
                          CpuWish *in_force)
{
        char name[TUNE_NAME];
        bool there = true;
        int r;

        cpufreq_name(name, policy->number, "scaling_governor");
        if (wish->governor &&
            !g_strv_contains((const char *const *)policy->governors, wish->governor))
                return -EINVAL;
        r = tune_set(knobs, &cpufreq_governor_kind, name, wish->governor, &there);
        in_force->governor = there ? wish->governor : NULL;
        return r;
}

/* Governor and EPP, in an order in which both can be had. */
static int apply_choices(CpufreqState *state, Knobs *knobs, const FreqPolicy *policy,
                         const CpuWish *wish, CpuWish *in_force)
{
        int first = 0;

        if (fixes_preference(policy, wish->governor))
                first = apply_preference(state, knobs, policy, wish, in_force);
        first = cpufreq_first_error(first, apply_governor(knobs, policy, wish, in_force));
        if (!fixes_preference(policy, wish->governor))
                first = cpufreq_first_error(first,
                                            apply_preference(state, knobs, policy, wish, in_force));
        return first;
}

static int apply_bias(Knobs *knobs, const FreqPolicy *policy, const CpuWish *wish,
                      CpuWish *in_force)
{
        char text[8];
        bool there = true;
        int first = 0;

        snprintf(text, sizeof(text), "%d", wish->bias);
        CPUSET_FOREACH(cpu, &policy->cpus) {
                char name[TUNE_NAME];

                cpufreq_bias_name(name, cpu);
                first = cpufreq_first_error(first, tune_set(knobs, &cpufreq_choice_kind, name,
                                                            wish->bias < 0 ? NULL : text, &there));
        }
        in_force->bias = there ? wish->bias : -1;
        return first;
}

/* A frequency that the hardware has; 0 stays 0. */
static uint32_t possible(const FreqPolicy *policy, uint32_t khz)
{
        if (khz && policy->max_khz)
                khz = MIN(khz, policy->max_khz);
        return khz ? MAX(khz, policy->min_khz) : 0;
}

static int set_limit(Knobs *knobs, const FreqPolicy *policy, const char *file, uint32_t khz,
                     uint32_t *ret_in_force)
{
        char name[TUNE_NAME], text[16];
        bool there = true;
        int r;

        cpufreq_name(name, policy->number, file);
        snprintf(text, sizeof(text), "%u", khz);
        r = tune_set(knobs, &cpufreq_limit_kind, name, khz ? text : NULL, &there);
        *ret_in_force = there ? khz : 0;
        return r;
}

/* What the maximum will be, and is, in kHz; 0 if that cannot be told. */
static uint64_t maximum(const CpufreqState *state, const Knobs *knobs, const FreqPolicy *policy,
                        bool now)
{
        g_autofree char *text = NULL;
        char name[TUNE_NAME];
        uint64_t khz;
        int r;

        cpufreq_name(name, policy->number, "scaling_max_freq");
        r = now ? tune_read(&state->context, name, &text)
                : knob_original(knobs, &cpufreq_limit_kind, name, &text);
        return r < 0 || u64_parse(text, &khz) < 0 ? 0 : khz;
}

/* True if a limit of the policy is ours, or was to be. */
static bool has_limits(const Knobs *knobs, const FreqPolicy *policy)
{
        char min[TUNE_NAME], max[TUNE_NAME];

        cpufreq_name(min, policy->number, "scaling_min_freq");
        cpufreq_name(max, policy->number, "scaling_max_freq");
        return knob_find(knobs, &cpufreq_limit_kind, min) ||
               knob_find(knobs, &cpufreq_limit_kind, max);
}

static int apply_limits(CpufreqState *state, Knobs *knobs, const FreqPolicy *policy,
                        const CpuWish *wish, CpuWish *in_force)
{
        uint32_t min = possible(policy, wish->min_khz), max = possible(policy, wish->max_khz);
        uint64_t now, then;
        bool raised;
        int first = 0;

        if (!min && !max && !in_force->min_khz && !in_force->max_khz && !has_limits(knobs, policy))
                return 0;
        now = maximum(state, knobs, policy, true);
        then = max ? max : maximum(state, knobs, policy, false);
        raised = then > now;
        if (raised)
                first = set_limit(knobs, policy, "scaling_max_freq", max, &in_force->max_khz);
        first = cpufreq_first_error(
                first, set_limit(knobs, policy, "scaling_min_freq", min, &in_force->min_khz));
        if (!raised)
                first = cpufreq_first_error(first, set_limit(knobs, policy, "scaling_max_freq", max,
                                                             &in_force->max_khz));
        return first;
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

int cpufreq_apply_policy(CpufreqState *state, Knobs *knobs, const FreqPolicy *policy,
                         const CpuWish *wish)
{
        Tuned *tuned = &state->policies[policy->number];
        CpuWish *in_force = &tuned->in_force;
        int first = 0;

        if (choices_differ(tuned, wish))
                first = apply_choices(state, knobs, policy, wish, in_force);
        if (policy->has_bias && (!tuned->known || tuned->wished.bias != wish->bias))
                first = cpufreq_first_error(first, apply_bias(knobs, policy, wish, in_force));
        if (limits_differ(tuned, wish))
                first = cpufreq_first_error(first,
                                            apply_limits(state, knobs, policy, wish, in_force));
        tuned->wished = *wish;
        tuned->known = first == 0;
        return first;
}
