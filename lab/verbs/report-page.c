/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab report: the data of its page: what --json says about each recording, with the values of
 * all plots. page/page.js says which plots there are, in the order of ReportChart and
 * ReportHistogram.
 */
#include <math.h>

#include "page/page.h"
#include "report.h"

static json_object *describe_series(const Report *report, const ReportSeries *series)
{
        const Reduced *samples = report->samples;
        json_object *object = json_object_new_object();
        bool interval = series->low != series->column;

        json_put_text(object, "name", series->name);
        json_put_bool(object, "steps", series->kind == REPORT_STEPS);
        json_put_bool(object, "stacked", series->kind == REPORT_STACK);
        json_put(object, "mid", reduced_values(samples, series->column, REDUCED_MEAN));
        /* If a point unites samples its series has a band. */
        if (series->kind != REPORT_STACK && (interval || reduced_united(samples) > 1)) {
                json_put(object, "low",
                         reduced_values(samples, series->low,
                                        interval ? REDUCED_MEAN : REDUCED_LEAST));
                json_put(object, "high",
                         reduced_values(samples, series->high,
                                        interval ? REDUCED_MEAN : REDUCED_GREATEST));
        }
        return object;
}

/* The series of each chart; null for one that has none. */
static json_object *describe_charts(const Report *report)
{
        json_object *charts = json_object_new_array();

        for (ReportChart chart = 0; chart < REPORT_CHARTS; chart++) {
                json_object *all = NULL;

                for (guint i = 0; i < report->series->len; i++) {
                        const ReportSeries *series = &g_array_index(report->series, ReportSeries,
                                                                    i);

                        if (series->chart != chart || reduced_samples(report->samples) == 0)
                                continue;
                        all = all ?: json_object_new_array();
                        json_object_array_add(all, describe_series(report, series));
                }
                json_object_array_add(charts, all);
        }
        return charts;
}

/* Each bucket as [from, to, count]. */
static json_object *describe_buckets(const GArray *buckets)
{
        json_object *array = json_object_new_array();

        for (guint i = 0; i < buckets->len; i++) {
                const ReportBucket *bucket = &g_array_index(buckets, ReportBucket, i);
                json_object *row = json_object_new_array();

                json_object_array_add(row, json_plain(bucket->from_us));
                json_object_array_add(row, json_plain(bucket->to_us));
                json_object_array_add(row, json_plain(bucket->count));
                json_object_array_add(array, row);
        }
        return array;
}

static json_object *describe(const Report *report, double offset)
{
        json_object *object = report_describe(report), *histograms = json_object_new_array();
        g_autofree char *name = g_path_get_basename(report->path);
        json_object *event;

        JSON_FOREACH(event, report->events)
                json_put_real(event, "x", json_number(event, "x", NAN) + offset, 3);
        for (int i = 0; i < REPORT_HISTOGRAMS; i++)
                json_object_array_add(histograms, describe_buckets(report->histograms[i]));
        json_put_text(object, "name", name);
        json_put(object, "times", reduced_times(report->samples, offset));
        json_put(object, "charts", describe_charts(report));
        json_put(object, "histograms", histograms);
        json_put(object, "events", json_object_get(report->events));
        json_put_int(object, "events_left", (int64_t)report->events_left);
        json_put_int(object, "sources_left", (int64_t)report->sources_left);
        return object;
}

int report_write(const Report *const *reports, size_t n, const char *path)
{
        g_autoptr(json_object) page = json_object_new_object();
        json_object *recordings = json_object_new_array();
        double begin = reports[0]->begin, offset;
        /* The time zone of this machine when the first recording began; UTC if that is not known.
         */
        g_autoptr(GDateTime) time = isfinite(begin) && fabs(begin) < 2e11
                                            ? g_date_time_new_from_unix_local((gint64)begin)
                                            : NULL;

        offset = time ? (double)g_date_time_get_utc_offset(time) / 1e6 : 0;
        for (size_t r = 0; r < n; r++)
                json_object_array_add(recordings, describe(reports[r], offset));
        json_put_text(page, "zone", time ? g_date_time_get_timezone_abbreviation(time) : "UTC");
        json_put_real(page, "offset_seconds", offset, 0);
        json_put(page, "recordings", recordings);
        return page_write("report", page, path);
}
