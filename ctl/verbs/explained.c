/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the bus's dictionaries to model/explain.h.
 */
#include "explained.h"

#include <glib.h>
#include <math.h>

#include "base/cpuset-text.h"
#include "cli/screen.h"

/* One input: an array as the bus has it, or an object as idlectl's answers have it. */
static void read_input(json_object *input, Reason *reason, int i)
{
        bool is_array = json_object_is_type(input, json_type_array);

        reason->inputs[i].name = is_array ? json_element_text(input, 0) : json_text(input, "name");
        reason->inputs[i].value = is_array ? json_element_number(input, 1)
                                           : json_number(input, "value", NAN);
        reason->inputs[i].unit = is_array ? json_element_text(input, 2) : json_text(input, "unit");
}

Explanation explained_why(json_object *row)
{
        const char *unit = json_text(row, "threshold_unit");
        Explanation why = { .cause = cause_parse(json_text(row, "cause")),
                            .policy = json_text(row, "policy"),
                            .source = json_text(row, "source"),
                            .reason = {
                                    .because = json_text(row, "because"),
                                    .option = json_text(row, "option"),
                                    .threshold = json_number(row, "threshold", NAN),
                                    .threshold_unit = *unit ? unit : NULL,
                                    .effective = json_number(row, "effective", NAN),
                                    .effective_because = json_text(row, "effective_because") } };
        json_object *input;
        int n = 0;

        JSON_FOREACH(input, json_get(row, "inputs"))
                if (n < REASON_INPUTS)
                        read_input(input, &why.reason, n++);
        return why;
}

/* An active CPU has the reason of now; the history has the reason for which it was unparked. */
char *explained_cpu(json_object *row, bool wanted)
{
        double since = json_number(row, "since_usec", 0);
        g_autofree char *past = text_duration(((double)g_get_real_time() - since) / 1e6);
        Explanation why = explained_why(row);
        CpuState state = {
                .wanted = wanted,
                .parked = json_true(row, "parked"),
                .since = since > 0 ? past : NULL,
                .obstacle = json_text(row, "obstacle"),
        };

        return explain_cpu(&state, &why);
}

/* The reason for which most CPUs are active, as a new string; NULL: there is none. */
static char *most_common(json_object *explained)
{
        g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        char *best = NULL;
        guint most = 0;
        json_object *row;

        JSON_FOREACH(row, explained) {
                Explanation why = explained_why(row);
                g_autofree char *text = explain_reason(&why);
                guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, text)) + 1;

                if (*text)
                        g_hash_table_replace(counts, g_strdup(text), GUINT_TO_POINTER(n));
                if (*text && n > most) {
                        most = n;
                        g_free(best);
                        best = g_steal_pointer(&text);
                }
        }
        return best;
}

/* That it is a dry run, or why parking is not available or failed. */
static char *obstacle(json_object *manager, json_object *explained)
{
        json_object *row;

        JSON_FOREACH(row, explained)
                if (*json_text(row, "obstacle"))
                        return g_strdup_printf("%s should be parked: %s",
                                               json_text(manager, "IdleMask"),
                                               json_text(row, "obstacle"));
        return NULL;
}

char *explained_nothing_parked(json_object *manager, json_object *explained)
{
        json_object *pause = json_element(json_get(manager, "Pauses"), 0);
        CpuSet online;
        char *text;

        if (pause)
                return g_strdup_printf("paused by %s: %s", json_text(pause, "owner"),
                                       json_text(pause, "reason"));
        if (cpuset_parse(json_text(manager, "Online"), &online) == 0 && cpuset_count(&online) == 1)
                return g_strdup("the machine has one CPU");
        if (json_length(json_get(manager, "Policies")) == 0)
                return g_strdup("no policy is active: see Policies= in idled.conf(5)");
        text = obstacle(manager, explained);
        if (!text)
                text = most_common(explained);
        return text ? text : g_strdup("no policy requests it");
}
