/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The idle states that a replay offers to the governors: a table read from a file, one state a
 * line, shallowest first:
 *
 *      name exit_latency_us target_residency_us power_mW [poll][,off]
 *
 * A power of "-" is unknown; then no energy is computed. "#" starts a comment.
 */
#ifndef IDLED_GOVERNORS_STATES_H
#define IDLED_GOVERNORS_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/idle-table.h"

#define TICK_NS INT64_C(4000000) /* HZ=250, as the traces were recorded */

typedef struct ReplayState {
        char name[32];
        int64_t latency_ns, residency_ns; /* exit latency, target residency */
        double power_mw;                  /* while in the state; NAN: unknown */
        double entry_mw_ns;               /* E_s: the energy of entering and leaving, in mW ns */
        bool polling;                     /* CPUIDLE_FLAG_POLLING */
        bool off;                         /* disabled: no governor may choose it */
} ReplayState;

typedef struct StateTable {
        int n;          /* 1 .. IDLE_STATES_MAX */
        bool has_power; /* every state's power is known */
        ReplayState states[IDLE_STATES_MAX];
} StateTable;

/* Reads the text of a table, priced; `name` is for messages. Returns 0, or -EINVAL with a message
 * "name:line:column: ..." in `ret_error`. */
int state_table_parse(const char *text, const char *name, StateTable *ret_table, char **ret_error);

/* Fills `has_power` and the entry energies: E_0 = 0, E_s = E_(s-1) + (P_(s-1) - P_s) * residency_s,
 * so that each target residency is the break-even point. */
void state_table_price(StateTable *table);

/* The state that would have been right: the deepest enabled one whose target residency is at most
 * `idle_ns` and whose exit latency is at most `limit_ns`. The shallowest enabled state if there is
 * none; 0 if all are disabled. */
int state_table_ideal(const StateTable *table, int64_t idle_ns, int64_t limit_ns);

/* The shallowest enabled state; 0 if all are disabled. */
int state_table_shallowest(const StateTable *table);

/* The next enabled state above `state` that pays within `length_ns`, or the shallowest enabled one
 * if none does, polling ones left out if asked; `state` itself if there is none. */
int state_table_shallower(const StateTable *table, int state, int64_t length_ns, bool no_polling);

/* The state for a period of `length_ns`, where `first` is the shallowest. The tick keeps running if
 * the CPU polls or is not expected to sleep for a tick period: then the state must also pay before
 * the tick, in `tick_ns`. */
int state_table_fit_tick(const StateTable *table, int state, int first, int64_t length_ns,
                         int64_t tick_ns);

/* The next enabled state in the direction of `step`, 1 or -1; -1: there is none. */
int state_table_next(const StateTable *table, int state, int step);

#endif
