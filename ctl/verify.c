/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl verify: is every knob as idled left it? Without the daemon: is anything left that it
 * changed and did not give back?
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "act/undo.h"
#include "base/file.h"
#include "client.h"
#include "facts.h"

#define BOOT_ID "proc/sys/kernel/random/boot_id"

static json_object *describe_problems(json_object *told)
{
        static const char *const keys[] = { "kind", "name", "expected", "found", "problem" };
        json_object *answer = json_object_new_array(), *row;

        JSON_FOREACH(row, told) {
                json_object *object = json_object_new_object();

                for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                        json_put_text_any(
                                object, keys[i],
                                json_object_get_string(json_object_array_get_idx(row, i)));
                json_object_array_add(answer, object);
        }
        return answer;
}

static int count_ours(json_object *manager)
{
        json_object *knobs = json_get(manager, "Knobs"), *row;
        int n = 0;

        JSON_FOREACH(row, knobs) {
                json_object *state = json_object_array_get_idx(row, 4);

                n += state && g_str_equal(json_object_get_string(state), "ours");
        }
        return n;
}

static json_object *ask_daemon(Ctl *ctl, int *ret_status)
{
        g_autoptr(json_object) told = NULL;
        g_autofree char *error = NULL;
        json_object *answer;

        if (client_call(ctl->client, "Verify", NULL, &told, &error) < 0) {
                *ret_status = complain("%s", error);
                return NULL;
        }
        answer = answer_new(ctl);
        json_put_bool(answer, "fine", json_length(told) == 0);
        json_put_int(answer, "knobs", count_ours(client_manager(ctl->client)));
        json_put(answer, "problems", describe_problems(told));
        json_put(answer, "to_restore", NULL);
        return answer;
}

/* True if the record is there and of this boot: undo_open() would drop another's. */
static bool is_current(int run, const char *boot_id)
{
        g_autofree char *text = NULL;
        const char *end;

        if (file_read(run, "undo", &text) < 0)
                return false;
        end = strchr(text, '\n');
        return g_str_has_suffix(text, boot_id) ||
               (end && end - text >= (long)strlen(boot_id) &&
                strncmp(end - strlen(boot_id), boot_id, strlen(boot_id)) == 0);
}

static json_object *describe_record(const Undo *undo)
{
        json_object *answer = json_object_new_array();
        const UndoEntry *const *entries;
        int n = undo_entries(undo, &entries, NULL);

        for (int i = 0; i < n; i++) {
                json_object *object = json_object_new_object();

                json_put_text(object, "kind", entries[i]->kind);
                json_put_text(object, "name", entries[i]->name);
                json_put_text(object, "original", entries[i]->found);
                json_put_text(object, "ours", entries[i]->last);
                json_object_array_add(answer, object);
        }
        return answer;
}

/* The record that a daemon left, as an array; empty if there is none. */
static int read_record(const Ctl *ctl, json_object **ret_record)
{
        g_autofree char *path = NULL, *boot_id = NULL;
        g_autoptr(Undo) undo = NULL;
        _fd_ int run = -1;
        int r;

        path = ctl->run_path
                       ? g_strdup(ctl->run_path)
                       : g_build_filename(ctl->root_path ? ctl->root_path : "/", RUN_DIR, NULL);
        run = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (run >= 0 && faccessat(run, "undo", R_OK, 0) == 0 &&
            file_read(ctl->root, BOOT_ID, &boot_id) >= 0 && is_current(run, boot_id)) {
                r = undo_open(run, boot_id, &undo);
                if (r < 0)
                        return r;
                *ret_record = describe_record(undo);
                return 0;
        }
        if ((run < 0 || faccessat(run, "undo", R_OK, 0) < 0) && errno != ENOENT)
                return -errno;
        *ret_record = json_object_new_array();
        return 0;
}

json_object *verify_ask(Ctl *ctl, int *ret_status)
{
        json_object *answer, *record = NULL;
        int r;

        if (client_manager(ctl->client)) {
                answer = ask_daemon(ctl, ret_status);
        } else {
                r = read_record(ctl, &record);
                if (r < 0) {
                        *ret_status = complain("%s, and the record of what it changed cannot be "
                                               "read: %s",
                                               client_problem(ctl->client), g_strerror(-r));
                        return NULL;
                }
                answer = answer_new(ctl);
                json_put_bool(answer, "fine", json_length(record) == 0);
                json_put(answer, "knobs", NULL);
                json_put(answer, "problems", NULL);
                json_put(answer, "to_restore", record);
        }
        if (answer && !json_true(answer, "fine"))
                *ret_status = EXIT_FAILED;
        return answer;
}

static void show_record(const Screen *screen, json_object *record)
{
        json_object *row;

        if (json_length(record) == 0)
                screen_line(screen, STYLE_GOOD, "nothing is left to restore");
        else
                screen_line(screen, STYLE_BAD,
                            "%zu knobs are left to restore by "
                            "\"idled --restore\":",
                            json_length(record));
        JSON_FOREACH(row, record)
                screen_line(screen, STYLE_PLAIN, "%s %s: was \"%s\"", json_text(row, "kind"),
                            json_text(row, "name"), json_text(row, "original"));
}

void verify_show(const Ctl *ctl, json_object *answer)
{
        json_object *problems = json_get(answer, "problems"), *row;

        answer_show_daemon(ctl, answer);
        if (!json_get(answer, "daemon")) {
                show_record(&ctl->screen, json_get(answer, "to_restore"));
                return;
        }
        if (json_true(answer, "fine"))
                screen_line(&ctl->screen, STYLE_GOOD, "all knobs as idled left them: %d",
                            (int)json_int(answer, "knobs", 0));
        JSON_FOREACH(row, problems)
                screen_line(&ctl->screen, STYLE_BAD, "%s %s: %s: expected \"%s\", found %s%s%s",
                            json_text(row, "kind"), json_text(row, "name"),
                            json_text(row, "problem"), json_text(row, "expected"),
                            json_get(row, "found") ? "\"" : "",
                            json_get(row, "found") ? json_text(row, "found") : "nothing readable",
                            json_get(row, "found") ? "\"" : "");
}
