/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl settings: the configuration in effect.
 */
#include "base/nearest.h"
#include "cli/facts.h"
#include "cli/save.h"
#include "verbs.h"

/* Complains that there is no such section among `settings`. */
static int complain_section(json_object *settings, const char *section)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        g_autofree char *known = NULL, *hint = NULL;
        json_object *row;

        JSON_FOREACH(row, settings)
                if (!g_ptr_array_find_with_equal_func(names, json_text(row, "section"), g_str_equal,
                                                      NULL))
                        g_ptr_array_add(names, (gpointer)json_text(row, "section"));
        g_ptr_array_add(names, NULL);
        known = g_strjoinv(", ", (char **)names->pdata);
        hint = text_suggest(word_nearest(section, (const char *const *)names->pdata));
        return complain("settings: found section \"%s\", expected one of %s%s", section, known,
                        hint);
}

static int settings_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(json_object) settings = settings_all(ctl);
        const char *section = ctl->n_args ? ctl->args[0] : NULL;
        json_object *answer, *chosen, *row;

        if (!settings)
                return EXIT_FAILED;
        chosen = json_object_new_array();
        JSON_FOREACH(row, settings)
                if (!section || g_str_equal(json_text(row, "section"), section))
                        json_object_array_add(chosen, json_object_get(row));
        if (section && json_length(chosen) == 0) {
                json_object_put(chosen);
                return complain_section(settings, section);
        }
        answer = answer_new(ctl);
        json_put(answer, "settings", chosen);
        *ret_answer = answer;
        return EXIT_FINE;
}

/* In a terminal where the lines do not fit, values take so many columns and sources at least so
 * many; the rest of both follows on other lines. */
#define VALUE_COLUMNS  16
#define SOURCE_COLUMNS 24

/* True if whole values would leave less than SOURCE_COLUMNS for the sources. */
static bool is_narrow(const Screen *screen, json_object *settings)
{
        static const char *const keys[] = { "section", "key", "value" };
        int widths[G_N_ELEMENTS(keys)] = { 0 }, width = SOURCE_COLUMNS;
        json_object *row;

        JSON_FOREACH(row, settings)
                for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                        widths[i] = MAX(widths[i], text_columns(json_text(row, keys[i])));
        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                width += widths[i] + 2;
        return screen->width && width > screen->width;
}

/* The value, shortened if there is little room: then a note has the whole. */
static void add_value(const Ctl *ctl, Table *table, json_object *row, bool narrow)
{
        const char *text = json_text(row, "value");
        bool changed = !g_str_equal(json_text(row, "source"), "default");
        g_autofree char *shown = text_fit(&ctl->screen, *text ? text : "-",
                                          narrow ? VALUE_COLUMNS : 0);

        table_cell(table, changed ? STYLE_GOOD : STYLE_PLAIN, shown);
}

/* What belongs to a setting but fits no column. */
static void add_notes(Table *table, json_object *row)
{
        const char *help = json_text(row, "help"), *expects = json_text(row, "expects");

        if (*help)
                table_note(table, STYLE_PLAIN, help);
        if (*expects)
                table_notef(table, STYLE_DIM, "Expects %s", expects);
}

static void settings_show(const Ctl *ctl, json_object *answer)
{
        static const char *const dispensable[] = { "Default", NULL };
        json_object *settings = json_get(answer, "settings"), *row;
        bool all = ctl->n_args > 0, narrow = is_narrow(&ctl->screen, settings);
        g_autoptr(Table) table = table_new();

        answer_show_daemon(ctl, answer);
        table_columns(table, all ? "Section|Key|Value|Source|Default" : "Section|Key|Value|Source");
        JSON_FOREACH(row, settings) {
                table_text(table, row, "section");
                table_text(table, row, "key");
                add_value(ctl, table, row, narrow);
                table_text(table, row, "source");
                if (all)
                        table_text(table, row, "default");
                if (narrow && text_columns(json_text(row, "value")) > VALUE_COLUMNS)
                        table_note(table, STYLE_PLAIN, json_text(row, "value"));
                if (all)
                        add_notes(table, row);
        }
        table_fit(table, &ctl->screen, dispensable);
        table_wrap_last(table);
        table_print(table, &ctl->screen);
}

const Verb verb_settings = {
        .name = "settings",
        .arguments = "[SECTION]",
        .summary = "Show every option: its value, and where it was set",
        .help = "With a SECTION also shows the default, the meaning, and the valid values.\n"
                "Without the daemon it shows the values of the files.",
        .max_args = 1,
        .ask = settings_ask,
        .show = settings_show,
};
