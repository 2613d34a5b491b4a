/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Idle states for tests of policies, from a line of text.
 */
#ifndef IDLED_TESTS_IDLE_TABLES_H
#define IDLED_TESTS_IDLE_TABLES_H

#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "model/idle-table.h"

/* "POLL:0:0 C1:2:2": name, exit latency and target residency of each state; "" none. */
static inline IdleTable idle_table_of(const char *text)
{
        g_auto(GStrv) states = g_strsplit(text, " ", -1);
        IdleTable table = { 0 };

        for (int i = 0; *text && states[i]; i++) {
                g_auto(GStrv) parts = g_strsplit(states[i], ":", -1);
                IdleState *state = &table.states[table.n_states++];

                ck_assert_int_le(table.n_states, IDLE_STATES_MAX);
                ck_assert_uint_eq(g_strv_length(parts), 3);
                g_strlcpy(state->name, parts[0], sizeof(state->name));
                state->exit_latency_us = (uint32_t)atoi(parts[1]);
                state->target_residency_us = (uint32_t)atoi(parts[2]);
        }
        return table;
}

/* Names of the states in a mask, "C3,C6". */
static inline char *idle_mask_format(const IdleTable *table, uint16_t mask)
{
        GString *text = g_string_new(NULL);

        for (int i = 0; i < table->n_states; i++)
                if (mask >> i & 1)
                        g_string_append_printf(text, "%s%s", text->len ? "," : "",
                                               table->states[i].name);
        ck_assert_int_eq(mask >> table->n_states, 0);
        return g_string_free(text, FALSE);
}

#endif
