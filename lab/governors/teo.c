/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the versions of teo share.
 */
#include "governors/teo.h"

#define LOW_LIMIT_NS (TEO_SOON_NS / 2) /* latency limits that allow shallow states only */

/* The length of the last period without half of the exit latency that it contains; half of the
 * length if it is shorter than the latency. */
static uint64_t teo_length(const TeoBins *bins, const StateTable *table)
{
        int64_t latency_ns = table->states[bins->last].latency_ns;

        return (uint64_t)(bins->residency_ns >= latency_ns ? bins->residency_ns - latency_ns / 2
                                                           : bins->residency_ns / 2);
}

uint64_t teo_length_counted(const TeoBins *bins, const StateTable *table, uint32_t *shorts)
{
        uint64_t length = teo_length(bins, table);

        if (bins->residency_ns < table->states[bins->last].latency_ns || length < TEO_SOON_NS)
                *shorts += TEO_PULSE;
        return length;
}

uint64_t teo_length_or_timer(const TeoBins *bins, const StateTable *table)
{
        return bins->by_tick || bins->span_ns >= bins->sleep_ns ? UINT64_MAX
                                                                : teo_length(bins, table);
}

uint32_t teo_find_bins(TeoBins *bins, const StateTable *table, uint64_t length,
                       void (*decay)(uint32_t *metric), int *ret_timer, int *ret_woken)
{
        int timer = 0, woken = 0;
        uint32_t sum = 0;

        for (int i = 0; i < table->n; i++) {
                int64_t residency_ns = table->states[i].residency_ns;

                decay(&bins->hits[i]);
                decay(&bins->intercepts[i]);
                sum += bins->hits[i] + bins->intercepts[i];
                if (residency_ns > bins->sleep_ns)
                        continue;
                timer = i;
                if ((uint64_t)residency_ns <= length)
                        woken = i;
        }
        *ret_timer = timer;
        *ret_woken = woken;
        return sum;
}

TeoCandidate teo_find_candidate(const TeoBins *bins, const StateTable *table, int64_t limit_ns)
{
        TeoCandidate found = { .state = table->states[0].off ? -1 : 0, .most = -1 };
        uint32_t intercepts = 0, hits = 0, most = 0;

        for (int i = 1; i < table->n; i++) {
                intercepts += bins->intercepts[i - 1];
                hits += bins->hits[i - 1];
                if (bins->intercepts[i - 1] >= most) {
                        most = bins->intercepts[i - 1];
                        found.most = i - 1;
                }
                if (table->states[i].off)
                        continue;
                if (found.state < 0)
                        found.first = i;
                found.state = i;
                if (table->states[i].latency_ns <= limit_ns)
                        found.allowed = i;
                found.intercepts = intercepts;
                found.hits = hits;
        }
        found.all_intercepts = intercepts + bins->intercepts[table->n - 1];
        return found;
}

int teo_expect_early(const TeoBins *bins, const StateTable *table, const TeoCandidate *from)
{
        uint32_t intercepts = 0;
        int state = from->state;

        if (2 * from->intercepts <= bins->total - from->hits)
                return from->state;
        for (int i = from->state - 1; i >= 0; i--) {
                bool is_off = table->states[i].off;

                intercepts += bins->intercepts[i];
                if (2 * intercepts > from->intercepts)
                        return is_off ? state : i;
                if (!is_off)
                        state = i;
        }
        return from->state;
}

int teo_shallower(const StateTable *table, int state, int64_t length_ns, bool no_polling)
{
        for (int i = state - 1; i >= 0; i--) {
                const ReplayState *at = &table->states[i];

                if (at->off || (no_polling && at->polling))
                        continue;
                state = i;
                if (at->residency_ns <= length_ns)
                        break;
        }
        return state;
}

int teo_fit_tick(const StateTable *table, int state, int first, int64_t length_ns, int64_t tick_ns)
{
        const ReplayState *at = &table->states[state];

        if (!at->polling && length_ns >= TICK_NS)
                return state;
        if (state > first && at->residency_ns > tick_ns)
                return teo_shallower(table, state, tick_ns, false);
        return state;
}

int teo_ask_timer(TeoBins *bins, const StateTable *table, int first, int state, bool early,
                  const Period *period)
{
        int64_t length_ns = period->sleep_ns;

        bins->sleep_ns = length_ns;
        if (state == 0)
                return 0;
        if (table->states[state].residency_ns > length_ns)
                state = teo_shallower(table, state, length_ns, false);
        if (early && table->states[state].residency_ns < TICK_NS)
                length_ns = TICK_NS / 2;
        return teo_fit_tick(table, state, first, length_ns, period->tick_ns);
}

int teo_finish(TeoBins *bins, const StateTable *table, const TeoCandidate *from, int state,
               uint32_t shorts, bool early, const Period *period)
{
        if (state > from->allowed)
                state = from->allowed;
        if ((state == 0 || table->states[state].residency_ns < TEO_SOON_NS) &&
            (2 * shorts >= bins->total || period->limit_ns < LOW_LIMIT_NS))
                return state;
        return teo_ask_timer(bins, table, from->first, state, early, period);
}

void teo_reflect(void *state, const StateTable *table, const Outcome *outcome)
{
        TeoBins *bins = state;

        bins->last = (int8_t)outcome->state;
        bins->residency_ns = outcome->residency_ns;
        bins->by_tick = outcome->got_tick && bins->sleep_ns > TICK_NS;
        bins->span_ns = (int64_t)(outcome->time_ns - bins->entered_ns);
}
