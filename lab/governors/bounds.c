/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Governors that no kernel has, to compare others with.
 *
 * omniscient: knows the length of the period, and chooses the deepest enabled state that pays
 * within it and is within the latency limit. No governor needs less energy, as long as deeper
 * states need less power.
 *
 * timer-only: the same, as if every period lasted until the next timer.
 */
#include "governors/governors.h"

static int omniscient_select(void *state, const StateTable *table, const Period *period)
{
        return state_table_ideal(table, period->idle_ns, period->limit_ns);
}

static int timer_only_select(void *state, const StateTable *table, const Period *period)
{
        return state_table_ideal(table, period->sleep_ns, period->limit_ns);
}

const Governor governor_omniscient = {
        .name = "omniscient",
        .select = omniscient_select,
};

const Governor governor_timer_only = {
        .name = "timer-only",
        .select = timer_only_select,
};
