/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What idled limits a CPU to, for answers and for a column of idlectl cpus.
 */
#include "cpus.h"

#include <stdbool.h>
#include <string.h>

json_object *cpus_describe_limits(json_object *cpu)
{
        static const char *const keys[] = { "governor", "energy_preference", "energy_bias",
                                            "boost",    "min_khz",           "max_khz" };
        json_object *limits, *has = json_get(cpu, "Limits"), *states;

        if (!has)
                return NULL;
        limits = json_object_new_object();
        json_put_same(limits, "latency_us", has, "latency_us");
        states = json_get(has, "disabled_states");
        json_put(limits, "disabled_states",
                 states ? json_object_get(states) : json_object_new_array());
        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                json_put_same(limits, keys[i], has, keys[i]);
        return limits;
}

static void add_word(GString *text, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void add_word(GString *text, const char *format, ...)
{
        va_list args;

        if (text->len > 0)
                g_string_append_c(text, ' ');
        va_start(args, format);
        g_string_append_vprintf(text, format, args);
        va_end(args);
}

char *cpus_limits_text(json_object *limits)
{
        GString *text = g_string_new(NULL);
        json_object *states = json_get(limits, "disabled_states"), *state;

        if (json_get(limits, "latency_us"))
                add_word(text, "%" G_GINT64_FORMAT "us", json_int(limits, "latency_us", 0));
        JSON_FOREACH(state, states)
                add_word(text, "-%s", json_object_get_string(state));
        if (json_get(limits, "governor"))
                add_word(text, "%s", json_text(limits, "governor"));
        if (json_get(limits, "energy_preference"))
                add_word(text, "EPP:%s", json_text(limits, "energy_preference"));
        if (json_get(limits, "energy_bias"))
                add_word(text, "EPB:%" G_GINT64_FORMAT, json_int(limits, "energy_bias", 0));
        if (json_get(limits, "min_khz"))
                add_word(text, ">=%" G_GINT64_FORMAT "MHz", json_int(limits, "min_khz", 0) / 1000);
        if (json_get(limits, "max_khz"))
                add_word(text, "<=%" G_GINT64_FORMAT "MHz", json_int(limits, "max_khz", 0) / 1000);
        if (json_get(limits, "boost"))
                add_word(text, "%sboost", json_int(limits, "boost", 0) ? "" : "no-");
        return g_string_free(text, FALSE);
}

bool cpus_have_limits(json_object *cpus)
{
        json_object *cpu;

        JSON_FOREACH(cpu, cpus) {
                g_autofree char *text = cpus_limits_text(json_get(cpu, "limits"));

                if (*text)
                        return true;
        }
        return false;
}
