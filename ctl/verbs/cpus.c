/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl cpus: a row per CPU. Columns are called as turbostat calls them: C6% is the share of the
 * time in state C6, C6 how often it was entered.
 */
#include "cpus.h"

#include <math.h>

#include "base/cpuset-text.h"
#include "cli/client.h"
#include "cli/facts.h"
#include "verbs.h"

/* Adds the daemon's facts about CPUs that were measured here. */
static void add_parked(json_object *facts, json_object *manager)
{
        json_object *cpus = json_get(facts, "Cpus"), *cpu;
        CpuSet parked;

        if (cpuset_parse(json_text(manager, "Parked"), &parked) < 0)
                return;
        JSON_FOREACH(cpu, cpus)
                json_put_bool(cpu, "Parked", cpuset_has(&parked, (int)json_int(cpu, "Number", -1)));
}

static json_object *cpus_ask(Ctl *ctl, int *ret_status)
{
        json_object *manager = client_manager(ctl->client), *answer;
        bool measured = ctl->interval_usec || !manager;
        g_autoptr(json_object) facts = NULL;

        facts = measured ? facts_measure(ctl, ctl->interval_usec ?: FACTS_INTERVAL_USEC)
                         : facts_get(ctl);
        if (!facts) {
                *ret_status = EXIT_FAILED;
                return NULL;
        }
        if (measured && manager)
                add_parked(facts, manager);
        answer = answer_new(ctl);
        json_put(answer, "interval_usec", cpus_interval(facts));
        json_put(answer, "cpus", cpus_describe(facts));
        return answer;
}

/* The columns in addition to those that every machine has. */
typedef struct Shown {
        bool kinds;  /* cores differ */
        bool limits; /* idled holds a CPU to something */
        bool times;  /* how long CPUs were parked is known */
} Shown;

static void add_columns(Table *table, const Screen *screen, json_object *names, const Shown *shown)
{
        json_object *name;

        table_columns(table, ">CPU|>Core|>Clus|>Die|>Pkg|>Node|>Cap|State");
        if (shown->times)
                table_column(table, "Parked", true);
        table_column(table, "Busy%", true);
        if (shown->kinds)
                table_column(table, "Kind", true); /* there or left out, as numbers are */
        if (screen->terminal)
                table_column(table, "", false);
        if (shown->limits)
                table_column(table, "Limits", false);
        JSON_FOREACH(name, names) {
                g_autofree char *title = g_strconcat(json_object_get_string(name), "%", NULL);

                table_column(table, title, true);
        }
        JSON_FOREACH(name, names)
                table_column(table, json_object_get_string(name), true);
}

static void add_number(Table *table, json_object *object, const char *key)
{
        if (json_get(object, key))
                table_cellf(table, STYLE_PLAIN, "%" G_GINT64_FORMAT, json_int(object, key, 0));
        else
                table_cell(table, STYLE_DIM, "-");
}

static void add_states(Table *table, json_object *cpu, json_object *names)
{
        json_object *name;

        JSON_FOREACH(name, names) {
                json_object *state = cpus_find_state(cpu, json_object_get_string(name));
                g_autofree char *text = percent_text(state, "percent",
                                                     json_true(state, "estimated"));

                table_cell(table, STYLE_PLAIN, text);
        }
        JSON_FOREACH(name, names)
                add_number(table, cpus_find_state(cpu, json_object_get_string(name)), "entered");
}

static void add_limits(Table *table, json_object *cpu)
{
        g_autofree char *text = cpus_limits_text(json_get(cpu, "limits"));

        table_cell(table, *text ? STYLE_PLAIN : STYLE_DIM, *text ? text : "-");
}

static void add_kinds(Table *table, json_object *kinds)
{
        g_autoptr(GString) text = g_string_new(NULL);
        json_object *kind;

        JSON_FOREACH(kind, kinds)
                g_string_append_printf(text, "%s%s", text->len ? "," : "",
                                       json_object_get_string(kind));
        table_cell(table, text->len ? STYLE_PLAIN : STYLE_DIM, text->len ? text->str : "-");
}

/* How long the CPU was parked since idled started. */
static void add_time(Table *table, json_object *cpu)
{
        double seconds = json_number(cpu, "parked_usec", 0) / 1e6;
        g_autofree char *text = text_duration(seconds);

        table_cell(table, seconds > 0 ? STYLE_PLAIN : STYLE_DIM, seconds > 0 ? text : "-");
}

static void add_row(Table *table, const Screen *screen, json_object *cpu, json_object *names,
                    const Shown *shown)
{
        static const char *const groups[] = { "cpu",     "core", "cluster", "die",
                                              "package", "node", "capacity" };
        g_autofree char *busy = percent_text(cpu, "busy_percent", false);
        const char *state = json_text(cpu, "state");
        g_autofree char *bar = text_bar(screen, json_number(cpu, "busy_percent", 0) / 100);
        Style style = g_str_equal(state, "parked")   ? STYLE_GOOD
                      : g_str_equal(state, "active") ? STYLE_PLAIN
                                                     : STYLE_DIM;

        for (size_t i = 0; i < G_N_ELEMENTS(groups); i++)
                add_number(table, cpu, groups[i]);
        table_cell(table, style, state);
        if (shown->times)
                add_time(table, cpu);
        table_cell(table, STYLE_PLAIN, busy);
        if (shown->kinds)
                add_kinds(table, json_get(cpu, "kinds"));
        if (screen->terminal)
                table_cell(table, STYLE_WARN, bar);
        if (shown->limits)
                add_limits(table, cpu);
        add_states(table, cpu, names);
}

static void cpus_show(const Ctl *ctl, json_object *answer)
{
        json_object *cpus = json_get(answer, "cpus"), *cpu;
        Shown shown = { .limits = cpus_have_limits(cpus) };
        g_autoptr(json_object) names = cpus_state_names(cpus);
        g_autoptr(Table) table = table_new();

        answer_show_daemon(ctl, answer);
        JSON_FOREACH(cpu, cpus)
                shown.times |= json_get(cpu, "parked_usec") != NULL,
                        shown.kinds |= json_length(json_get(cpu, "kinds")) > 0;
        add_columns(table, &ctl->screen, names, &shown);
        JSON_FOREACH(cpu, cpus)
                add_row(table, &ctl->screen, cpu, names, &shown);
        table_print(table, &ctl->screen);
}

const Verb verb_cpus = {
        .name = "cpus",
        .arguments = "",
        .summary = "Show every CPU: place, state, and how it spent its time",
        .help = "Busy% and the shares of the idle states add up to 100. The column of a state\n"
                "without % counts how often it was entered. Without --interval the values cover\n"
                "the time since the daemon was last asked, or 0.2 s without the daemon.",
        .options = { interval_option },
        .ask = cpus_ask,
        .show = cpus_show,
};
