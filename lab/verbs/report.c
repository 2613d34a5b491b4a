/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab report: a page about recordings.
 */
#include "report.h"
#include "verbs.h"

#include <math.h>

/* Points of each plot, of all recordings together: what a screen is wide. */
#define POINTS       800
#define POINTS_LEAST 150

/* --output. */
static const char *output;

static const VerbOption report_options[] = {
        { "output", "FILE", "the page; - is standard output", .text = &output },
        { 0 },
};

static int report_check(const Ctl *ctl, const Verb *verb)
{
        if (!output || !*output)
                return complain_usage(verb, "report: expected --output FILE");
        if (ctl->json && g_str_equal(output, "-"))
                return complain_usage(verb, "--json needs standard output, which --output - takes");
        return EXIT_FINE;
}

static void report_free_void(gpointer report)
{
        report_free(report);
}

static int report_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(GPtrArray) reports = g_ptr_array_new_with_free_func(report_free_void);
        g_autoptr(json_object) answer = json_object_new_object();
        json_object *array = json_object_new_array();
        size_t points = MAX(POINTS / (size_t)ctl->n_args, POINTS_LEAST);

        json_put_text(answer, "page", output);
        json_put(answer, "recordings", array);
        for (int i = 0; i < ctl->n_args; i++) {
                Report *report = report_new(ctl->args[i], points);

                g_ptr_array_add(reports, report);
                if (report_read(report) != EXIT_FINE)
                        return EXIT_FAILED;
                json_object_array_add(array, report_describe(report));
        }
        if (report_write((const Report *const *)reports->pdata, reports->len, output) != EXIT_FINE)
                return EXIT_FAILED;
        if (!g_str_equal(output, "-"))
                *ret_answer = g_steal_pointer(&answer);
        return EXIT_FINE;
}

/* The policy that saved most. */
static json_object *best_saving(json_object *recording)
{
        json_object *savings = json_get(recording, "savings"), *saving, *best = NULL;

        JSON_FOREACH(saving, savings)
                if (!best || json_number(saving, "saved_joules", -INFINITY) >
                                     json_number(best, "saved_joules", -INFINITY))
                        best = saving;
        return best;
}

static void report_show(const Ctl *ctl, json_object *answer)
{
        g_autoptr(Table) table = table_new();
        json_object *recordings = json_get(answer, "recordings"), *recording, *note;

        table_columns(table, "Recording|>Seconds|>CPUs|>Parked|>Busy%|>PkgWatt|>Saved_J|>Wake/s");
        JSON_FOREACH(recording, recordings) {
                table_cell(table, STYLE_PLAIN, json_text(recording, "file"));
                table_number(table, json_number(recording, "recorded_seconds", NAN), 0);
                table_number(table, json_number(recording, "cpus", NAN), 0);
                table_number(table, json_number(recording, "parked_cpus_mean", NAN), 1);
                table_number(table, json_number(recording, "busy_percent", NAN), 1);
                table_number(table, json_number(recording, "watts_mean", NAN), 2);
                table_number(table, json_number(best_saving(recording), "saved_joules", NAN), 0);
                table_number(table, json_number(recording, "wakeups_per_second", NAN), 1);
                JSON_FOREACH(note, json_get(recording, "notes"))
                        table_note(table, STYLE_WARN, json_object_get_string(note));
        }
        table_print(table, &ctl->screen);
        screen_line(&ctl->screen, STYLE_PLAIN, "Page: %s", json_text(answer, "page"));
}

const Verb verb_report = {
        .name = "report",
        .arguments = "--output FILE RECORDING...",
        .summary = "Write a page with plots of recordings",
        .help = "The page is one HTML file with parked CPUs, load, idle states, power, savings,\n"
                "wake-ups, and events with their reasons. It shows up to 8 recordings next to\n"
                "each other.\n"
                "  idlelab report --output monday.html monday.rec",
        .options = { report_options },
        .check = report_check,
        .min_args = 1,
        .max_args = REPORT_MOST,
        .ask = report_ask,
        .show = report_show,
};
