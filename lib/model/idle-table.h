/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The idle states of a CPU. They differ between machines and, on hybrids, between CPUs. Indexes and
 * names of states are not portable, so limits are exit latencies, and each CPU's own table resolves
 * them.
 *
 * Part of what idled installs for plugins.
 */
#ifndef IDLED_IDLE_TABLE_H
#define IDLED_IDLE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define IDLE_STATES_MAX 10 /* the kernel's CPUIDLE_STATE_MAX */

typedef struct IdleState {
        char name[32];
        uint32_t exit_latency_us, target_residency_us;
} IdleState;

/* The states of one CPU, in the kernel's order, which is from shallow to deep. */
typedef struct IdleTable {
        int n_states; /* 0: the kernel reports no idle states of this CPU */
        IdleState states[IDLE_STATES_MAX];
} IdleTable;

/* The deepest state that wakes up within `latency_us`: the last whose exit latency is not greater.
 * State 0 if there is none, because one state must remain; -1 if the table is empty. */
static inline int idle_table_deepest(const IdleTable *table, uint32_t latency_us)
{
        for (int i = table->n_states; i-- > 0;)
                if (table->states[i].exit_latency_us <= latency_us)
                        return i;
        return table->n_states > 0 ? 0 : -1;
}

/* True for a state that polls, which is no sleep: the kernel reports no other mark than its name.
 */
static inline bool idle_state_polls(const char *name)
{
        return strcmp(name, "POLL") == 0 || strcmp(name, "snooze") == 0;
}

/* The states deeper than `state`, as the bits of a mask. */
static inline uint16_t idle_table_deeper(const IdleTable *table, int state)
{
        unsigned all = (1u << table->n_states) - 1, upto = (2u << state) - 1;

        return (uint16_t)(all & ~upto);
}

#endif
