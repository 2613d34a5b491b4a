/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What limits were before idled moved them by a side effect.
 *
 * The kernel moves a policy's maximum with boost, and it shows no minimum above the maximum, so
 * that a boost or a maximum of ours can lower the one that is shown. A limit that is requested only
 * then would be recorded as it is shown and not as it was set.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "act/tune/cpufreq-knobs.h"
#include "base/file.h"
#include "base/number.h"

/* True if the knob has a value of ours, or may come to have it: one that is shown too late has
 * failed, and moves others all the same. */
static bool is_ours(const Knobs *knobs, const KnobKind *kind, const char *name)
{
        const Knob *knob = knob_find(knobs, kind, name);

        return knob && knob->state != KNOB_FOREIGN && knob_is_on_record(knob);
}

/* True if a boost of the policy is ours. */
static bool is_boosted(const Knobs *knobs, int policy)
{
        char name[TUNE_NAME];

        cpufreq_name(name, policy, "boost");
        return is_ours(knobs, &cpufreq_boost_kind, name) ||
               is_ours(knobs, &cpufreq_boost_kind, CPUFREQ_BOOST) ||
               is_ours(knobs, &cpufreq_boost_kind, CPUFREQ_NO_TURBO);
}

static bool is_limited(const Knobs *knobs, int policy)
{
        char name[TUNE_NAME];

        cpufreq_name(name, policy, CPUFREQ_MAX);
        return is_ours(knobs, &cpufreq_limit_kind, name);
}

int cpufreq_open_dir(const ActContext *context)
{
        int fd = openat(context->root, TUNE_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

/* What is on record of the limit, else what is there; left alone if that is `moved`. */
static void remember(const Knobs *knobs, int dir, const char *name, bool moved, uint32_t *khz)
{
        const Knob *knob = knob_find(knobs, &cpufreq_limit_kind, name);
        uint64_t found;
        int r;

        if (knob && knob->original && knob->state != KNOB_FOREIGN)
                r = u64_parse(knob->original, &found);
        else if (moved)
                return;
        else
                r = file_read_u64(dir, name, &found);
        *khz = r < 0 || found > UINT32_MAX ? 0 : (uint32_t)found;
}

void cpufreq_remember_maximum(CpufreqState *state, const Knobs *knobs, int dir, int policy)
{
        CpufreqFound *found = &state->found[policy];
        bool moved = is_boosted(knobs, policy);
        char name[TUNE_NAME];

        cpufreq_name(name, policy, CPUFREQ_MAX);
        remember(knobs, dir, name, moved, &found->max_khz);
        if (!moved)
                found->moved_khz = 0;
}

void cpufreq_remember_minimum(CpufreqState *state, const Knobs *knobs, int dir, int policy)
{
        char name[TUNE_NAME];

        cpufreq_name(name, policy, CPUFREQ_MIN);
        remember(knobs, dir, name, is_boosted(knobs, policy) || is_limited(knobs, policy),
                 &state->found[policy].min_khz);
}

void cpufreq_note_maximum(CpufreqState *state, int policy)
{
        CpufreqFound *found = &state->found[policy];

        if (found->moved_khz == 0)
                found->moved_khz = cpufreq_read_limit(&state->context, policy, CPUFREQ_MAX);
}

/* True if the maximum is what the kernel makes of the one that was found, and no program has set
 * another. With boost cpuinfo_max_freq moves as well, but not with intel_pstate of older kernels,
 * which lowers the maximum while no_turbo is being written. */
static bool is_kernels(const CpufreqState *state, int policy)
{
        const CpufreqFound *found = &state->found[policy];
        uint32_t now = cpufreq_read_limit(&state->context, policy, CPUFREQ_MAX);
        char name[TUNE_NAME], before[16], after[16];

        if (now == cpufreq_read_limit(&state->context, policy, "cpuinfo_max_freq") ||
            now == found->moved_khz)
                return true;
        cpufreq_name(name, policy, CPUFREQ_MAX);
        snprintf(before, sizeof(before), "%u", found->max_khz);
        snprintf(after, sizeof(after), "%u", now);
        return cpufreq_limit_kind.held(&state->context, name, before, after);
}

uint32_t cpufreq_found_maximum(const CpufreqState *state, const Knobs *knobs, int policy)
{
        return is_boosted(knobs, policy) && is_kernels(state, policy) ? state->found[policy].max_khz
                                                                      : 0;
}

uint32_t cpufreq_found_minimum(const CpufreqState *state, const Knobs *knobs, int policy)
{
        uint32_t found = state->found[policy].min_khz, now;

        if (!is_boosted(knobs, policy) && !is_limited(knobs, policy))
                return 0;
        now = cpufreq_read_limit(&state->context, policy, CPUFREQ_MIN);
        return now < found && now == cpufreq_read_limit(&state->context, policy, CPUFREQ_MAX)
                       ? found
                       : 0;
}
