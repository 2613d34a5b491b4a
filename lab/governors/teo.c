/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * teo (the timer events oriented governor) of Linux 6.1, 6.12, 7.3 and mainline's 6.18, of which
 * README.md says what differs; and that of 6.1 with utilization awareness as posted for that kernel
 * (version 5, November 2022).
 *
 * Each state has a bin: periods at least as long as its target residency, and shorter than that of
 * the next. A bin counts hits (the CPU slept into the bin of the next timer) and intercepts (it
 * woke up in this bin, which is shallower). The steps are with each version; those before a
 * period, in 6.12 and later, are behind the last of them.
 */
#include "governors/governors.h"

#define PULSE             1024          /* what one event adds to a metric */
#define SHIFT             3             /* each update takes an eighth away */
#define SOON_NS           15000         /* periods below this are short */
#define LOW_LIMIT_NS      (SOON_NS / 2) /* latency limits that allow shallow states only */
#define RECENT            9             /* periods */
#define UTILIZATION_SHIFT 6
#define NONE              -1

/* A bin is that of the state with its number. */
typedef struct Teo {
        uint64_t entered_ns;
        int64_t span_ns, sleep_ns; /* of the last period: its length, and the timer before it */
        int64_t residency_ns;
        uint32_t hits[IDLE_STATES_MAX], intercepts[IDLE_STATES_MAX], total;
        int8_t last;   /* state */
        bool got_tick; /* a tick ended the last period */

        uint8_t recent[IDLE_STATES_MAX]; /* 6.1: intercepts among the last periods */
        int8_t recent_bins[RECENT];      /* NONE: not an intercept */
        uint8_t next_recent;

        uint32_t tick_hits;               /* 6.12: of a tick and more */
        uint32_t tick_intercepts, shorts; /* 6.18 and 7.3 */
        uint32_t ticks;                   /* 7.3 */
} Teo;

_Static_assert(sizeof(Teo) <= GOVERNOR_STATE_MAX, "others keep it as their base");

static void decay(uint32_t *metric)
{
        *metric -= *metric >> SHIFT;
}

/* That of 7.3. */
static void decay_to_zero(uint32_t *metric)
{
        uint32_t part = *metric >> SHIFT;

        *metric = part ? *metric - part : 0;
}

/* True if a tick ended the last period before a timer that was more than a tick away. */
static bool is_by_tick(const Teo *teo)
{
        return teo->got_tick && teo->sleep_ns > TICK_NS;
}

/* The length of the last period without half of the exit latency that it contains; half of the
 * length if it is shorter than the latency. */
static uint64_t find_length(const Teo *teo, const StateTable *table)
{
        int64_t latency_ns = table->states[teo->last].latency_ns;

        return (uint64_t)(teo->residency_ns >= latency_ns ? teo->residency_ns - latency_ns / 2
                                                          : teo->residency_ns / 2);
}

/* The same. A period below 15 us, or than the exit latency, adds to `shorts`. */
static uint64_t count_length(Teo *teo, const StateTable *table)
{
        uint64_t length = find_length(teo, table);

        if (teo->residency_ns < table->states[teo->last].latency_ns || length < SOON_NS)
                teo->shorts += PULSE;
        return length;
}

/* The length, or UINT64_MAX if the CPU slept until the timer, or to a tick before a distant one. */
static uint64_t find_length_or_timer(const Teo *teo, const StateTable *table)
{
        return is_by_tick(teo) || teo->span_ns >= teo->sleep_ns ? UINT64_MAX
                                                                : find_length(teo, table);
}

/* Takes an eighth from all hits and intercepts by `take_away`, and finds the bins of the timer and
 * of a period of this length, at most that of the timer. Returns the sum of all hits and intercepts
 * then. */
static uint32_t find_bins(Teo *teo, const StateTable *table, uint64_t length,
                          void (*take_away)(uint32_t *metric), int *ret_timer, int *ret_woken)
{
        int timer = 0, woken = 0;
        uint32_t sum = 0;

        for (int i = 0; i < table->n; i++) {
                int64_t residency_ns = table->states[i].residency_ns;

                take_away(&teo->hits[i]);
                take_away(&teo->intercepts[i]);
                sum += teo->hits[i] + teo->intercepts[i];
                if (residency_ns > teo->sleep_ns)
                        continue;
                timer = i;
                if ((uint64_t)residency_ns <= length)
                        woken = i;
        }
        *ret_timer = timer;
        *ret_woken = woken;
        return sum;
}

