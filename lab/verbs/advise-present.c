/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is in effect of the options and idle states that advice is about.
 */
#include "advise-present.h"

#include <stdio.h>

#include "base/number.h"
#include "cli/client.h"
#include "sense/sensor.h"

/* The states that idled itself switched off on any CPU, as the bits of a mask. */
static unsigned find_own(const Ctl *ctl)
{
        json_object *knobs = json_get(client_manager(ctl->client), "Knobs"), *row;
        unsigned own = 0;

        JSON_FOREACH(row, knobs) {
                int cpu, state, end = 0;

                if (sscanf(json_element_text(row, 1), "cpu%d/cpuidle/state%d/disable%n", &cpu,
                           &state, &end) == 2 &&
                    end > 0 && state >= 0 && state < IDLE_STATES_MAX &&
                    g_str_equal(json_element_text(row, 2), "0"))
                        own |= 1u << state;
        }
        return own;
}

void present_switch_own_on(const Ctl *ctl, StateTable *table)
{
        unsigned own = find_own(ctl);

        for (int i = 0; i < table->n; i++)
                if (own & 1u << i)
                        table->states[i].off = false;
}

json_object *present_setting(const Ctl *ctl, const char *key)
{
        g_autoptr(json_object) settings = NULL;
        g_autofree char *error = NULL;
        json_object *row;

        if (client_call(ctl->client, "GetSettings", "", NULL, &settings, &error) < 0)
                return NULL;
        JSON_FOREACH(row, settings)
                if (g_str_equal(json_text(row, "section"), ADVISE_SECTION) &&
                    g_str_equal(json_text(row, "key"), key))
                        return json_object_get(row);
        return NULL;
}

/* What DeepestState= permits CPU 0 with these states. */
static int64_t limit_now(const Ctl *ctl, const IdleState *states, int n)
{
        g_autoptr(json_object) setting = present_setting(ctl, "DeepestState");
        const char *text = json_text(setting, "value");
        int64_t limit_ns = NO_LATENCY_LIMIT;
        uint64_t usec;

        if (!*text)
                return limit_ns;
        if (duration_parse(text, &usec) == 0)
                return (int64_t)MIN(usec, UINT32_MAX) * 1000;
        for (int i = 0; i < n; i++)
                if (g_ascii_strcasecmp(states[i].name, text) == 0)
                        limit_ns = states[i].exit_latency_us * INT64_C(1000);
        return limit_ns;
}

/* What idled switched off follows from its options: it does so for a while with UtilizationAware=
 * and History=. */
int present_deepest(const Ctl *ctl, const StateTable *table)
{
        IdleState states[IDLE_STATES_MAX];
        int found = idle_states_read(ctl->root, 0, states), fits = 0;
        int n = CLAMP(found, 0, IDLE_STATES_MAX), deepest = n - 1;
        int64_t limit_ns = limit_now(ctl, states, n);
        unsigned own = find_own(ctl);

        while (deepest > 0 && !(own & 1u << deepest) && !idle_state_enabled(ctl->root, 0, deepest))
                deepest--;
        if (deepest < n - 1)
                limit_ns = MIN(limit_ns, states[deepest].exit_latency_us * INT64_C(1000));
        for (int i = 0; i < table->n; i++)
                if (!table->states[i].off && table->states[i].latency_ns <= limit_ns)
                        fits = i;
        return fits;
}

bool present_is_limited(const Ctl *ctl)
{
        g_autoptr(json_object) setting = present_setting(ctl, "DeepestState");

        return *json_text(setting, "value") && !json_true(setting, "runtime");
}

bool present_is(const Ctl *ctl, const char *key, const char *value)
{
        g_autoptr(json_object) setting = present_setting(ctl, key);

        return g_str_equal(json_text(setting, "value"), value);
}

bool present_is_set(const Ctl *ctl, const char *key)
{
        g_autoptr(json_object) setting = present_setting(ctl, key);

        return setting && !g_str_equal(json_text(setting, "source"), "default");
}
