/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Replays idle periods through a governor and counts how well it chose.
 */
#ifndef IDLED_GOVERNORS_REPLAY_H
#define IDLED_GOVERNORS_REPLAY_H

#include "governors/governor.h"
#include "governors/trace.h"

/* Sums over the periods of a run. Energies are in mW ns (1e-12 J), NAN if a power is unknown. */
typedef struct Score {
        uint64_t periods, correct, deep, shallow; /* the choice against state_table_ideal() */
        uint64_t entered[IDLE_STATES_MAX];        /* periods by state */
        double energy, ideal_energy;              /* of the choices; of the ideal states */
        double latency_ns;                        /* sum of the exit latencies of the choices */
        double idle_ns;                           /* sum of the periods' lengths */
} Score;

typedef struct Replay Replay;

/* A run of one governor with its options over one table, all CPUs' state zeroed. `options` and
 * `table` outlive it. */
Replay *replay_new(const Governor *governor, const void *options, const StateTable *table);
void replay_free(Replay *replay);

/* Continues with `n` records; `ret_states` takes the state of each, or is NULL. */
void replay_run(Replay *replay, const Record *records, int n, int8_t *ret_states);

const Score *replay_score(const Replay *replay);

#endif
