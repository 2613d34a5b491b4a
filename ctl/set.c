/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl set: options changed while the daemon runs, or with --save in the configuration's files,
 * all of them or none.
 *
 * The daemon takes one option at a time and refuses what contradicts another, so several are tried
 * in whatever order they fit in. If some fit in none, those that were set are taken back.
 */
#include <string.h>

#include "base/cpuset-text.h"
#include "client.h"
#include "facts.h"
#include "set.h"

static bool save;

static int take_save(Ctl *ctl, const char *text)
{
        save = true;
        return EXIT_FINE;
}

const VerbOption set_options[] = {
        { "save", NULL, "write a drop-in that outlives the daemon, and reload", take_save },
        { 0 },
};

typedef struct Change {
        const char *section;
        char *key;
        const char *value;  /* "": back to the file's */
        const char *former; /* set at run time before; "": it was the file's */
        bool done;
        char *error;
} Change;

static void change_clear(gpointer data)
{
        Change *change = data;

        g_free(change->key);
        g_free(change->error);
}

static int set_option(const Ctl *ctl, const Change *change, const char *value, char **ret_error)
{
        const char *const arguments[] = { change->section, change->key, value, NULL };

        return client_call(ctl->client, "SetOption", arguments, NULL, ret_error);
}

/* The KEY=VALUE arguments. NULL after a message if one is none. */
static GArray *parse_changes(const Ctl *ctl, int *ret_status)
{
        g_autoptr(GArray) changes = g_array_new(FALSE, TRUE, sizeof(Change));

        g_array_set_clear_func(changes, change_clear);
        for (int i = 1; i < ctl->n_args; i++) {
                const char *equals = strchr(ctl->args[i], '=');
                Change change = { .section = ctl->args[0], .former = "" };

                if (!equals || equals == ctl->args[i]) {
                        *ret_status = complain_usage(NULL, "set: found \"%s\", expected KEY=VALUE",
                                                     ctl->args[i]);
                        return NULL;
                }
                change.key = g_strndup(ctl->args[i], (gsize)(equals - ctl->args[i]));
                change.value = equals + 1;
                g_array_append_val(changes, change);
        }
        return g_steal_pointer(&changes);
}

/* Notes what is set at run time now. */
static void note_former(GArray *changes, json_object *settings)
{
        json_object *row;

        JSON_FOREACH(row, settings)
                for (guint i = 0; i < changes->len; i++) {
                        Change *change = &g_array_index(changes, Change, i);

                        if (json_true(row, "runtime") &&
                            g_str_equal(json_text(row, "section"), change->section) &&
                            g_str_equal(json_text(row, "key"), change->key))
                                change->former = json_text(row, "value");
                }
}

/* Tries what is not done yet. Returns how many were. */
static int try_changes(const Ctl *ctl, GArray *changes)
{
        int done = 0;

        for (guint i = 0; i < changes->len; i++) {
                Change *change = &g_array_index(changes, Change, i);

                if (change->done)
                        continue;
                g_clear_pointer(&change->error, g_free);
                change->done = set_option(ctl, change, change->value, &change->error) >= 0;
                done += change->done;
        }
        return done;
}

/* The first that could not be done, NULL if all are. */
static const Change *first_failed(const GArray *changes)
{
        for (guint i = 0; i < changes->len; i++)
                if (!g_array_index(changes, Change, i).done)
                        return &g_array_index(changes, Change, i);
        return NULL;
}

/* Sets back what was done, again in whatever order it fits in. */
static void take_back(const Ctl *ctl, GArray *changes)
{
        bool progress = true;

        while (progress) {
                progress = false;
                for (guint i = 0; i < changes->len; i++) {
                        Change *change = &g_array_index(changes, Change, i);
                        g_autofree char *error = NULL;

                        if (!change->done || set_option(ctl, change, change->former, &error) < 0)
                                continue;
                        change->done = false;
                        progress = true;
                }
        }
        for (guint i = 0; i < changes->len; i++)
                if (g_array_index(changes, Change, i).done)
                        complain("failed to restore %s", g_array_index(changes, Change, i).key);
}

/* The CPUs of the idle mask that have no effect, as a new string: "" if all are online, or if the
 * option is another, or not set. */
