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

#define SOON_NS      15000         /* periods below this are short */
#define LOW_LIMIT_NS (SOON_NS / 2) /* latency limits that allow shallow states only */
#define NONE         -1

typedef struct Teo {
        int64_t sleep_ns; /* to the timer, before the last period */
        int64_t residency_ns;
        uint32_t hits[IDLE_STATES_MAX], intercepts[IDLE_STATES_MAX];
        uint32_t total, tick_intercepts, shorts;
        int8_t last;  /* state */
        bool by_tick; /* the last period was ended by a tick before a distant timer */
} Teo;

/* Step 2, with the count of short periods. */
static uint64_t length_of_last(Teo *teo, const StateTable *table)
{
        int64_t latency_ns = table->states[teo->last].latency_ns;
        uint64_t length;

        teo_decay(&teo->shorts);
        if (teo->by_tick)
                return UINT64_MAX;
        length = teo_adjust(teo->residency_ns, latency_ns);
        if (teo->residency_ns < latency_ns || length < SOON_NS)
                teo->shorts += TEO_PULSE;
        return length;
}

static void learn(Teo *teo, const StateTable *table)
{
        uint64_t length = length_of_last(teo, table);
        int timer = 0, woken = 0;

        for (int i = 0; i < table->n; i++) {
                int64_t residency_ns = table->states[i].residency_ns;

                teo_decay(&teo->hits[i]);
                teo_decay(&teo->intercepts[i]);
                if (residency_ns > teo->sleep_ns)
                        continue;
                timer = i;
                if ((uint64_t)residency_ns <= length)
                        woken = i;
        }
        teo_decay(&teo->tick_intercepts);
        if (timer == woken) {
                teo->hits[timer] += TEO_PULSE;
        } else {
                teo->intercepts[woken] += TEO_PULSE;
                if (length >= (uint64_t)TICK_NS)
                        teo->tick_intercepts += TEO_PULSE;
        }
        teo_decay(&teo->total);
        teo->total += TEO_PULSE;
}

/* What step 4 finds. The sums are over all bins above the candidate's. */
typedef struct Candidate {
        int state, first, allowed;
        uint32_t intercepts, hits;
} Candidate;

static Candidate find_candidate(const Teo *teo, const StateTable *table, int64_t limit_ns)
{
        Candidate found = { .state = table->states[0].off ? NONE : 0 };
        uint32_t intercepts = 0, hits = 0;

        for (int i = 1; i < table->n; i++) {
                intercepts += teo->intercepts[i - 1];
                hits += teo->hits[i - 1];
                if (table->states[i].off)
                        continue;
                if (found.state == NONE)
                        found.first = i;
                found.state = i;
                if (table->states[i].latency_ns <= limit_ns)
                        found.allowed = i;
                found.intercepts = intercepts;
                found.hits = hits;
        }
        return found;
}

/* Step 5. */
static int expect_early(const Teo *teo, const StateTable *table, const Candidate *from)
{
        uint32_t intercepts = 0;
        int state = from->state;

        if (2 * from->intercepts <= teo->total - from->hits)
                return from->state;
        for (int i = from->state - 1; i >= 0; i--) {
                bool is_off = table->states[i].off;

                intercepts += teo->intercepts[i];
                if (2 * intercepts > from->intercepts)
                        return is_off ? state : i;
                if (!is_off)
                        state = i;
        }
        return from->state;
}

/* Steps 7 and 8. */
static int ask_timer(Teo *teo, const StateTable *table, int first, int state, const Period *period)
{
        int64_t length_ns = period->sleep_ns;

        teo->sleep_ns = length_ns;
        if (state == 0)
                return 0;
        if (table->states[state].residency_ns > length_ns)
                state = teo_shallower(table, state, length_ns, false);
        if (table->states[state].residency_ns < TICK_NS &&
            teo->tick_intercepts > teo->total / 2 + teo->total / 8)
                length_ns = TICK_NS / 2;
        return teo_fit_tick(table, state, first, length_ns, period->tick_ns);
}

static int teo_select(void *data, const StateTable *table, const Period *period)
{
        Teo *teo = data;
        Candidate candidate;
        int state;

        learn(teo, table);
        teo->sleep_ns = INT64_MAX;
        if (table->n < 2)
                return 0;
        candidate = find_candidate(teo, table, period->limit_ns);
        if (candidate.state == NONE)
                return 0;
        if (candidate.state == candidate.first)
                return candidate.state;
        state = expect_early(teo, table, &candidate);
        if (state > candidate.allowed)
                state = candidate.allowed;
        if ((state == 0 || table->states[state].residency_ns < SOON_NS) &&
            (2 * teo->shorts >= teo->total || period->limit_ns < LOW_LIMIT_NS))
                return state;
        return ask_timer(teo, table, candidate.first, state, period);
}

static void teo_reflect(void *state, const StateTable *table, const Outcome *outcome)
{
        Teo *teo = state;

        teo->last = (int8_t)outcome->state;
        teo->residency_ns = outcome->residency_ns;
        teo->by_tick = outcome->got_tick && teo->sleep_ns > TICK_NS;
}

const Governor governor_teo_6_18 = {
        .name = "teo-6.18",
        .summary = "teo of Linux 6.18",
        .state_size = sizeof(Teo),
        .select = teo_select,
        .reflect = teo_reflect,
};
