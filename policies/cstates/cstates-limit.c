/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From what people request to a state of each CPU: step 2.
 */
#include <math.h>
#include <string.h>

#include "cstates/cstates.h"
#include "words.h"

static bool time_parse(const char *text, double *ret_us)
{
        static const Unit units[] = { { "us", 1 }, { "ms", 1e3 }, { "s", 1e6 }, { NULL, 0 } };

        if (text[0] == '0' && text[1] == '\0') {
                *ret_us = 0;
                return true;
        }
        return word_to_number(text, units, ret_us);
}

/* Names begin with a letter, so that a mistyped time is not taken for one. */
bool limit_is_sound(const char *text)
{
        double latency_us;
        char first = *text;

        if (first == '\0' || time_parse(text, &latency_us))
                return true;
        if (!((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z')))
                return false;
        for (; *text; text++)
                if (*text < ' ' || *text > '~')
                        return false;
        return true;
}

/* The deepest state of this name, -1 if the CPU has none. */
static int find_name(const IdleTable *table, const char *name)
{
        for (int i = table->n_states; i-- > 0;)
                if (word_equal(table->states[i].name, name))
                        return i;
        return -1;
}

/* The longest exit latency of the states of this name, -1 if no CPU has one. */
static double latency_of_name(const PolicyInput *input, const char *name)
{
        double latency_us = -1;

        CPUSET_FOREACH(cpu, &input->topology->online) {
                int state = find_name(&input->idle[cpu], name);

                if (state >= 0)
                        latency_us = fmax(latency_us,
                                          input->idle[cpu].states[state].exit_latency_us);
        }
        return latency_us;
}

Limit limit_read(const PolicyInput *input, const CstatesOptions *options)
{
        Limit limit = { .text = options->deepest, .latency_us = -1 };

        limit.is_time = time_parse(limit.text, &limit.latency_us);
        if (*limit.text && !limit.is_time && input->idle)
                limit.latency_us = latency_of_name(input, limit.text);
        return limit;
}

/* The deepest state whose name has a number that is not higher than that of `name`, -1: none. */
static int find_number(const IdleTable *table, const char *name)
{
        int most = word_to_c_number(name);

        for (int i = table->n_states; most >= 0 && i-- > 0;) {
                int number = word_to_c_number(table->states[i].name);

                if (number >= 0 && number <= most)
                        return i;
        }
        return -1;
}

static int deepest_within(const IdleTable *table, double latency_us)
{
        return idle_table_deepest(table,
                                  latency_us < UINT32_MAX ? (uint32_t)latency_us : UINT32_MAX);
}

int limit_resolve(const Limit *limit, const IdleTable *table, LimitKind *ret_kind)
{
        int state;

        *ret_kind = LIMIT_NONE;
        if (!*limit->text)
                return table->n_states - 1;
        if (limit->is_time) {
                state = deepest_within(table, limit->latency_us);
                *ret_kind = table->states[state].exit_latency_us <= limit->latency_us ? LIMIT_TIME
                                                                                      : LIMIT_SHORT;
                return state;
        }
        state = find_name(table, limit->text);
        *ret_kind = LIMIT_NAME;
        if (state >= 0)
                return state;
        *ret_kind = LIMIT_ELSEWHERE;
        if (limit->latency_us >= 0)
                return deepest_within(table, limit->latency_us);
        state = find_number(table, limit->text);
        *ret_kind = state >= 0 ? LIMIT_NUMBER : LIMIT_UNKNOWN;
        return state >= 0 ? state : table->n_states - 1;
}

uint16_t limit_forbids(const Limit *limit, LimitKind kind, const IdleTable *table, int state)
{
        uint16_t forbidden = idle_table_deeper(table, state);

        for (int i = 0; i < state; i++)
                if (kind == LIMIT_TIME && table->states[i].exit_latency_us > limit->latency_us)
                        forbidden |= (uint16_t)(1u << i);
        return forbidden;
}

/* What the limit lacks on this machine; NULL: nothing. */
static const char *explain_unmet(const Limit *limit, const PolicyInput *machine)
{
        bool has_states = false, has_limit = false;

        if (!*limit->text)
                return NULL;
        CPUSET_FOREACH(cpu, &machine->topology->online) {
                LimitKind kind = LIMIT_UNKNOWN;

                if (!machine->idle || machine->idle[cpu].n_states == 0)
                        continue;
                has_states = true;
                limit_resolve(limit, &machine->idle[cpu], &kind);
                has_limit |= kind != LIMIT_UNKNOWN;
        }
        if (!has_states)
                return "has no effect: this machine has no idle states";
        return has_limit ? NULL
                         : "is the name of no idle state of this machine, so there is no limit; "
                           "expected a time, such as 50us, or the name of a state";
}

int cstates_unmet(const void *options, const PolicyInput *machine, Unmet *ret_unmet, int max)
{
        Limit limit = limit_read(machine, options);
        const char *text = explain_unmet(&limit, machine);

        if (!text || max < 1)
                return 0;
        ret_unmet[0].key = "DeepestState";
        memcpy(ret_unmet[0].text, text, strlen(text) + 1);
        return 1;
}
