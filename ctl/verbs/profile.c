/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl profile: which profiles there are, which is in effect and why, and choosing one.
 *
 * Without the daemon the profiles are those of the files, and none is in effect.
 */
#include "cli/client.h"
#include "cli/facts.h"
#include "cli/offline.h"
#include "verbs.h"

static json_object *list_of_daemon(json_object *manager)
{
        json_object *array = json_object_new_array(), *row;
        const char *active = json_text(manager, "Profile");

        JSON_FOREACH(row, json_get(manager, "Profiles")) {
                json_object *object = json_add(array);
                const char *name = json_element_text(row, 0);

                json_put_text(object, "name", name);
                json_put_text_any(object, "summary", json_element_text(row, 1));
                json_put_text_any(object, "file", json_element_text(row, 2));
                json_put_bool(object, "active", g_str_equal(name, active));
        }
        return array;
}

/* Profiles that have a file, but are not among those that the daemon knows. */
static json_object *list_not_loaded(const Ctl *ctl, json_object *profiles)
{
        json_object *array = json_object_new_array();
        g_auto(GStrv) names = offline_profiles(ctl);

        for (char **name = names; *name; name++)
                if (!json_find(profiles, "name", *name))
                        json_add_text(array, *name);
        return array;
}

#define RELOAD_HINT "profiles/%s.conf exists but is not loaded: run \"idlectl reload\""

static int list(Ctl *ctl, json_object **ret_answer)
{
        json_object *manager = client_manager(ctl->client);
        json_object *profiles = manager ? list_of_daemon(manager) : offline_member(ctl, "profiles");
        json_object *answer;

        if (!profiles)
                return EXIT_FAILED;
        answer = answer_new(ctl);
        json_put_texts(answer, manager,
                       "active=Profile reason=ProfileReason chosen=ChosenProfile "
                       "inhibited=ProfileInhibited");
        json_put(answer, "not_loaded",
                 manager ? list_not_loaded(ctl, profiles) : json_object_new_array());
        json_put(answer, "profiles", profiles);
        *ret_answer = answer;
        return EXIT_FINE;
}

/* The daemon refused the profile: perhaps it only has not read it yet. */
static int complain_choice(const Ctl *ctl, const char *name, const char *error)
{
        g_autoptr(json_object) known = client_manager(ctl->client)
                                               ? list_of_daemon(client_manager(ctl->client))
                                               : NULL;
        g_auto(GStrv) names = offline_profiles(ctl);

        if (!known || json_find(known, "name", name) ||
            !g_strv_contains((const char *const *)names, name))
                return complain("%s", error);
        return complain(RELOAD_HINT, name);
}

/* Chooses, then reports the result. */
static int set(Ctl *ctl, json_object **ret_answer)
{
        const char *name = ctl->args[ctl->n_args - 1];
        g_autofree char *error = NULL;

        if (client_call(ctl->client, "SetProfile", "s", &(ClientArgument){ .s = name }, NULL,
                        &error) < 0)
                return complain_choice(ctl, name, error);
        client_forget(ctl->client);
        return list(ctl, ret_answer);
}

static bool is_word(const Ctl *ctl, const char *word)
{
        return ctl->n_args > 0 && g_str_equal(ctl->args[0], word);
}

/* "profile set NAME", or "profile NAME" with a name that is no word of this verb. */
static bool is_choice(const Ctl *ctl)
{
        return ctl->n_args > 0 && !is_word(ctl, "get") && !is_word(ctl, "list");
}

static int profile_ask(Ctl *ctl, json_object **ret_answer)
{
        int expected = is_word(ctl, "set") ? 2 : 1;

        if (ctl->n_args > expected || (is_word(ctl, "set") && ctl->n_args < expected))
                return complain_usage(NULL, is_word(ctl, "set")
                                                    ? "profile set: expected NAME, or auto"
                                                    : "profile: too many arguments");
        if (is_choice(ctl) && !*ctl->args[ctl->n_args - 1])
                return complain_usage(NULL, "profile: found \"\", expected NAME, or auto");
        if (is_choice(ctl))
                return set(ctl, ret_answer);
        if (is_word(ctl, "get") && !client_manager(ctl->client))
                return complain("%s", client_problem(ctl->client));
        return list(ctl, ret_answer);
}

static void show_active(const Ctl *ctl, json_object *answer)
{
        const char *chosen = json_text(answer, "chosen");

        screen_sentencef(&ctl->screen, STYLE_PLAIN, "%s (%s)", json_text(answer, "active"),
                         json_text(answer, "reason"));
        if (*chosen && !g_str_equal(chosen, json_text(answer, "active")))
                screen_line(&ctl->screen, STYLE_WARN, "chosen: %s", chosen);
        if (json_get(answer, "inhibited"))
                screen_sentencef(&ctl->screen, STYLE_WARN, "not in effect: %s",
                                 json_text(answer, "inhibited"));
}

static void show_list(const Ctl *ctl, json_object *answer)
{
        json_object *profiles = json_get(answer, "profiles"), *profile;
        g_autoptr(Table) table = table_new();

        table_columns(table, "|Profile|Summary");
        JSON_FOREACH(profile, profiles) {
                bool active = json_true(profile, "active");
                const char *summary = json_text(profile, "summary");

                table_cell(table, STYLE_GOOD, active ? "*" : "");
                table_cell(table, active ? STYLE_GOOD : STYLE_PLAIN, json_text(profile, "name"));
                table_cell(table, STYLE_PLAIN, *summary ? summary : "-");
        }
        table_wrap_last(table);
        table_print(table, &ctl->screen);
}

static void show_not_loaded(const Ctl *ctl, json_object *answer)
{
        json_object *names = json_get(answer, "not_loaded");

        for (size_t i = 0; i < json_length(names); i++)
                screen_sentencef(&ctl->screen, STYLE_WARN, RELOAD_HINT,
                                 json_element_text(names, i));
}

static void profile_show(const Ctl *ctl, json_object *answer)
{
        if (is_word(ctl, "get")) {
                screen_line(&ctl->screen, STYLE_PLAIN, "%s", json_text(answer, "active"));
                return;
        }
        answer_show_daemon(ctl, answer);
        if (json_get(answer, "active"))
                show_active(ctl, answer);
        if (is_choice(ctl))
                return;
        show_list(ctl, answer);
        show_not_loaded(ctl, answer);
}

const Verb verb_profile = {
        .name = "profile",
        .arguments = "[list | get | [set] NAME]",
        .summary = "Show the profiles, or choose one",
        .help = "The choice is kept across restarts. auto removes it, so that idled.conf "
                "decides.",
        .max_args = 2,
        .ask = profile_ask,
        .show = profile_show,
};