/* The deepest enabled state that pays until the timer, and the deepest of these that is fast enough
 * for a latency limit. The sums are over all bins above the candidate's. */
typedef struct Candidate {
        int state, first, allowed, most; /* `most`: the last bin with the most intercepts */
        uint32_t intercepts, hits, recent;
        uint32_t all_intercepts; /* over all bins */
        int64_t length_ns;       /* expected: until the timer at first */
} Candidate;

/* False if there is nothing to choose: then `first` is the state. */
static bool find_candidate(const Teo *teo, const StateTable *table, int64_t limit_ns,
                           Candidate *ret_found)
{
        Candidate found = { .state = table->states[0].off ? NONE : 0, .length_ns = teo->sleep_ns };
        uint32_t intercepts = 0, hits = 0, recent = 0, most = 0;

        for (int i = 1; i < table->n; i++) {
                const ReplayState *at = &table->states[i];

                intercepts += teo->intercepts[i - 1];
                hits += teo->hits[i - 1];
                recent += teo->recent[i - 1];
                if (teo->intercepts[i - 1] >= most) {
                        most = teo->intercepts[i - 1];
                        found.most = i - 1;
                }
                if (at->off)
                        continue;
                if (found.state == NONE)
                        found.state = found.first = i;
                if (at->residency_ns > teo->sleep_ns)
                        break;
                found.state = i;
                if (at->latency_ns <= limit_ns)
                        found.allowed = i;
                found.intercepts = intercepts;
                found.hits = hits;
                found.recent = recent;
        }
        found.all_intercepts = intercepts + teo->intercepts[table->n - 1];
        *ret_found = found;
        return found.state > found.first;
}

/* The candidate, or where early wake-ups are likely a state that is shallower, at or below which
 * over half of the intercepts lie; then the middle of its bin is expected. */
static int expect_early(const Teo *teo, const StateTable *table, Candidate *from)
{
        bool by_sum = 2 * from->intercepts > teo->total - from->hits;
        bool by_recent = from->recent > RECENT / 2;
        uint32_t intercepts = 0, recent = 0;
        int state = from->state;
        int64_t suitable_ns = from->length_ns;

        if (!by_sum && !by_recent)
                return from->state;
        for (int i = from->state - 1; i >= 0; i--) {
                const ReplayState *at = &table->states[i];
                int64_t middle_ns = (at->residency_ns + at[1].residency_ns) / 2;

                intercepts += teo->intercepts[i];
                recent += teo->recent[i];
                if ((!by_recent || 2 * recent > from->recent) &&
                    (!by_sum || 2 * intercepts > from->intercepts)) {
                        from->length_ns = at->off ? suitable_ns : middle_ns;
                        return at->off ? state : i;
                }
                if (at->off)
                        continue;
                state = i;
                suitable_ns = middle_ns;
        }
        return from->state;
}

/* Asks for the timer, and goes shallower until the state pays before it, and before the tick if
 * that keeps running. State 0 stays. `early`: the CPU is expected to wake up within half a tick, if
 * the state pays within a tick. */
static int ask_timer(Teo *teo, const StateTable *table, int first, int state, bool early,
                     const Period *period)
{
        int64_t length_ns = period->sleep_ns;

        teo->sleep_ns = length_ns;
        if (state == 0)
                return 0;
        if (table->states[state].residency_ns > length_ns)
                state = state_table_shallower(table, state, length_ns, false);
        if (early && table->states[state].residency_ns < TICK_NS)
                length_ns = TICK_NS / 2;
        return state_table_fit_tick(table, state, first, length_ns, period->tick_ns);
}

static void teo_reflect(void *state, const StateTable *table, const Outcome *outcome)
{
        Teo *teo = state;

        teo->last = (int8_t)outcome->state;
        teo->residency_ns = outcome->residency_ns;
        teo->got_tick = outcome->got_tick;
        teo->span_ns = (int64_t)(outcome->time_ns - teo->entered_ns);
}

