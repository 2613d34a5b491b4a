/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * teo (the timer events oriented governor) of Linux 7.3.
 *
 * Bins, hits and intercepts are those of teo-6.18.c. Counts for all bins together: of short periods
 * (below 15 us, or than the exit latency), of intercepts within a tick, and of wake-ups by the
 * tick. The total is the sum of all hits and intercepts.
 *
 * After a period:
 * 1. All counts lose an eighth, and become 0 when that is less than one.
 * 2. The length is what was measured, less half of the exit latency.
 * 3. If the tick woke the CPU: where ticks are over two thirds of the total, the deepest bin gets a
 *    hit; else, where intercepts within a tick are fewer than two thirds, the timer's bin gets it.
 * 4. Otherwise, if length and timer are in one bin and the timer was no later than half of the exit
 *    latency after the length, the bin gets a hit, else the length's bin gets an intercept.
 *
 * Before a period:
 * 5. The candidate is the deepest enabled state; remember also the deepest that is fast enough for
 *    the latency limit, and the bin with most intercepts. If only one is enabled, take it.
 * 6. If the intercepts above the candidate outweigh all that speaks for it and deeper states, go
 *    shallower, to the bin with most intercepts at least, until over half of these intercepts lie
 * at or below the state.
 * 7. Be no deeper than the latency limit allows. If the state is 0 or pays within 15 us, and at
 *    least half of the periods were short or the limit is below 7.5 us, take it at once.
 * 8. Ask for the timer. State 0 is taken; else go shallower until the state pays before the timer.
 * 9. If the state pays within a tick and two thirds of the total are intercepts within a tick, the
 *    expected length is half a tick, else the time to the timer. If that is below a tick or the
 *    state polls, the tick is kept: go shallower until the state pays before it.
 */
#include "governors/governors.h"
#include "governors/teo.h"

#define NONE -1

typedef struct Teo {
        TeoBins bins; /* `by_tick`: a tick ended the last period, whatever the timer was */
        uint32_t tick_intercepts, shorts, ticks;
} Teo;

static void decay(uint32_t *metric)
{
        uint32_t part = *metric >> TEO_SHIFT;

        *metric = part ? *metric - part : 0;
}

/* Step 3: the bin that gets a hit for a tick; NONE: step 4 decides. */
static int bin_of_tick(Teo *teo, const StateTable *table, uint32_t left, int timer)
{
        decay(&teo->ticks);
        if (!teo->bins.by_tick)
                return NONE;
        teo->ticks += TEO_PULSE;
        if (3 * teo->ticks > 2 * teo->bins.total)
                return table->n - 1;
        return 3 * teo->tick_intercepts < 2 * left ? timer : NONE;
}

static void learn(Teo *teo, const StateTable *table)
{
        int64_t latency_ns = table->states[teo->bins.last].latency_ns, length;
        int timer, woken, hit;
        uint32_t left;

        decay(&teo->shorts);
        length = (int64_t)teo_length_counted(&teo->bins, table, &teo->shorts);
        left = teo_find_bins(&teo->bins, table, (uint64_t)length, decay, &timer, &woken);
        teo->bins.total = left + TEO_PULSE;
        decay(&teo->tick_intercepts);
        hit = bin_of_tick(teo, table, left, timer);
        if (hit == NONE && timer == woken && teo->bins.sleep_ns - length < latency_ns / 2)
                hit = timer;
        if (hit != NONE) {
                teo->bins.hits[hit] += TEO_PULSE;
                return;
        }
        teo->bins.intercepts[woken] += TEO_PULSE;
        if (length <= TICK_NS)
                teo->tick_intercepts += TEO_PULSE;
}

/* Step 6. */
static int expect_early(const Teo *teo, const StateTable *table, const TeoCandidate *from)
{
        uint32_t intercepts = 0;
        int state = from->state;

        if (2 * from->intercepts <= teo->bins.total - from->hits)
                return state;
        for (int i = from->state - 1; i >= from->first; i--) {
                intercepts += teo->bins.intercepts[i];
                if (table->states[i].off)
                        continue;
                state = i;
                if (2 * intercepts > from->intercepts && i <= from->most)
                        break;
        }
        return state;
}

static int teo_select(void *data, const StateTable *table, const Period *period)
{
        Teo *teo = data;
        TeoCandidate candidate;
        int state;

        learn(teo, table);
        teo->bins.sleep_ns = INT64_MAX;
        candidate = teo_find_candidate(&teo->bins, table, period->limit_ns);
        if (candidate.state <= candidate.first) /* there is nothing to choose, or no state */
                return candidate.state < 0 ? 0 : candidate.state;
        state = expect_early(teo, table, &candidate);
        /* Steps 7 to 9. */
        return teo_finish(&teo->bins, table, &candidate, state, teo->shorts,
                          3 * teo->tick_intercepts >= 2 * teo->bins.total, period);
}

static void remember(void *state, const StateTable *table, const Outcome *outcome)
{
        Teo *teo = state;

        teo->bins.last = (int8_t)outcome->state;
        teo->bins.residency_ns = outcome->residency_ns;
        teo->bins.by_tick = outcome->got_tick;
}

const Governor governor_teo_7_3 = {
        .name = "teo-7.3",
        .summary = "teo of Linux 7.3",
        .state_size = sizeof(Teo),
        .select = teo_select,
        .reflect = remember,
};
