/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * teo (the timer events oriented governor) of mainline's Linux 6.18; README.md says what differs.
 *
 * Each state has a bin: periods at least as long as its target residency, and shorter than that of
 * the next. A bin counts hits (the CPU slept into the bin of the next timer) and intercepts (it
 * woke up in this bin, which is shallower). Three more counts are for all bins together: of
 * periods, of short ones (below 15 us, or than the exit latency), and of intercepts after a tick or
 * more.
 *
 * After a period:
 * 1. All counts lose an eighth.
 * 2. The length is infinite if the CPU was woken by a tick before a timer that is more than a tick
 *    away. Else it is what was measured, less half of the exit latency.
 * 3. If length and timer are in one bin, it gets a hit, else the length's bin gets an intercept.
 *
 * Before a period; until step 7 the time to the next timer is not asked for, which is costly, and
 * counts as infinite:
 * 4. The candidate is the deepest enabled state; remember also the deepest that is fast enough for
 *    the latency limit. If only one is enabled, take it.
 * 5. If the intercepts above the candidate outweigh all that speaks for it and deeper states, go
 *    shallower until over half of these intercepts lie at or below the state.
 * 6. Be no deeper than the latency limit allows. If the state is 0 or pays within 15 us, and at
 * least half of the periods were short or the limit is below 7.5 us, take it at once.
 * 7. Ask for the timer. State 0 is taken; else go shallower until the state pays before the timer.
 * 8. If the state pays within a tick and over 5/8 of the events are intercepts after a tick or
 * more, the expected length is half a tick, else the time to the timer. If that is below a tick or
 * the state polls, the tick is kept: go shallower until the state pays before it.
 */
#include "governors/governors.h"
#include "governors/teo.h"

typedef struct Teo {
        TeoBins bins;
        uint32_t tick_intercepts, shorts;
} Teo;

/* Step 2, with the count of short periods. */
static uint64_t length_of_last(Teo *teo, const StateTable *table)
{
        teo_decay(&teo->shorts);
        return teo->bins.by_tick ? UINT64_MAX : teo_length_counted(&teo->bins, table, &teo->shorts);
}

static void learn(Teo *teo, const StateTable *table)
{
        TeoBins *bins = &teo->bins;
        uint64_t length = length_of_last(teo, table);
        int timer, woken;

        teo_find_bins(bins, table, length, teo_decay, &timer, &woken);
        teo_decay(&teo->tick_intercepts);
        if (timer == woken) {
                bins->hits[timer] += TEO_PULSE;
        } else {
                bins->intercepts[woken] += TEO_PULSE;
                if (length >= (uint64_t)TICK_NS)
                        teo->tick_intercepts += TEO_PULSE;
        }
        teo_decay(&bins->total);
        bins->total += TEO_PULSE;
}

static int teo_select(void *data, const StateTable *table, const Period *period)
{
        Teo *teo = data;
        TeoCandidate candidate;
        int state;

        learn(teo, table);
        teo->bins.sleep_ns = INT64_MAX;
        if (table->n < 2)
                return 0;
        candidate = teo_find_candidate(&teo->bins, table, period->limit_ns);
        if (candidate.state <= candidate.first) /* there is nothing to choose, or no state */
                return candidate.state < 0 ? 0 : candidate.state;
        state = teo_expect_early(&teo->bins, table, &candidate);
        /* Steps 6 to 8. */
        return teo_finish(&teo->bins, table, &candidate, state, teo->shorts,
                          teo->tick_intercepts > teo->bins.total / 2 + teo->bins.total / 8, period);
}

const Governor governor_teo_6_18 = {
        .name = "teo-6.18",
        .summary = "teo of Linux 6.18",
        .state_size = sizeof(Teo),
        .select = teo_select,
        .reflect = teo_reflect,
};