/*
 * Linux 6.1. A bin also counts how many of the last 9 periods were intercepts.
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
 *    deepest of them that is fast enough for the latency limit. If it is the shallowest enabled,
 *    take it.
 * 6. Early wake-ups are likely if the intercepts above the candidate outweigh all that speaks for
 *    it and deeper states, or if more than 4 of the last 9 periods were intercepts above it. Then
 *    go shallower until over half of the intercepts lie at or below the state. The expected length
 *    becomes the middle of its bin.
 * 7. Be no deeper than the latency limit allows.
 * 8. teo-util: if the CPU is used by more than 1/64 of its capacity, go one enabled state
 *    shallower, but not into a polling one. With two states only, take the shallowest that does not
 *    poll before all this, right after step 4.
 * 9. If the expected length is below a tick or the state polls, the tick is kept: go shallower
 *    until the state pays before it.
 */
static void teo_init(void *state, const StateTable *table, const void *options, int cpu)
{
        Teo *teo = state;

        for (int i = 0; i < RECENT; i++)
                teo->recent_bins[i] = NONE;
}

static void learn_6_1(Teo *teo, const StateTable *table)
{
        int8_t *recent = &teo->recent_bins[teo->next_recent];
        int timer, woken;

        teo->total = PULSE +
                     find_bins(teo, table, find_length_or_timer(teo, table), decay, &timer, &woken);
        teo->next_recent = (uint8_t)((teo->next_recent + 1) % RECENT);
        if (*recent != NONE)
                teo->recent[*recent]--;
        if (timer == woken) {
                teo->hits[timer] += PULSE;
                *recent = NONE;
        } else {
                teo->intercepts[woken] += PULSE;
                teo->recent[woken]++;
                *recent = (int8_t)woken;
        }
}

/* Step 8, where there are two states only: the state to take, or NONE. */
static int shallowest_of_two(const StateTable *table)
{
        for (int i = 0; i < table->n; i++)
                if (!table->states[i].off && !table->states[i].polling)
                        return i;
        return NONE;
}

static int select_6_1(Teo *teo, const StateTable *table, const Period *period, bool is_used)
{
        Candidate candidate;
        int state;

        learn_6_1(teo, table);
        teo->entered_ns = period->time_ns;
        teo->sleep_ns = period->sleep_ns;
        if (table->n < 2 ||
            (!table->states[0].off && table->states[1].residency_ns > period->sleep_ns))
                return 0;
        if (is_used && table->n == 2) {
                state = shallowest_of_two(table);
                if (state != NONE)
                        return state_table_fit_tick(table, state, 0, period->sleep_ns,
                                                    period->tick_ns);
        }
        if (!find_candidate(teo, table, period->limit_ns, &candidate))
                return candidate.first;
        state = expect_early(teo, table, &candidate);
        if (state > candidate.allowed)
                state = candidate.allowed;
        if (is_used)
                state = state_table_shallower(table, state, candidate.length_ns, true);
        return state_table_fit_tick(table, state, candidate.first, candidate.length_ns,
                                    period->tick_ns);
}

static int teo_select_6_1(void *state, const StateTable *table, const Period *period)
{
        return select_6_1(state, table, period, false);
}

static int teo_select_util(void *state, const StateTable *table, const Period *period)
{
        return select_6_1(state, table, period, period->util > CPU_CAPACITY >> UTILIZATION_SHIFT);
}

/*
 * Linux 6.12. If even the deepest state pays within a tick period, periods of a tick and more have
 * another bin, for hits only.
 *
 * After a period:
 * 1. All hits and intercepts lose an eighth.
 * 2. The length is infinite if the CPU slept until the timer, or to a tick before a timer that is
 *    more than a tick away. Else it is what was measured, less half of the exit latency.
 * 3. If length and timer are in one bin, it gets a hit, else the length's bin gets an intercept.
 */

/* Steps 1 to 3 for the bin of a tick and more. True: the period was in it. */
static bool learn_tick(Teo *teo, uint64_t length, int *timer, int beyond)
{
        decay(&teo->tick_hits);
        teo->total += teo->tick_hits;
        if (teo->sleep_ns < TICK_NS)
                return false;
        *timer = beyond;
        if (length < (uint64_t)TICK_NS)
                return false;
        teo->tick_hits += PULSE;
        return true;
}

