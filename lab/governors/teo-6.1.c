/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * teo of Linux 6.1 (the timer events oriented governor), and the same with utilisation awareness as
 * posted for that kernel (version 5, November 2022).
 *
 * Each state has a bin: periods at least as long as its target residency, and shorter than that of
 * the next. A bin counts hits (the CPU slept into the bin of the next timer), intercepts (it woke
 * up in this bin, which is shallower) and how many of the last 9 periods were such intercepts.
 *
 * After a period:
 * 1. Every hit and intercept loses an eighth.
 * 2. The length is infinite if the CPU slept until the timer, or to a tick before a timer that is
 *    more than a tick away. Else it is what was measured, less half of the exit latency.
 * 3. If length and timer are in one bin, it gets a hit, else the length's bin gets an intercept.
 *
 * Before a period:
 * 4. If state 0 is enabled and the timer comes before state 1 pays, take state 0.
 * 5. The candidate is the deepest enabled state that pays until the timer; remember also the
 * deepest of them that is fast enough for the latency limit. If it is the shallowest enabled, take
 * it.
 * 6. Early wake-ups are likely if the intercepts above the candidate outweigh all that speaks for
 * it and deeper states, or if more than 4 of the last 9 periods were intercepts above it. Then go
 *    shallower until over half of the intercepts lie at or below the state. The expected length
 *    becomes the middle of its bin.
 * 7. Be no deeper than the latency limit allows.
 * 8. teo-util: if the CPU is used by more than 1/64 of its capacity, go one enabled state
 * shallower, but not into a polling one. With two states only, take the shallowest that does not
 * poll before all this, right after step 4.
 * 9. If the expected length is below a tick or the state polls, the tick is kept: go shallower
 * until the state pays before it.
 */
#include "governors/governors.h"
#include "governors/teo.h"

#define RECENT            9 /* periods */
#define UTILISATION_SHIFT 6
#define NONE              -1

typedef struct Teo {
        TeoBins bins;
        uint8_t recent[IDLE_STATES_MAX];
        int8_t recent_bins[RECENT]; /* NONE: not an intercept */
        uint8_t next_recent;
} Teo;

static void teo_init(void *state, const StateTable *table, const void *options, int cpu)
{
        Teo *teo = state;

        for (int i = 0; i < RECENT; i++)
                teo->recent_bins[i] = NONE;
}

static void learn(Teo *teo, const StateTable *table)
{
        TeoBins *bins = &teo->bins;
        int8_t *recent = &teo->recent_bins[teo->next_recent];
        int timer, woken;

        bins->total = TEO_PULSE + teo_find_bins(bins, table, teo_length_or_timer(bins, table),
                                                teo_decay, &timer, &woken);
        teo->next_recent = (uint8_t)((teo->next_recent + 1) % RECENT);
        if (*recent != NONE)
                teo->recent[*recent]--;
        if (timer == woken) {
                bins->hits[timer] += TEO_PULSE;
                *recent = NONE;
        } else {
                bins->intercepts[woken] += TEO_PULSE;
                teo->recent[woken]++;
                *recent = (int8_t)woken;
        }
}

/* What step 5 finds. The sums are over all bins above the candidate's. */
typedef struct Candidate {
        int state, first, allowed;
        uint32_t intercepts, hits, recent;
} Candidate;

static Candidate find_candidate(const Teo *teo, const StateTable *table, const Period *period)
{
        Candidate found = { .state = table->states[0].off ? NONE : 0 };
        uint32_t intercepts = 0, hits = 0, recent = 0;

        for (int i = 1; i < table->n; i++) {
                const ReplayState *at = &table->states[i];

                intercepts += teo->bins.intercepts[i - 1];
                hits += teo->bins.hits[i - 1];
                recent += teo->recent[i - 1];
                if (at->off)
                        continue;
                if (found.state == NONE)
                        found.state = found.first = i;
                if (at->residency_ns > period->sleep_ns)
                        break;
                found.state = i;
                if (at->latency_ns <= period->limit_ns)
                        found.allowed = i;
                found.intercepts = intercepts;
                found.hits = hits;
                found.recent = recent;
        }
        return found;
}

/* Step 6. `length_ns` is the expected length, that until the timer at first. */
static int expect_early(const Teo *teo, const StateTable *table, const Candidate *from,
                        int64_t *length_ns)
{
        bool by_sum = 2 * from->intercepts > teo->bins.total - from->hits;
        bool by_recent = from->recent > RECENT / 2;
        uint32_t intercepts = 0, recent = 0;
        int state = from->state;
        int64_t suitable_ns = *length_ns;

        if (!by_sum && !by_recent)
                return from->state;
        for (int i = from->state - 1; i >= 0; i--) {
                const ReplayState *at = &table->states[i];
                int64_t middle_ns = (at->residency_ns + at[1].residency_ns) / 2;

                intercepts += teo->bins.intercepts[i];
                recent += teo->recent[i];
                if ((!by_recent || 2 * recent > from->recent) &&
                    (!by_sum || 2 * intercepts > from->intercepts)) {
                        *length_ns = at->off ? suitable_ns : middle_ns;
                        return at->off ? state : i;
                }
                if (at->off)
                        continue;
                state = i;
                suitable_ns = middle_ns;
        }
        return from->state;
}

/* Step 8, where there are two states only: the state to take, or NONE. */
static int shallowest_of_two(const StateTable *table)
{
        for (int i = 0; i < table->n; i++)
                if (!table->states[i].off && !table->states[i].polling)
                        return i;
        return NONE;
}

static int choose(Teo *teo, const StateTable *table, const Period *period, bool is_used)
{
        int64_t length_ns = period->sleep_ns;
        Candidate candidate;
        int state;

        if (table->n < 2 ||
            (!table->states[0].off && table->states[1].residency_ns > period->sleep_ns))
                return 0;
        if (is_used && table->n == 2) {
                state = shallowest_of_two(table);
                if (state != NONE)
                        return teo_fit_tick(table, state, 0, length_ns, period->tick_ns);
        }
        candidate = find_candidate(teo, table, period);
        if (candidate.state <= candidate.first) /* there is nothing to choose, or no state */
                return candidate.state < 0 ? 0 : candidate.state;
        state = expect_early(teo, table, &candidate, &length_ns);
        if (state > candidate.allowed)
                state = candidate.allowed;
        if (is_used)
                state = teo_shallower(table, state, length_ns, true);
        return teo_fit_tick(table, state, candidate.first, length_ns, period->tick_ns);
}

static int select_state(Teo *teo, const StateTable *table, const Period *period, bool is_used)
{
        learn(teo, table);
        teo->bins.entered_ns = period->time_ns;
        teo->bins.sleep_ns = period->sleep_ns;
        return choose(teo, table, period, is_used);
}

static int teo_select(void *state, const StateTable *table, const Period *period)
{
        return select_state(state, table, period, false);
}

static int teo_util_select(void *state, const StateTable *table, const Period *period)
{
        return select_state(state, table, period, period->util > CPU_CAPACITY >> UTILISATION_SHIFT);
}

const Governor governor_teo_6_1 = {
        .name = "teo-6.1",
        .summary = "teo of Linux 6.1",
        .state_size = sizeof(Teo),
        .init = teo_init,
        .select = teo_select,
        .reflect = teo_reflect,
};

const Governor governor_teo_util = {
        .name = "teo-util",
        .summary = "teo of Linux 6.1, one state shallower on a CPU that is used by over 1/64",
        .state_size = sizeof(Teo),
        .init = teo_init,
        .select = teo_util_select,
        .reflect = teo_reflect,
};