static char *not_online(const Ctl *ctl, const Change *change)
{
        CpuSet mask, online;

        if (!g_str_equal(ctl->args[0], "userspace") || !g_str_equal(change->key, "IdleMask") ||
            cpuset_parse(change->value, &mask) < 0 ||
            cpuset_parse(json_text(client_manager(ctl->client), "Online"), &online) < 0)
                return g_strdup("");
        cpuset_subtract(&mask, &online);
        return cpuset_format(&mask);
}

static json_object *answer_changes(Ctl *ctl, const GArray *changes)
{
        json_object *answer = answer_new(ctl), *set = json_object_new_array();

        for (guint i = 0; i < changes->len; i++) {
                const Change *change = &g_array_index(changes, Change, i);
                json_object *object = json_object_new_object();
                g_autofree char *absent = not_online(ctl, change);

                json_put_text(object, "section", ctl->args[0]);
                json_put_text(object, "key", change->key);
                json_put_text_any(object, "value", change->value);
                json_put_text_any(object, "not_online", absent);
                json_object_array_add(set, object);
        }
        json_put(answer, "set", set);
        return answer;
}

/* As set_ask(), with --save. */
static json_object *save_changes(Ctl *ctl, const GArray *changes, int *ret_status)
{
        g_autofree SavedValue *values = g_new0(SavedValue, changes->len);
        g_autofree char *path = NULL;
        json_object *answer;

        for (guint i = 0; i < changes->len; i++) {
                const Change *change = &g_array_index(changes, Change, i);

                values[i] = (SavedValue){ change->key, change->value };
        }
        *ret_status = settings_save(ctl, ctl->args[0], values, changes->len, &path);
        if (*ret_status != EXIT_FINE)
                return NULL;
        answer = answer_changes(ctl, changes);
        json_put_text(answer, "saved_in", path);
        json_put(answer, "hidden", settings_hidden(ctl, ctl->args[0], values, changes->len, path));
        return answer;
}

/* All of them or none. EXIT_FAILED after a message. */
static int make_changes(const Ctl *ctl, GArray *changes)
{
        g_autoptr(json_object) settings = NULL;
        g_autofree char *error = NULL;
        const Change *failed;

        if (changes->len > 1 &&
            client_call(ctl->client, "GetSettings", NULL, &settings, &error) < 0)
                return complain("%s", error);
        note_former(changes, settings);
        while (try_changes(ctl, changes) > 0)
                continue;
        failed = first_failed(changes);
        if (!failed)
                return EXIT_FINE;
        complain("%s%s", failed->error, changes->len > 1 ? "; nothing was changed" : "");
        take_back(ctl, changes);
        return EXIT_FAILED;
}

int settings_set(const Ctl *ctl, const char *section, const SavedValue *values, guint n)
{
        g_autoptr(GArray) changes = g_array_new(FALSE, TRUE, sizeof(Change));

        g_array_set_clear_func(changes, change_clear);
        for (guint i = 0; i < n; i++) {
                Change change = { .section = section,
                                  .key = g_strdup(values[i].key),
                                  .value = values[i].value,
                                  .former = "" };

                g_array_append_val(changes, change);
        }
        return make_changes(ctl, changes);
}

json_object *set_ask(Ctl *ctl, int *ret_status)
{
        g_autoptr(GArray) changes = parse_changes(ctl, ret_status);

        if (!changes)
                return NULL;
        if (save)
                return save_changes(ctl, changes, ret_status);
        *ret_status = make_changes(ctl, changes);
        return *ret_status == EXIT_FINE ? answer_changes(ctl, changes) : NULL;
}

void set_show(const Ctl *ctl, json_object *answer)
{
        const Screen *screen = &ctl->screen;
        json_object *set = json_get(answer, "set"), *row;
        json_object *hidden = json_get(answer, "hidden");

        if (json_get(answer, "saved_in")) {
                answer_show_daemon(ctl, answer);
                screen_line(screen, STYLE_GOOD, "saved in %s", json_text(answer, "saved_in"));
                for (size_t i = 0; i < json_length(hidden); i++)
                        screen_line(screen, STYLE_WARN, "%s, which is stronger",
                                    json_element_text(hidden, i));
                return;
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
}
