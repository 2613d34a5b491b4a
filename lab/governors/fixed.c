/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Always the same state: what a limit on idle states costs, and what the deepest would save.
 *
 * 1. Take the state given. There must be one.
 * 2. While it is off or its exit latency is above the limit, take the next shallower one.
 * 3. If none is left take the shallowest enabled state, else state 0.
 */
#include "governors/governor.h"

typedef struct FixedOptions {
        uint64_t state;
} FixedOptions;

typedef struct Fixed {
        int state;
} Fixed;

static const Setting fixed_settings[] = {
        /* The index of the state to enter */
        { "fixed", "state", SETTING_COUNT, offsetof(FixedOptions, state), "0", 0,
          IDLE_STATES_MAX - 1 },
        { 0 },
};

static const char *fixed_check(const void *options, const StateTable *table)
{
        const FixedOptions *fixed = options;

        return (int)fixed->state < table->n ? NULL : "state is not a state of the table";
}

static void fixed_init(void *state, const StateTable *table, const void *options, int cpu)
{
        const FixedOptions *fixed = options;

        ((Fixed *)state)->state = (int)fixed->state;
}

static int fixed_select(void *state, const StateTable *table, const Period *period)
{
        for (int i = ((Fixed *)state)->state; i >= 0; i--)
                if (!table->states[i].off && table->states[i].latency_ns <= period->limit_ns)
                        return i;
        return state_table_shallowest(table);
}

const Governor governor_fixed = {
        .name = "fixed",
        .settings = fixed_settings,
        .options_size = sizeof(FixedOptions),
        .state_size = sizeof(Fixed),
        .check = fixed_check,
        .init = fixed_init,
        .select = fixed_select,
};