static void learn_6_12(Teo *teo, const StateTable *table)
{
        uint64_t length = find_length_or_timer(teo, table);
        int timer, woken;

        teo->total = PULSE + find_bins(teo, table, length, decay, &timer, &woken);
        if (table->states[table->n - 1].residency_ns < TICK_NS &&
            learn_tick(teo, length, &timer, table->n))
                return;
        if (timer == woken)
                teo->hits[timer] += PULSE;
        else
                teo->intercepts[woken] += PULSE;
}

/*
 * Linux 6.18. Three more counts are for all bins together: of periods, of short ones (below 15 us,
 * or than the exit latency), and of intercepts after a tick or more.
 *
 * After a period:
 * 1. All counts lose an eighth.
 * 2. The length is infinite if the CPU was woken by a tick before a timer that is more than a tick
 *    away. Else it is what was measured, less half of the exit latency.
 * 3. If length and timer are in one bin, it gets a hit, else the length's bin gets an intercept.
 */
static void learn_6_18(Teo *teo, const StateTable *table)
{
        uint64_t length;
        int timer, woken;

        decay(&teo->shorts);
        length = is_by_tick(teo) ? UINT64_MAX : count_length(teo, table);
        find_bins(teo, table, length, decay, &timer, &woken);
        decay(&teo->tick_intercepts);
        if (timer == woken) {
                teo->hits[timer] += PULSE;
        } else {
                teo->intercepts[woken] += PULSE;
                if (length >= (uint64_t)TICK_NS)
                        teo->tick_intercepts += PULSE;
        }
        decay(&teo->total);
        teo->total += PULSE;
}

/*
 * Linux 7.3. Counts for all bins together: of short periods (below 15 us, or than the exit
 * latency), of intercepts within a tick, and of wake-ups by the tick. The total is the sum of all
 * hits and intercepts.
 *
 * After a period:
 * 1. All counts lose an eighth, and become 0 when that is less than one.
 * 2. The length is what was measured, less half of the exit latency.
 * 3. If the tick woke the CPU: where ticks are over two thirds of the total, the deepest bin gets a
 *    hit; else, where intercepts within a tick are fewer than two thirds, the timer's bin gets it.
 * 4. Otherwise, if length and timer are in one bin and the timer was no later than half of the exit
 *    latency after the length, the bin gets a hit, else the length's bin gets an intercept.
 */

/* Step 3: the bin that gets a hit for a tick; NONE: step 4 decides. */
static int bin_of_tick(Teo *teo, const StateTable *table, uint32_t left, int timer)
{
        decay_to_zero(&teo->ticks);
        if (!teo->got_tick)
                return NONE;
        teo->ticks += PULSE;
        if (3 * teo->ticks > 2 * teo->total)
                return table->n - 1;
        return 3 * teo->tick_intercepts < 2 * left ? timer : NONE;
}

static void learn_7_3(Teo *teo, const StateTable *table)
{
        int64_t latency_ns = table->states[teo->last].latency_ns, length;
        int timer, woken, hit;
        uint32_t left;

        decay_to_zero(&teo->shorts);
        length = (int64_t)count_length(teo, table);
        left = find_bins(teo, table, (uint64_t)length, decay_to_zero, &timer, &woken);
        teo->total = left + PULSE;
        decay_to_zero(&teo->tick_intercepts);
        hit = bin_of_tick(teo, table, left, timer);
        if (hit == NONE && timer == woken && teo->sleep_ns - length < latency_ns / 2)
                hit = timer;
        if (hit != NONE) {
                teo->hits[hit] += PULSE;
                return;
        }
        teo->intercepts[woken] += PULSE;
        if (length <= TICK_NS)
                teo->tick_intercepts += PULSE;
}

/* Step 2 of 7.3, before a period. */
static int expect_early_7_3(const Teo *teo, const StateTable *table, const Candidate *from)
{
        uint32_t intercepts = 0;
        int state = from->state;

        if (2 * from->intercepts <= teo->total - from->hits)
                return state;
        for (int i = from->state - 1; i >= from->first; i--) {
                intercepts += teo->intercepts[i];
                if (table->states[i].off)
                        continue;
                state = i;
                if (2 * intercepts > from->intercepts && i <= from->most)
                        break;
        }
        return state;
}

