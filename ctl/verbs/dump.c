/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl status --dump: everything that idled knows in one document, for a report; or the bare
 * values of all knobs, for a comparison.
 */
#include <stdio.h>

#include "base/file.h"
#include "cli/client.h"
#include "cpus.h"
#include "cli/facts.h"
#include "knob-values.h"
#include "cli/offline.h"
#include "status.h"
#include "verbs.h"

static bool all, knobs;

const VerbOption dump_options[] = {
        { "dump", NULL, "print all values, for a report", .flag = &all },
        { "knobs", NULL, "print PATH<TAB>VALUE of all that idled could change", .flag = &knobs },
        { 0 },
};

bool dump_asked(void)
{
        return all || knobs;
}

static void put_file(const Ctl *ctl, json_object *answer, const char *key, const char *path)
{
        g_autofree char *text = NULL;

        file_read(ctl->root, path, &text);
        json_put_text(answer, key, text);
}

/* So many of the latest changes. */
#define CHANGES 32

/* What a query method answers; null without the daemon. */
static void put_answer(Ctl *ctl, json_object *answer, const char *key, const char *method)
{
        const ClientArgument latest[] = { { .t = 0 }, { .u = CHANGES } };
        bool is_history = g_str_equal(method, "History");
        g_autofree char *error = NULL;
        json_object *found = NULL;

        client_call_typed(ctl->client, method, is_history ? "tu" : "", latest, &found, &error);
        json_put(answer, key, found);
}

json_object *dump_ask(Ctl *ctl, int *ret_status)
{
        g_autoptr(json_object) facts = NULL;
        json_object *answer;

        if (knobs)
                return knob_values(ctl);
        facts = facts_get(ctl);
        answer = answer_new(ctl);
        json_put_text(answer, "idlectl_version", IDLED_VERSION);
        put_file(ctl, answer, "kernel", "proc/sys/kernel/osrelease");
        put_file(ctl, answer, "kernel_version", "proc/version");
        put_file(ctl, answer, "idle_driver", "sys/devices/system/cpu/cpuidle/current_driver");
        put_file(ctl, answer, "idle_governor", "sys/devices/system/cpu/cpuidle/current_governor");
        json_put_same(answer, "manager", facts, "Manager");
        json_put_same(answer, "policies", facts, "Policies");
        json_put_same(answer, "energy", facts, "Energy");
        json_put(answer, "cpus", cpus_describe(facts));
        put_answer(ctl, answer, "explain", "Explain");
        put_answer(ctl, answer, "history", "History");
        put_answer(ctl, answer, "verify", "Verify");
        put_answer(ctl, answer, "settings_in_force", "GetSettings");
        json_put(answer, "configuration", offline_config(ctl, NULL));
        json_put(answer, "knob_values", knob_values(ctl));
        return answer;
}

/* "PATH<TAB>VALUE" lines. Paths and values are the kernel's, but a line is a line. */
static void show_knobs(json_object *answer)
{
        json_object_object_foreach(answer, path, value)
        {
                g_autofree char *name = g_strescape(path, NULL);
                const char *text = value ? json_object_get_string(value) : "(unreadable)";
                g_autofree char *clean = g_strescape(text, NULL);

                printf("%s\t%s\n", name, clean);
        }
}

static bool is_simple(json_object *value)
{
        return !json_object_is_type(value, json_type_object) &&
               !json_object_is_type(value, json_type_array);
}

static void show_value(const Screen *screen, const char *key, json_object *value, int depth);

static void show_members(const Screen *screen, json_object *value, int depth)
{
        json_object *element;

        if (json_object_is_type(value, json_type_object)) {
                json_object_object_foreach(value, key, member)
                {
                        show_value(screen, key, member, depth);
                }
        }
        JSON_FOREACH(element, value)
                show_value(screen, "-", element, depth);
}

/* An array of simple values stands in one line. */
static bool is_short(json_object *value)
{
        json_object *element;

        if (!json_object_is_type(value, json_type_array))
                return is_simple(value);
        JSON_FOREACH(element, value)
                if (!is_simple(element))
                        return false;
        return true;
}

static void show_value(const Screen *screen, const char *key, json_object *value, int depth)
{
        const char *text = value ? json_object_to_json_string_ext(
                                           value,
                                           JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)
                                 : "-";
        const char *separator = g_str_equal(key, "-") ? " " : ": ";

        if (json_object_is_type(value, json_type_string))
                text = json_object_get_string(value);
        if (!is_short(value)) {
                screen_line(screen, STYLE_TITLE, "%*s%s%s", depth * 2, "", key,
                            g_str_equal(key, "-") ? "" : ":");
                show_members(screen, value, depth + 1);
                return;
        }
        screen_line(screen, STYLE_PLAIN, "%*s%s%s%s", depth * 2, "", key, separator, text);
}

void dump_show(const Ctl *ctl, json_object *answer)
{
        if (knobs) {
                show_knobs(answer);
                return;
        }
        answer_show_daemon(ctl, answer);
        show_members(&ctl->screen, answer, 0);
}

const Verb verb_dump = {
        .name = "dump",
        .renamed = "status --dump",
        .arguments = "",
        .summary = "Print all values, for a report",
        .options = { dump_options },
        .ask = dump_ask,
        .show = dump_show,
};
