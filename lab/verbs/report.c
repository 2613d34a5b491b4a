/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab report: a page about recordings.
 */
#include "report.h"

#include <math.h>

#include "cli/verb.h"
#include "page/page.h"
#include "verbs.h"

/* More recordings than this are not next to each other on any screen. */
#define RECORDINGS_MAX 8

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

/* EXIT_FAILED after a message. */
static int write_page(json_object *recordings)
{
        g_autoptr(json_object) page = json_object_new_object();
        double begin = json_number(json_element(recordings, 0), "begin_usec", NAN) / 1e6;
        /* The time zone of this machine when the first recording began; UTC if that is not known.
         */
        g_autoptr(GDateTime) time = isfinite(begin) && fabs(begin) < 2e11
                                            ? g_date_time_new_from_unix_local((gint64)begin)
                                            : NULL;
        double offset = time ? (double)g_date_time_get_utc_offset(time) / 1e6 : 0;

        json_put_text(page, "zone", time ? g_date_time_get_timezone_abbreviation(time) : "UTC");
        json_put_real(page, "offset_seconds", offset, 0);
        json_put(page, "recordings", json_object_get(recordings));
        return page_write("report", page, output);
}

static int report_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(json_object) answer = json_object_new_object();
        json_object *recordings = json_object_new_array(), *recording;
        size_t points = MAX(POINTS / (size_t)ctl->n_args, POINTS_LEAST);

        json_put_text(answer, "page", output);
        json_put(answer, "recordings", recordings);
        for (int i = 0; i < ctl->n_args; i++) {
                recording = report_read(ctl->args[i], points);
                if (!recording)
                        return EXIT_FAILED;
                json_object_array_add(recordings, recording);
        }
        if (write_page(recordings) != EXIT_FINE)
                return EXIT_FAILED;
        JSON_FOREACH(recording, recordings)
                for (size_t i = 0; report_plots[i]; i++)
                        json_object_object_del(recording, report_plots[i]);
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
        .max_args = RECORDINGS_MAX,
        .ask = report_ask,
        .show = report_show,
};
