/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the versions of teo share.
 */
#ifndef IDLED_GOVERNORS_TEO_H
#define IDLED_GOVERNORS_TEO_H

#include "governors/governor.h"

#define TEO_PULSE 1024 /* what one event adds to a metric */
#define TEO_SHIFT 3    /* each update takes an eighth away */

#define TEO_SOON_NS 15000 /* periods below this are short */

static inline void teo_decay(uint32_t *metric)
{
        *metric -= *metric >> TEO_SHIFT;
}

/* What all versions remember. A bin is that of the state with its number. */
typedef struct TeoBins {
        uint64_t entered_ns;
        int64_t span_ns, sleep_ns; /* of the last period: its length, and the timer before it */
        int64_t residency_ns;
        uint32_t hits[IDLE_STATES_MAX], intercepts[IDLE_STATES_MAX], total;
        int8_t last;  /* state */
        bool by_tick; /* the last period was ended by a tick before a distant timer */
} TeoBins;

/* The length of the last period without half of the exit latency that it contains; half of the
 * length if it is shorter than the latency. A period below 15 us, or than the exit latency, adds to
 * `shorts`. */
uint64_t teo_length_counted(const TeoBins *bins, const StateTable *table, uint32_t *shorts);

/* The length alone, or UINT64_MAX if the CPU slept until the timer, or to a tick before a distant
 * one. */
uint64_t teo_length_or_timer(const TeoBins *bins, const StateTable *table);

/* Takes an eighth from all hits and intercepts by `decay`, and finds the bins of the timer and of a
 * period of this length, at most that of the timer. Returns the sum of all hits and intercepts
 * then. */
uint32_t teo_find_bins(TeoBins *bins, const StateTable *table, uint64_t length,
                       void (*decay)(uint32_t *metric), int *ret_timer, int *ret_woken);

/* The deepest enabled state, and the deepest that is fast enough for a latency limit; -1: there is
 * none. The sums are over all bins above the candidate's. */
typedef struct TeoCandidate {
        int state, first, allowed, most; /* `most`: the last bin with the most intercepts */
        uint32_t intercepts, hits;
        uint32_t all_intercepts; /* over all bins */
} TeoCandidate;

TeoCandidate teo_find_candidate(const TeoBins *bins, const StateTable *table, int64_t limit_ns);

/* The candidate, or where early wake-ups are likely a state that is shallower, at or below which
 * over half of the intercepts lie. */
int teo_expect_early(const TeoBins *bins, const StateTable *table, const TeoCandidate *from);

/* The next enabled state above `state` that fits `length_ns`, or the shallowest enabled one if
 * none does, polling ones left out if asked; `state` itself if there is none. */
int teo_shallower(const StateTable *table, int state, int64_t length_ns, bool no_polling);

/* The tick keeps running if the CPU polls or is not expected to sleep for a tick period: then the
 * state must fit the time to the tick as well. */
int teo_fit_tick(const StateTable *table, int state, int first, int64_t length_ns, int64_t tick_ns);

/* What the newer versions do at the end: takes `state` at once if it is 0 or pays within 15 us, and
 * at least half of the periods were short or the limit is below 7.5 us; else asks for the timer as
 * teo_ask_timer(). */
int teo_finish(TeoBins *bins, const StateTable *table, const TeoCandidate *from, int state,
               uint32_t shorts, bool early, const Period *period);

/* Asks for the timer, and goes shallower until the state pays before it, and before the tick if
 * that keeps running. State 0 stays. `early`: the CPU is expected to wake up within half a tick, if
 * the state pays within a tick. */
int teo_ask_timer(TeoBins *bins, const StateTable *table, int first, int state, bool early,
                  const Period *period);

/* Governor.reflect() of all versions, whose state begins with TeoBins. */
void teo_reflect(void *state, const StateTable *table, const Outcome *outcome);

#endif
