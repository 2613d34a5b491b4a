/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What idled limits a CPU to, for answers and for a column of idlectl cpus.
 */
#include "cpus.h"

#include <stdbool.h>
#include <string.h>

static void put_number(json_object *limits, const char *key, json_object *cpu, const char *property,
                       int64_t none)
{
        int64_t value = json_int(cpu, property, none);

        json_put(limits, key, value == none ? NULL : json_object_new_int64(value));
}

json_object *cpus_describe_limits(json_object *cpu)
{
        json_object *limits, *states = json_get(cpu, "DisabledStates");

        if (!states)
                return NULL;
        limits = json_object_new_object();
        put_number(limits, "latency_us", cpu, "LatencyLimit", -1);
        json_put(limits, "disabled_states", json_object_get(states));
        json_put_text_any(limits, "governor", json_text(cpu, "Governor"));
        json_put_text_any(limits, "energy_preference", json_text(cpu, "EnergyPreference"));
        put_number(limits, "energy_bias", cpu, "EnergyBias", -1);
        put_number(limits, "boost", cpu, "Boost", -1);
        put_number(limits, "min_khz", cpu, "MinFrequency", 0);
        put_number(limits, "max_khz", cpu, "MaxFrequency", 0);
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
