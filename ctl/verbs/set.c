/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl set: options changed while the daemon runs, or with --save in the configuration's files,
 * all of them or none.
 */
#include <string.h>

#include "base/cpuset-text.h"
#include "cli/client.h"
#include "cli/facts.h"
#include "cli/offline.h"
#include "cli/save.h"
#include "config/removed.h"
#include "verbs.h"

static bool save;

static const VerbOption set_options[] = {
        { "save", NULL, "write a drop-in that outlives the daemon, and reload", .flag = &save },
        { 0 },
};

static void value_clear(gpointer data)
{
        g_free((char *)((SavedValue *)data)->key);
}

static bool has_key(const GArray *changes, const char *key)
{
        for (guint i = 0; i < changes->len; i++)
                if (g_str_equal(g_array_index(changes, SavedValue, i).key, key))
                        return true;
        return false;
}

/* The KEY=VALUE arguments. EXIT_USAGE after a message if one is none, or a key is there twice. */
static int parse_changes(const Ctl *ctl, GArray *changes)
{
        for (int i = 1; i < ctl->n_args; i++) {
                const char *equals = strchr(ctl->args[i], '=');
                SavedValue change;
                bool twice;

                if (!equals || equals == ctl->args[i])
                        return complain_usage(NULL, "set: found \"%s\", expected KEY=VALUE",
                                              ctl->args[i]);
                change.key = g_strndup(ctl->args[i], (gsize)(equals - ctl->args[i]));
                change.value = equals + 1;
                twice = has_key(changes, change.key);
                g_array_append_val(changes, change);
                if (twice)
                        return complain_usage(NULL, "set: found %s twice, expected each key once",
                                              change.key);
        }
        return EXIT_FINE;
}

/* The CPUs of the idle mask that have no effect, as a new string: "" if all are online, or if the
 * option is another, or not set. */
static char *not_online(const Ctl *ctl, const SavedValue *change)
{
        CpuSet mask, online;

        if (!g_str_equal(ctl->args[0], "userspace") || !g_str_equal(change->key, "IdleMask") ||
            cpuset_parse(change->value, &mask) < 0 ||
            cpuset_parse(json_text(client_manager(ctl->client), "Online"), &online) < 0)
                return g_strdup("");
        cpuset_subtract(&mask, &online);
        return cpuset_format(&mask);
}

/* True if a warning says that there is no such option any more. */
static bool is_removed(const Ctl *ctl, const SavedValue *change, json_object *warnings)
{
        g_autofree char *warning = removed_warning(ctl->args[0], change->key);

        for (size_t i = 0; warning && i < json_length(warnings); i++)
                if (g_str_equal(json_element_text(warnings, i), warning))
                        return true;
        return false;
}

/* Takes the warnings. A removed option is saved all the same, but not set. */
static json_object *answer_changes(Ctl *ctl, const GArray *changes, json_object *warnings,
                                   bool saved)
{
        json_object *answer = answer_new(ctl), *set = json_object_new_array();

        for (guint i = 0; i < changes->len; i++) {
                const SavedValue *change = &g_array_index(changes, SavedValue, i);
                g_autofree char *absent = not_online(ctl, change);
                json_object *object;

                if (!saved && is_removed(ctl, change, warnings))
                        continue;
                object = json_add(set);
                json_put_text(object, "section", ctl->args[0]);
                json_put_text(object, "key", change->key);
                json_put_text_any(object, "value", change->value);
                json_put_text_any(object, "not_online", absent);
        }
        json_put(answer, "set", set);
        json_put(answer, "warnings", warnings);
        return answer;
}

/* The warnings about the drop-in, as an array of texts. */
static json_object *saved_warnings(const Ctl *ctl, const char *path)
{
        g_autoptr(json_object) offline = offline_config(ctl, NULL);
        json_object *texts = json_object_new_array(), *warning;

        JSON_FOREACH(warning, json_get(offline, "warnings"))
                if (g_str_equal(json_text(warning, "file"), path))
                        json_add_text(texts, json_text(warning, "message"));
        return texts;
}

/* As set_ask(), with --save. */
static int save_changes(Ctl *ctl, const GArray *changes, json_object **ret_answer)
{
        const SavedValue *values = (const SavedValue *)changes->data;
        g_autofree char *path = NULL;
        json_object *answer;

        if (settings_save(ctl, ctl->args[0], values, changes->len, &path) != EXIT_FINE)
                return EXIT_FAILED;
        answer = answer_changes(ctl, changes, saved_warnings(ctl, path), true);
        json_put_text(answer, "saved_in", path);
        *ret_answer = answer;
        return EXIT_FINE;
}

static int set_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(GArray) changes = g_array_new(FALSE, TRUE, sizeof(SavedValue));
        json_object *warnings = NULL;

        g_array_set_clear_func(changes, value_clear);
        if (parse_changes(ctl, changes) != EXIT_FINE)
                return EXIT_USAGE;
        if (save)
                return save_changes(ctl, changes, ret_answer);
        if (settings_set(ctl, ctl->args[0], (const SavedValue *)changes->data, changes->len,
                         &warnings) != EXIT_FINE)
                return EXIT_FAILED;
        *ret_answer = answer_changes(ctl, changes, warnings, false);
        return EXIT_FINE;
}

static void set_show(const Ctl *ctl, json_object *answer)
{
        const Screen *screen = &ctl->screen;
        json_object *set = json_get(answer, "set"), *row;
        json_object *warnings = json_get(answer, "warnings");

        if (json_get(answer, "saved_in")) {
                answer_show_daemon(ctl, answer);
                screen_line(screen, STYLE_GOOD, "saved in %s", json_text(answer, "saved_in"));
                set = NULL;
        }
        JSON_FOREACH(row, set) {
                if (json_get(row, "value"))
                        screen_line(screen, STYLE_PLAIN, "%s %s is now %s",
                                    json_text(row, "section"), json_text(row, "key"),
                                    json_text(row, "value"));
                else
                        screen_line(screen, STYLE_PLAIN, "%s %s is as configured again",
                                    json_text(row, "section"), json_text(row, "key"));
                if (json_get(row, "not_online"))
                        screen_line(screen, STYLE_WARN, "not online: %s",
                                    json_text(row, "not_online"));
        }
        for (size_t i = 0; i < json_length(warnings); i++)
                screen_sentence(screen, STYLE_WARN, json_element_text(warnings, i));
}

const Verb verb_set = {
        .name = "set",
        .arguments = "SECTION KEY=VALUE...",
        .summary = "Change options while the daemon runs",
        .help = "SECTION is a section of idled.conf or the name of a policy. An empty VALUE\n"
                "restores the value of the files. Either all options change or none. Changes "
                "are\n"
                "lost when the daemon ends, unless --save writes them to a file, as root.\n"
                "  idlectl set userspace IdleMask=2-3\n"
                "  idlectl set ondemand MinCores=2 --save",
        .options = { set_options },
        .min_args = 2,
        .max_args = INT_MAX,
        .ask = set_ask,
        .show = set_show,
};
