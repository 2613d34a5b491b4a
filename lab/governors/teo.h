/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the versions of teo share.
 */
#ifndef IDLED_GOVERNORS_TEO_H
#define IDLED_GOVERNORS_TEO_H

#include "governors/governor.h"

#define TEO_PULSE 1024 /* what one event adds to a metric */
#define TEO_SHIFT 3    /* each update takes an eighth away */

static inline void teo_decay(uint32_t *metric)
{
        *metric -= *metric >> TEO_SHIFT;
}

/* A measured length without half of the exit latency that it contains; half of the length if it is
 * shorter than the latency. */
static inline uint64_t teo_adjust(int64_t residency_ns, int64_t latency_ns)
{
        return (uint64_t)(residency_ns >= latency_ns ? residency_ns - latency_ns / 2
                                                     : residency_ns / 2);
}

/* The next enabled state above `state` that fits `length_ns`, or the shallowest enabled one if
 * none does, polling ones left out if asked; `state` itself if there is none. */
static inline int teo_shallower(const StateTable *table, int state, int64_t length_ns,
                                bool no_polling)
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

/* The tick keeps running if the CPU polls or is not expected to sleep for a tick period: then the
 * state must fit the time to the tick as well. */
static inline int teo_fit_tick(const StateTable *table, int state, int first, int64_t length_ns,
                               int64_t tick_ns)
{
        const ReplayState *at = &table->states[state];

        if (!at->polling && length_ns >= TICK_NS)
                return state;
        if (state > first && at->residency_ns > tick_ns)
                return teo_shallower(table, state, tick_ns, false);
        return state;
}

#endif
