/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The original values of limits that the kernel moves when idled writes another knob.
 *
 * When idled switches boost, the kernel moves a policy's maximum. The kernel also shows the maximum
 * in place of a minimum that is above it. If idled then sets the moved limit, it would record the
 * value that is shown as the original. So idled notes the originals before.
 *
 * The kernel may not move the maximum back: Linux 7.3 leaves it where boost put it. So the original
 * is on record, as a knob of a kind of its own, while idled has boost switched. A maximum that
 * idled sets has a record already, and needs the other one only if it ends before boost does.
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

/* The maximum from before boost moved it, if that is on record. */
static const char *moved_from(const Knobs *knobs, int policy)
{
        char name[TUNE_NAME];
        const Knob *knob;

        cpufreq_name(name, policy, CPUFREQ_MAX);
        knob = knob_find(knobs, &cpufreq_moved_kind, name);
        return knob && knob_is_on_record(knob) ? knob->original : NULL;
}

static void keep_done(void *data, int i, bool effective, int r)
{
        /* A maximum that cannot be put on record is not restored. Boost is switched all the same.
         */
}

void cpufreq_keep_maxima(CpufreqState *state, Knobs *knobs, const ActFacts *facts)
{
        TuneBatch batch;

        tune_batch_init(&batch, knobs, keep_done, NULL);
        for (int i = 0; i < facts->n_frequency; i++) {
                int policy = facts->frequency[i].number;

                if (is_boosted(knobs, policy))
                        continue;
                state->found[policy].moved_khz = 0;
                if (is_limited(knobs, policy) || moved_from(knobs, policy))
                        continue;
                cpufreq_name(tune_batch_name(&batch), policy, CPUFREQ_MAX);
                tune_batch_add(&batch, &cpufreq_moved_kind, CPUFREQ_MOVED, i);
        }
        tune_batch_end(&batch);
}

void cpufreq_keep_maximum(Knobs *knobs, int policy)
{
        char name[TUNE_NAME];
        KnobChange change = { &cpufreq_moved_kind, name, CPUFREQ_MOVED, 0, NULL };

        if (!is_boosted(knobs, policy) || !is_limited(knobs, policy) || moved_from(knobs, policy))
                return;
        cpufreq_name(name, policy, CPUFREQ_MAX);
        change.found = knob_find(knobs, &cpufreq_limit_kind, name)->original;
        knobs_set(knobs, &change, 1);
}

/* Linux 7.3 leaves a maximum where boost put it, and takes the one that is restored for a user's
 * limit, which the next boost does not move. */
static void note_left(CpufreqState *state, int policy, const char *original)
{
        uint32_t now = cpufreq_read_limit(&state->context, policy, CPUFREQ_MAX);
        uint64_t khz;

        if (u64_parse(original, &khz) < 0 || khz >= now ||
            !cpufreq_is_top(state->context.root, policy, khz))
                return;
        state->found[policy].left_khz = now;
        state->found[policy].free_khz = (uint32_t)khz;
}

void cpufreq_move_maxima(CpufreqState *state, Knobs *knobs, const ActFacts *facts)
{
        for (int i = 0; i < facts->n_frequency; i++) {
                int policy = facts->frequency[i].number;
                const CpufreqFound *found = &state->found[policy];
                char name[TUNE_NAME], text[16];
                KnobChange change = { &cpufreq_moved_kind, name, text, 0, NULL };

                if (found->free_khz == 0 || !is_boosted(knobs, policy) ||
                    is_limited(knobs, policy) || !moved_from(knobs, policy) ||
                    cpufreq_read_limit(&state->context, policy, CPUFREQ_MAX) != found->free_khz)
                        continue;
                cpufreq_name(name, policy, CPUFREQ_MAX);
                snprintf(text, sizeof(text), "%u", found->left_khz);
                knobs_set(knobs, &change, 1);
        }
}

void cpufreq_restore_maxima(CpufreqState *state, Knobs *knobs, const ActFacts *facts)
{
        TuneBatch batch;

        tune_batch_init(&batch, knobs, keep_done, NULL);
        for (int i = 0; i < facts->n_frequency; i++) {
                int policy = facts->frequency[i].number;
                char name[TUNE_NAME];

                if (is_boosted(knobs, policy) || !moved_from(knobs, policy))
                        continue;
                cpufreq_name(name, policy, CPUFREQ_MAX);
                if (is_limited(knobs, policy)) {
                        knobs_drop(knobs, &cpufreq_moved_kind, name);
                        continue;
                }
                note_left(state, policy, moved_from(knobs, policy));
                tune_put(tune_batch_name(&batch), batch.names[batch.n] + TUNE_NAME, name);
                tune_batch_add(&batch, &cpufreq_moved_kind, NULL, i);
        }
        tune_batch_end(&batch);
}

void cpufreq_remember_minimum(CpufreqState *state, const Knobs *knobs, int dir, int policy)
{
        char name[TUNE_NAME];
        const Knob *knob;
        uint64_t found;
        int r;

        cpufreq_name(name, policy, CPUFREQ_MIN);
        knob = knob_find(knobs, &cpufreq_limit_kind, name);
        if (knob && knob->original && knob->state != KNOB_FOREIGN)
                r = u64_parse(knob->original, &found);
        else if (is_boosted(knobs, policy) || is_limited(knobs, policy))
                return;
        else
                r = file_read_u64(dir, name, &found);
        state->found[policy].min_khz = r < 0 || found > UINT32_MAX ? 0 : (uint32_t)found;
}

void cpufreq_note_maximum(CpufreqState *state, int policy)
{
        CpufreqFound *found = &state->found[policy];

        if (found->moved_khz == 0)
                found->moved_khz = cpufreq_read_limit(&state->context, policy, CPUFREQ_MAX);
}

/* With boost cpuinfo_max_freq moves as well, but not with intel_pstate of older kernels, which
 * lowers the maximum while no_turbo is being written. */
const char *cpufreq_found_maximum(const CpufreqState *state, const Knobs *knobs, int policy)
{
        uint32_t now = cpufreq_read_limit(&state->context, policy, CPUFREQ_MAX);
        const char *found = moved_from(knobs, policy);
        char name[TUNE_NAME], text[16];

        if (!found || !is_boosted(knobs, policy))
                return NULL;
        cpufreq_name(name, policy, CPUFREQ_MAX);
        snprintf(text, sizeof(text), "%u", now);
        return now == cpufreq_read_limit(&state->context, policy, "cpuinfo_max_freq") ||
                               now == state->found[policy].moved_khz ||
                               cpufreq_limit_kind.held(&state->context, name, found, text)
                       ? found
                       : NULL;
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