/*
 * Linux 6.12 and later, before a period. Until step 5 the time to the next timer, which is costly,
 * is not asked for and counts as infinite.
 * 1. The candidate is the deepest enabled state; remember also the deepest that is fast enough for
 *    the latency limit, and in 7.3 the bin with most intercepts. If only one is enabled, take it.
 * 2. If the intercepts above the candidate outweigh all that speaks for it and deeper states, go
 *    shallower until over half of these intercepts lie at or below the state; in 7.3 to the bin
 *    with most intercepts at least. If that is state 0, 6.12 asks for the timer, to learn from it,
 *    and takes state 0.
 * 3. Be no deeper than the latency limit allows.
 * 4. Take the state at once: in 6.12 if it is 0, or if it pays within 15 us and state 0 polls;
 *    later if it is 0 or pays within 15 us, and at least half of the periods were short or the
 *    limit is below 7.5 us.
 * 5. Ask for the timer. State 0 is taken; else go shallower until the state pays before the timer.
 * 6. If the state pays within a tick and early wake-ups are likely, the expected length is half a
 *    tick, else the time to the timer. If that is below a tick or the state polls, the tick is
 *    kept: go shallower until the state pays before it. Likely: over 5/8 of the events are
 *    intercepts, in 6.18 those after a tick; in 7.3 two thirds of them, those within a tick.
 */
typedef enum Version { LINUX_6_12, LINUX_6_18, LINUX_7_3 } Version;

/* True if the state is entered without asking for the timer. */
static bool is_taken_at_once(const Teo *teo, const StateTable *table, int state, int64_t limit_ns,
                             Version version)
{
        bool is_soon = table->states[state].residency_ns < SOON_NS;

        if (version == LINUX_6_12)
                return state == 0 || (table->states[0].polling && is_soon);
        return (state == 0 || is_soon) &&
               (2 * teo->shorts >= teo->total || limit_ns < LOW_LIMIT_NS);
}

/* That choice, behind learning. */
static int select_newer(Teo *teo, const StateTable *table, const Period *period, Version version)
{
        uint32_t most = teo->total / 2 + teo->total / 8;
        Candidate candidate;
        bool early;
        int state;

        teo->entered_ns = period->time_ns;
        teo->sleep_ns = INT64_MAX;
        if (!find_candidate(teo, table, period->limit_ns, &candidate))
                return candidate.first;
        state = version == LINUX_7_3 ? expect_early_7_3(teo, table, &candidate)
                                     : expect_early(teo, table, &candidate);
        if (version == LINUX_6_12 && state == 0)
                return ask_timer(teo, table, 0, 0, false, period);
        if (state > candidate.allowed)
                state = candidate.allowed;
        if (is_taken_at_once(teo, table, state, period->limit_ns, version))
                return state;
        early = version == LINUX_6_12   ? candidate.all_intercepts > most
                : version == LINUX_6_18 ? teo->tick_intercepts > most
                                        : 3 * teo->tick_intercepts >= 2 * teo->total;
        return ask_timer(teo, table, candidate.first, state, early, period);
}

static int teo_select_6_12(void *state, const StateTable *table, const Period *period)
{
        learn_6_12(state, table);
        return select_newer(state, table, period, LINUX_6_12);
}

static int teo_select_6_18(void *state, const StateTable *table, const Period *period)
{
        learn_6_18(state, table);
        return select_newer(state, table, period, LINUX_6_18);
}

static int teo_select_7_3(void *state, const StateTable *table, const Period *period)
{
        learn_7_3(state, table);
        return select_newer(state, table, period, LINUX_7_3);
}

const Governor governor_teo_6_1 = {
        .name = "teo-6.1",
        .state_size = sizeof(Teo),
        .init = teo_init,
        .select = teo_select_6_1,
        .reflect = teo_reflect,
};

const Governor governor_teo_util = {
        .name = "teo-util",
        .state_size = sizeof(Teo),
        .init = teo_init,
        .select = teo_select_util,
        .reflect = teo_reflect,
};

const Governor governor_teo_6_12 = {
        .name = "teo-6.12",
        .state_size = sizeof(Teo),
        .select = teo_select_6_12,
        .reflect = teo_reflect,
};

const Governor governor_teo_6_18 = {
        .name = "teo-6.18",
        .state_size = sizeof(Teo),
        .select = teo_select_6_18,
        .reflect = teo_reflect,
};

const Governor governor_teo_7_3 = {
        .name = "teo-7.3",
        .state_size = sizeof(Teo),
        .select = teo_select_7_3,
        .reflect = teo_reflect,
};
