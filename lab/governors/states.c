/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables of idle states: text into figures, with the entry energies that follow from them, and the
 * state that would have been right for a period.
 */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "governors/states.h"

#define NS_PER_US    1000
#define TIME_US_MAX  UINT32_MAX /* as the kernel's fields for microseconds */
#define POWER_MW_MAX 1e9

/* Where the parser is, for messages. */
typedef struct Place {
        const char *name;
        int line, column;
        char **ret_error;
} Place;

/* -EINVAL, with "name:line:column: " before the message. */
static int __attribute__((format(printf, 2, 3))) wrong(const Place *at, const char *format, ...)
{
        g_autofree char *text = NULL;
        va_list list;

        va_start(list, format);
        text = g_strdup_vprintf(format, list);
        va_end(list);
        *at->ret_error = g_strdup_printf("%s:%d:%d: %s", at->name, at->line, at->column, text);
        return -EINVAL;
}

static int parse_flags(const Place *at, const char *text, ReplayState *state)
{
        g_auto(GStrv) flags = g_strsplit(text, ",", -1);

        for (int i = 0; flags[i]; i++) {
                if (strcmp(flags[i], "poll") == 0)
                        state->polling = true;
                else if (strcmp(flags[i], "off") == 0)
                        state->off = true;
                else if (*flags[i])
                        return wrong(at, "found '%s', expected poll, off or poll,off", text);
        }
        return 0;
}

static int parse_field(const Place *at, int field, const char *text, ReplayState *ret_state)
{
        uint64_t us;

        switch (field) {
        case 0:
                if (strlen(text) >= sizeof(ret_state->name) || !g_utf8_validate(text, -1, NULL))
                        return wrong(at, "expected a name of at most %zu bytes of UTF-8",
                                     sizeof(ret_state->name) - 1);
                g_strlcpy(ret_state->name, text, sizeof(ret_state->name));
                return 0;
        case 1:
        case 2:
                if (u64_parse(text, &us) < 0 || us > TIME_US_MAX)
                        return wrong(at, "found '%s', expected %s in whole microseconds, 0 to %u",
                                     text, field == 1 ? "the exit latency" : "the target residency",
                                     TIME_US_MAX);
                *(field == 1 ? &ret_state->latency_ns : &ret_state->residency_ns) = (int64_t)us *
                                                                                    NS_PER_US;
                return 0;
        case 3:
                ret_state->power_mw = NAN;
                if (strcmp(text, "-") != 0 && (real_parse(text, &ret_state->power_mw) < 0 ||
                                               ret_state->power_mw > POWER_MW_MAX))
                        return wrong(at,
                                     "found '%s', expected the power in mW, or '-' if it is not "
                                     "known",
                                     text);
                return 0;
        case 4:
                return parse_flags(at, text, ret_state);
        }
        return wrong(at, "found '%s', expected the end of the line", text);
}

/* Fields are separated by blanks. 0: the line has no state; 1: it has one. */
static int parse_line(Place *at, const char *line, ReplayState *ret_state)
{
        static const char *const needed[] = { "a name", "an exit latency", "a target residency",
                                              "a power" };
        const char *c = line;
        int field = 0;

        for (;; field++) {
                g_autofree char *text = NULL;
                size_t length;
                int r;

                c += strspn(c, " \t\r");
                at->column = (int)(c - line) + 1;
                length = strcspn(c, " \t\r#");
                if (length == 0)
                        break;
                text = g_strndup(c, length);
                r = parse_field(at, field, text, ret_state);
                if (r < 0)
                        return r;
                c += length;
        }
        if (field > 0 && field < (int)G_N_ELEMENTS(needed))
                return wrong(at, "the line ends, expected %s", needed[field]);
        return field > 0;
}

void state_table_price(StateTable *table)
{
        double sum = 0;

        table->has_power = true;
        for (int i = 0; i < table->n; i++) {
                ReplayState *state = &table->states[i];

                if (i > 0)
                        sum += (state[-1].power_mw - state->power_mw) * (double)state->residency_ns;
                state->entry_mw_ns = sum;
                table->has_power = table->has_power && !isnan(state->power_mw);
        }
}

int state_table_parse(const char *text, const char *name, StateTable *ret_table, char **ret_error)
{
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        Place at = { .name = name, .ret_error = ret_error };
        StateTable table = { 0 };

        for (at.line = 1; lines[at.line - 1]; at.line++) {
                ReplayState state = { 0 };
                int r = parse_line(&at, lines[at.line - 1], &state);

                if (r < 0)
                        return r;
                if (r == 0)
                        continue;
                at.column = 1;
                if (table.n == IDLE_STATES_MAX)
                        return wrong(&at, "found one more state, expected at most %d",
                                     IDLE_STATES_MAX);
                /* Depth is by position: another order would be nonsense to every governor. */
                if (table.n > 0 && state.residency_ns < table.states[table.n - 1].residency_ns)
                        return wrong(&at,
                                     "%s has a shorter target residency than %s, expected the "
                                     "shallowest state first",
                                     state.name, table.states[table.n - 1].name);
                table.states[table.n++] = state;
        }
        if (table.n == 0) {
                at = (Place){ name, 1, 1, ret_error };
                return wrong(&at,
                             "found no state, expected 1 to %d, each a line with name, exit "
                             "latency, target residency and power",
                             IDLE_STATES_MAX);
        }
        state_table_price(&table);
        *ret_table = table;
        return 0;
}

int state_table_next(const StateTable *table, int state, int step)
{
        for (int i = state + step; i >= 0 && i < table->n; i += step)
                if (!table->states[i].off)
                        return i;
        return -1;
}

int state_table_shallowest(const StateTable *table)
{
        return MAX(state_table_next(table, -1, 1), 0);
}

int state_table_ideal(const StateTable *table, int64_t idle_ns, int64_t limit_ns)
{
        for (int i = table->n; i-- > 0;) {
                const ReplayState *state = &table->states[i];

                if (!state->off && state->residency_ns <= idle_ns && state->latency_ns <= limit_ns)
                        return i;
        }
        return state_table_shallowest(table);
}

int state_table_shallower(const StateTable *table, int state, int64_t length_ns, bool no_polling)
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

int state_table_fit_tick(const StateTable *table, int state, int first, int64_t length_ns,
                         int64_t tick_ns)
{
        const ReplayState *at = &table->states[state];

        if (!at->polling && length_ns >= TICK_NS)
                return state;
        if (state > first && at->residency_ns > tick_ns)
                return state_table_shallower(table, state, tick_ns, false);
        return state;
}
