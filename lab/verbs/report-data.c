/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab report: what a recording comes to, as a document. page/page.js says which plots there
 * are.
 */
#include "report.h"

#include <math.h>
#include <string.h>

#include "cli/screen.h"

#define SOURCES_MAX 20 /* those that ended most sleeps */

const char *const report_histograms[REPORT_HISTOGRAMS] = { "latency", "sleep_length" };

static int compare_sources(const void *a, const void *b)
{
        const ReportSource *x = a, *y = b;

        if (x->sleeps != y->sleeps)
                return x->sleeps < y->sleeps ? 1 : -1;
        return strcmp(x->name, y->name);
}

/* Those that ended most sleeps. */
static json_object *describe_sources(const Report *report)
{
        g_autoptr(GList)
                sources = g_list_sort(g_hash_table_get_values(report->sources), compare_sources);
        json_object *array = json_object_new_array();

        for (GList *i = sources; i && json_length(array) < SOURCES_MAX; i = i->next) {
                const ReportSource *source = i->data;
                json_object *object = json_add(array);

                json_put_text(object, "name", source->name);
                json_put_int(object, "sleeps", (int64_t)source->sleeps);
                json_put_real(object, "lacked_seconds", source->lacked_seconds, 3);
        }
        return array;
}

static void add_note(Report *report, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void add_note(Report *report, const char *format, ...)
{
        g_autofree char *note = NULL;
        va_list arguments;

        va_start(arguments, format);
        note = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        json_add_text(report->notes, note);
}

static void add_notes(Report *report, const char *problem)
{
        const char *daemon = json_text(report->facts, "daemon");
        double known = report->weights[REPORT_MEAN_PARKED_CPUS];
        bool any = report->samples->samples > 0;
        size_t gaps = report->samples->gaps;

        if (problem)
                add_note(report, "%s.", problem);
        if (*daemon && known == 0)
                add_note(report, "Nothing of idled was recorded: %s.", daemon);
        else if (any && known == 0)
                add_note(report, "The recording does not say which CPUs were parked.");
        else if (known < 0.99 * report->time.recorded) {
                g_autofree char *time = text_duration(known);
                g_autofree char *all = text_duration(report->time.recorded);

                add_note(report,
                         "idled ran for %s of %s. What is said about parked CPUs is about that "
                         "time.",
                         time, all);
        }
        if (!any)
                add_note(report, "The recording has no samples.");
        else if (report->weights[REPORT_MEAN_WATTS] == 0)
                add_note(report, "No power was recorded: the machine has no RAPL and no power "
                                 "table, or the recording was made without permission to read "
                                 "energy.");
        if (report->time.steps_back) {
                g_autofree char *later = text_duration(report->time.shift);

                add_note(report,
                         "The clock was set back (%u time%s): what followed is shown up to %s "
                         "later than it said.",
                         report->time.steps_back, report->time.steps_back == 1 ? "" : "s", later);
        }
        if (any && !report->any_states)
                add_note(report, "No idle states were recorded: the machine has no cpuidle.");
        if (gaps)
                add_note(report, "Plots have gaps where nothing was recorded (%zu time%s).", gaps,
                         gaps == 1 ? "" : "s");
}

/* Half of the histogram's counts, 99 %, ..., do not exceed this many microseconds, to a bucket. */
static double quantile(const GArray *buckets, double share)
{
        double sum = 0, seen = 0;
        guint i = 0;

        for (guint k = 0; k < buckets->len; k++)
                sum += g_array_index(buckets, ReportBucket, k).count;
        while ((seen += g_array_index(buckets, ReportBucket, i).count) < share * sum)
                i++;
        return g_array_index(buckets, ReportBucket, i).to_ns / 1e3;
}

/* Null if it is empty. */
static json_object *describe_histogram(const GArray *buckets)
{
        json_object *object;

        if (buckets->len == 0)
                return NULL;
        object = json_object_new_object();
        json_put_real(object, "p50_us", quantile(buckets, 0.5), 3);
        json_put_real(object, "p99_us", quantile(buckets, 0.99), 3);
        json_put_real(object, "max_us", quantile(buckets, 1), 3);
        return object;
}

static json_object *describe(Report *report)
{
        json_object *object = json_object_new_object();
        const Reduced *samples = report->samples;
        double joules = report->sums[REPORT_MEAN_WATTS], means[REPORT_MEANS];

        for (int i = 0; i < REPORT_MEANS; i++)
                means[i] = report->weights[i] > 0 ? report->sums[i] / report->weights[i] : NAN;
        json_put_text(object, "file", report->path);
        json_put_members(object, report->facts,
                         "program version hostname kernel cpu_model command energy_source daemon "
                         "sleeps");
        json_put_real(object, "cpus", report->cpus, 0);
        json_put_real(object, "cores", report->cores, 0);
        json_put_real(object, "packages", report->packages, 0);
        json_put_real(object, "begin_usec", report->time.begin * 1e6, 0);
        json_put_real(object, "end_usec", report->time.end * 1e6, 0);
        json_put_real(object, "recorded_seconds", report->time.recorded, 3);
        json_put_int(object, "samples", (int64_t)samples->samples);
        json_put_int(object, "samples_per_point", (int64_t)samples->united);
        json_put_int(object, "gaps", (int64_t)samples->gaps);
        json_put_real(object, "busy_percent", means[REPORT_MEAN_BUSY_SHARE] * 100, 2);
        json_put_real(object, "parked_cpus_mean", means[REPORT_MEAN_PARKED_CPUS], 2);
        json_put_real(object, "parked_cores_mean", means[REPORT_MEAN_PARKED_CORES], 2);
        json_put_real(object, "watts_mean", means[REPORT_MEAN_WATTS], 3);
        json_put_real(object, "joules", report->weights[REPORT_MEAN_WATTS] > 0 ? joules : NAN, 1);
        json_put_real(object, "wakeups_per_second", means[REPORT_MEAN_WAKEUPS], 2);
        json_put_real(object, "transitions", report->transitions, 0);
        json_put(object, "savings", json_object_get(report->savings));
        for (size_t i = 0; i < REPORT_HISTOGRAMS; i++)
                json_put(object, report_histograms[i], describe_histogram(report->histograms[i]));
        json_put(object, "wakeup_sources", describe_sources(report));
        json_put(object, "notes", json_object_get(report->notes));
        return object;
}

static json_object *describe_series(const Reduced *samples, const ReportSeries *series,
                                    size_t column)
{
        json_object *object = json_object_new_object();

        json_put_text(object, "name", series->name);
        json_put_bool(object, "steps", series->kind == REPORT_STEPS);
        json_put_bool(object, "stacked", series->kind == REPORT_STACK);
        json_put(object, "mid", reduced_values(samples, column, REDUCED_MEAN));
        /* If a point unites samples its series has a band. */
        if (series->chart == REPORT_SAVED ||
            (series->kind != REPORT_STACK && samples->united > 1)) {
                json_put(object, "low", reduced_values(samples, column, REDUCED_LEAST));
                json_put(object, "high", reduced_values(samples, column, REDUCED_GREATEST));
        }
        return object;
}

/* The series of each chart; null for one that has none. */
static json_object *describe_charts(const Report *report)
{
        json_object *charts = json_object_new_array();

        for (int i = 0; i < REPORT_CHARTS; i++)
                json_object_array_add(charts, NULL);
        for (guint i = 0; i < report->series->len; i++) {
                const ReportSeries *series = &g_array_index(report->series, ReportSeries, i);

                if (!json_element(charts, series->chart))
                        json_object_array_put_idx(charts, series->chart, json_object_new_array());
                json_object_array_add(json_element(charts, series->chart),
                                      describe_series(report->samples, series, i));
        }
        return charts;
}

/* Each bucket as [from, to, count], in microseconds. */
static json_object *describe_buckets(const GArray *buckets)
{
        json_object *array = json_object_new_array();

        for (guint i = 0; i < buckets->len; i++) {
                const ReportBucket *bucket = &g_array_index(buckets, ReportBucket, i);
                json_object *row = json_object_new_array();

                json_object_array_add(row, json_plain(bucket->from_ns / 1e3));
                json_object_array_add(row, json_plain(bucket->to_ns / 1e3));
                json_object_array_add(row, json_plain(bucket->count));
                json_object_array_add(array, row);
        }
        return array;
}

const char *const report_plots[] = { "name",   "times",       "charts",       "histograms",
                                     "events", "events_left", "sources_left", NULL };

static void describe_plots(const Report *report, json_object *object)
{
        g_autofree char *name = g_path_get_basename(report->path);
        json_object *buckets = json_object_new_array();
        size_t shown = json_length(json_get(object, "wakeup_sources"));

        for (size_t i = 0; i < REPORT_HISTOGRAMS; i++)
                json_object_array_add(buckets, describe_buckets(report->histograms[i]));
        json_put_text(object, "name", name);
        json_put(object, "times", reduced_times(report->samples));
        json_put(object, "charts", describe_charts(report));
        json_put(object, "histograms", buckets);
        json_put(object, "events", json_object_get(report->events));
        json_put_int(object, "events_left", (int64_t)report->events_left);
        json_put_int(object, "sources_left", (int64_t)(g_hash_table_size(report->sources) - shown));
}

json_object *report_describe(Report *report, const char *problem)
{
        json_object *object;

        add_notes(report, problem);
        object = describe(report);
        describe_plots(report, object);
        return object;
}
