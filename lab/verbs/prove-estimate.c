/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What idlelab prove knows so far.
 */

#include "prove.h"

#define SEC_USEC 1000000ull

/* Intervals of fewer pairs are too rough to end by. */
#define PRECISION_LEAST_PAIRS 8

void prove_fail(Prove *prove, const char *format, ...)
{
        va_list arguments;

        g_free(prove->problem);
        va_start(arguments, format);
        prove->problem = g_strdup_vprintf(format, arguments);
        va_end(arguments);
}

uint64_t prove_pair_usec(const Prove *prove)
{
        uint64_t block = prove->schedule.block_usec;

        if (prove->unit == WORK_RUNS)
                block = MAX(block, (uint64_t)(prove->run_seconds * (double)SEC_USEC));
        return 2 * (prove->schedule.washout_usec + block);
}

Estimate prove_estimate(const Prove *prove)
{
        return estimate(prove->results.energy,
                        &(EstimateQuery){ .work_error = work_unit_error(prove->unit) });
}

void prove_note_effect(ProveEffect *effect, const ScheduleSlot *slot, char *state, bool changed)
{
        for (int arm = 0; arm < 2; arm++)
                if (arm == slot->on || effect->pair != slot->pair)
                        g_clear_pointer(&effect->states[arm], g_free);
        effect->pair = slot->pair;
        effect->states[slot->on] = state;
        if (slot->on)
                effect->changed = changed;
        if (!effect->states[0] || !effect->states[1])
                return;
        effect->blocks++;
        if (!effect->changed && g_str_equal(effect->states[0], effect->states[1]))
                effect->without++;
}

/* True if compared policies had no effect in any block: then the settings are the same. */
static bool is_idle(const Prove *prove)
{
        const ProveEffect *effect = &prove->results.effect;

        return effect->blocks > 0 && effect->without == effect->blocks;
}

Verdict prove_verdict(const Prove *prove, const Estimate *found)
{
        return is_idle(prove) ? VERDICT_UNKNOWN : found->verdict;
}

/* True if the settings may be the same. */
static bool is_open(const Prove *prove, const Estimate *found)
{
        return is_idle(prove) || found->n_pairs < PROVE_LEAST_PAIRS ||
               (found->watts.low <= 0 && found->watts.high >= 0);
}

double prove_verdict_seconds(const Prove *prove, const Estimate *found)
{
        g_autofree Estimator *later = g_memdup2(prove->results.energy, sizeof(*later));
        const EstimateQuery query = { .work_error = work_unit_error(prove->unit) };

        if (found->verdict != VERDICT_UNKNOWN || is_open(prove, found))
                return -1;
        /* The pairs so far come again and again. */
        for (unsigned n = found->n_pairs; n < ESTIMATE_PAIRS; n++) {
                later->pairs[n] = later->pairs[n - found->n_pairs];
                later->n_pairs++;
                if (estimate(later, &query).verdict != VERDICT_UNKNOWN)
                        return (n + 1) * (double)prove_pair_usec(prove) / (double)SEC_USEC;
        }
        return -1;
}

double prove_seconds_needed(const Prove *prove, const Estimate *found, double half_width)
{
        double pairs = estimate_pairs_needed(found, &found->watts, half_width);

        if (pairs < 0 || found->n_pairs == 0)
                return -1;
        pairs = MAX(pairs, PRECISION_LEAST_PAIRS - (double)found->n_pairs);
        return MAX(pairs, 0) * (double)prove_pair_usec(prove) / (double)SEC_USEC;
}
