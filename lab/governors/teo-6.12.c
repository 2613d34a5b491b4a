/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * teo of Linux 6.12 (the timer events oriented governor).
 *
 * Each state has a bin: periods at least as long as its target residency, and shorter than that of
 * the next. A bin counts hits (the CPU slept into the bin of the next timer) and intercepts (it
 * woke up in this bin, which is shallower). If even the deepest state pays within a tick period,
 * periods of a tick and more have another bin, for hits only.
 *
 * After a period:
 * 1. All hits and intercepts lose an eighth.
 * 2. The length is infinite if the CPU slept until the timer, or to a tick before a timer that is
 *    more than a tick away. Else it is what was measured, less half of the exit latency.
 * 3. If length and timer are in one bin, it gets a hit, else the length's bin gets an intercept.
 *
 * Before a period; until step 8 the time to the next timer is not asked for, which is costly, and
 * counts as infinite:
 * 4. The candidate is the deepest enabled state; remember also the deepest that is fast enough for
 *    the latency limit. If only one is enabled, take it.
 * 5. If the intercepts above the candidate outweigh all that speaks for it and deeper states, go
 *    shallower until over half of these intercepts lie at or below the state. If that ends at state
 *    0, ask for the timer, to learn from it, and take state 0.
 * 6. Be no deeper than the latency limit allows. State 0 is taken at once.
 * 7. If state 0 polls and the candidate pays within 15 us, take it at once.
 * 8. Ask for the timer; go shallower until the state pays before it.
 * 9. If the state pays within a tick and over 5/8 of the events are intercepts, the expected length
 *    is half a tick, else the time to the timer. If that is below a tick or the state polls, the
 * tick is kept: go shallower until the state pays before it.
 */
#include "governors/governors.h"
#include "governors/teo.h"

typedef struct Teo {
        TeoBins bins;
        uint32_t tick_hits;
} Teo;

/* Steps 1 to 3 for the bin of a tick and more. True: the period was in it. */
static bool learn_tick(Teo *teo, uint64_t length, int *timer, int beyond)
{
        teo_decay(&teo->tick_hits);
        teo->bins.total += teo->tick_hits;
        if (teo->bins.sleep_ns < TICK_NS)
                return false;
        *timer = beyond;
        if (length < (uint64_t)TICK_NS)
                return false;
        teo->tick_hits += TEO_PULSE;
        return true;
}

static void learn(Teo *teo, const StateTable *table)
{
        TeoBins *bins = &teo->bins;
        uint64_t length = teo_length_or_timer(bins, table);
        int timer, woken;

        bins->total = TEO_PULSE + teo_find_bins(bins, table, length, teo_decay, &timer, &woken);
        if (table->states[table->n - 1].residency_ns < TICK_NS &&
            learn_tick(teo, length, &timer, table->n))
                return;
        if (timer == woken)
                bins->hits[timer] += TEO_PULSE;
        else
                bins->intercepts[woken] += TEO_PULSE;
}

static int teo_select(void *data, const StateTable *table, const Period *period)
{
        Teo *teo = data;
        TeoCandidate candidate;
        int state;

        learn(teo, table);
        teo->bins.entered_ns = period->time_ns;
        teo->bins.sleep_ns = INT64_MAX;
        if (table->n < 2)
                return 0;
        candidate = teo_find_candidate(&teo->bins, table, period->limit_ns);
        if (candidate.state <= candidate.first) /* there is nothing to choose, or no state */
                return candidate.state < 0 ? 0 : candidate.state;
        state = teo_expect_early(&teo->bins, table, &candidate);
        if (state == 0)
                return teo_ask_timer(&teo->bins, table, 0, 0, false, period);
        if (state > candidate.allowed)
                state = candidate.allowed;
        if (state == 0 ||
            (table->states[0].polling && table->states[state].residency_ns < TEO_SOON_NS))
                return state;
        /* Steps 8 and 9. */
        return teo_ask_timer(&teo->bins, table, candidate.first, state,
                             candidate.all_intercepts > teo->bins.total / 2 + teo->bins.total / 8,
                             period);
}

const Governor governor_teo_6_12 = {
        .name = "teo-6.12",
        .summary = "teo of Linux 6.12",
        .state_size = sizeof(Teo),
        .select = teo_select,
        .reflect = teo_reflect,
};
