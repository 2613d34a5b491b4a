/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl verify: is every knob as idled left it? Without the daemon: is anything left that it
 * changed and did not restore?
 */
#include "cli/client.h"
#include "cli/facts.h"
#include "left.h"
#include "verbs.h"

static json_object *describe_problems(json_object *found)
{
        static const char *const keys[] = { "kind", "name", "expected", "found", "problem" };
        json_object *answer = json_object_new_array(), *row;

        JSON_FOREACH(row, found) {
                json_object *object = json_add(answer);

                for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                        json_put_text_any(object, keys[i], json_element_text(row, i));
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

static int ask_daemon(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(json_object) found = NULL;
        json_object *answer;

        if (client_ask(ctl->client, "Verify", "", NULL, &found) != EXIT_FINE)
                return EXIT_FAILED;
        answer = answer_new(ctl);
        json_put_bool(answer, "fine", json_length(found) == 0);
        json_put_int(answer, "knobs", count_ours(client_manager(ctl->client)));
        json_put(answer, "problems", describe_problems(found));
        json_put_members(answer, NULL, "to_restore damaged_lines damaged_record");
        *ret_answer = answer;
        return EXIT_FINE;
}

static json_object *describe_record(const UndoEntries *entries)
{
        json_object *answer = json_object_new_array();

        for (const GList *link = entries->list.head; link; link = link->next) {
                const UndoEntry *entry = link->data;
                json_object *object = json_add(answer);

                json_put_text(object, "kind", entry->kind);
                json_put_text(object, "name", entry->name);
                json_put_text(object, "original", entry->found);
                json_put_text(object, "ours", entry->last);
        }
        return answer;
}

/* What there is to say without the daemon. */
static int ask_record(Ctl *ctl, json_object **ret_answer)
{
        g_autofree char *damaged = left_damaged(ctl);
        json_object *answer;
        UndoEntries entries;
        int skipped = 0, r;

        undo_entries_init(&entries);
        r = left_read(ctl, &entries, &skipped);
        if (r < 0) {
                undo_entries_done(&entries);
                return complain("%s, and its record of changes cannot be read: %s",
                                client_problem(ctl->client), g_strerror(-r));
        }
        answer = answer_new(ctl);
        json_put_bool(answer, "fine", entries.list.length == 0 && skipped == 0 && !damaged);
        json_put_members(answer, NULL, "knobs problems");
        json_put(answer, "to_restore", describe_record(&entries));
        json_put_int(answer, "damaged_lines", skipped);
        json_put_text(answer, "damaged_record", damaged);
        undo_entries_done(&entries);
        *ret_answer = answer;
        return EXIT_FINE;
}

static int verify_ask(Ctl *ctl, json_object **ret_answer)
{
        int status = client_manager(ctl->client) ? ask_daemon(ctl, ret_answer)
                                                 : ask_record(ctl, ret_answer);

        return json_true(*ret_answer, "fine") ? status : EXIT_FAILED;
}

static void show_record(const Screen *screen, json_object *answer)
{
        json_object *record = json_get(answer, "to_restore"), *row;
        int damaged = (int)json_int(answer, "damaged_lines", 0);
        const char *kept = json_text(answer, "damaged_record");
        size_t n = json_length(record);

        if (*kept)
                screen_sentencef(screen, STYLE_BAD,
                                 "%s has lines that idled could not read, and knobs may stay "
                                 "changed: set them as you want them, then remove this file",
                                 kept);
        if (damaged > 0)
                screen_line(screen, STYLE_BAD, "%d line%s not readable: see --restore in idled(8)",
                            damaged, damaged == 1 ? " of the record is" : "s of the record are");
        if (json_true(answer, "fine"))
                screen_line(screen, STYLE_GOOD, "nothing is left to restore");
        if (n > 0)
                screen_line(screen, STYLE_BAD,
                            "%zu knob%s left to restore by \"idled --restore\":", n,
                            n == 1 ? " is" : "s are");
        JSON_FOREACH(row, record)
                screen_sentencef(screen, STYLE_PLAIN, "%s %s: was \"%s\"", json_text(row, "kind"),
                                 json_text(row, "name"), json_text(row, "original"));
}

/* Without values it is not about one knob. */
static void show_problem(const Screen *screen, json_object *row)
{
        const char *mark = json_get(row, "found") ? "\"" : "";

        if (!json_get(row, "expected") && !json_get(row, "found"))
                screen_sentencef(screen, STYLE_BAD, "%s: %s", json_text(row, "kind"),
                                 json_text(row, "problem"));
        else
                screen_sentencef(screen, STYLE_BAD, "%s %s: %s: expected \"%s\", found %s%s%s",
                                 json_text(row, "kind"), json_text(row, "name"),
                                 json_text(row, "problem"), json_text(row, "expected"), mark,
                                 *mark ? json_text(row, "found") : "nothing readable", mark);
}

static void verify_show(const Ctl *ctl, json_object *answer)
{
        json_object *problems = json_get(answer, "problems"), *row;

        answer_show_daemon(ctl, answer);
        if (!json_get(answer, "daemon")) {
                show_record(&ctl->screen, answer);
                return;
        }
        if (json_true(answer, "fine"))
                screen_line(&ctl->screen, STYLE_GOOD, "all knobs as idled left them: %d",
                            (int)json_int(answer, "knobs", 0));
        JSON_FOREACH(row, problems)
                show_problem(&ctl->screen, row);
}

const Verb verb_verify = {
        .name = "verify",
        .summary = "Check that every knob has the value that idled wrote",
        .help = "The exit status is 1 if a knob has another value, or if a daemon that ended "
                "left\n"
                "a knob changed.",
        .ask = verify_ask,
        .show = verify_show,
};
