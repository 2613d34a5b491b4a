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
                        json_put_text_any(object, keys[i], json_element_text(row, i));
                json_object_array_add(answer, object);
        }
        return answer;
}

static int count_ours(json_object *manager)
{
        json_object *knobs = json_get(manager, "Knobs"), *row;
        int n = 0;

        JSON_FOREACH(row, knobs)
                n += g_str_equal(json_element_text(row, 4), "ours");
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

/* True if the record `text` is of this boot: undo_open() would drop another's. */
static bool is_current(const char *text, const char *boot_id)
{
        g_autofree char *first = g_strndup(text, strcspn(text, "\n"));

        return g_str_has_suffix(first, boot_id);
}

static json_object *describe_record(const Undo *undo)
{
        json_object *answer = json_object_new_array();
        UndoEntry *const *entries;
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
        const char *root = ctl->root_path ? ctl->root_path : "/";
        g_autofree char *usual = g_build_filename(root, RUN_DIR, NULL);
        g_autofree char *text = NULL, *boot_id = NULL;
        g_autoptr(Undo) undo = NULL;
        _fd_ int run = root_open(ctl->run_path ? ctl->run_path : usual);
        int r;

        r = run < 0 ? run : file_read(run, "undo", &text);
        if (r >= 0)
                r = file_read(ctl->root, BOOT_ID, &boot_id);
        if (r >= 0 && is_current(text, boot_id))
                r = undo_open(run, boot_id, &undo);
        if (r < 0 && r != -ENOENT)
                return r;
        *ret_record = undo ? describe_record(undo) : json_object_new_array();
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
        size_t n = json_length(record);
        json_object *row;

        if (n == 0)
                screen_line(screen, STYLE_GOOD, "nothing is left to restore");
        else
                screen_line(screen, STYLE_BAD,
                            "%zu knob%s left to restore by \"idled --restore\":", n,
                            n == 1 ? " is" : "s are");
        JSON_FOREACH(row, record) {
                g_autofree char *text = g_strdup_printf("%s %s: was \"%s\"", json_text(row, "kind"),
                                                        json_text(row, "name"),
                                                        json_text(row, "original"));

                screen_sentence(screen, STYLE_PLAIN, text);
        }
}

static void show_problem(const Screen *screen, json_object *row)
{
        g_autofree char *found = json_get(row, "found")
                                         ? g_strdup_printf("\"%s\"", json_text(row, "found"))
                                         : g_strdup("nothing readable");
        g_autofree char *text = g_strdup_printf("%s %s: %s: expected \"%s\", found %s",
                                                json_text(row, "kind"), json_text(row, "name"),
                                                json_text(row, "problem"),
                                                json_text(row, "expected"), found);

        screen_sentence(screen, STYLE_BAD, text);
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
                show_problem(&ctl->screen, row);
}
