/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab report: the page.
 *
 * It begins with a summary in words and as a table. A section for each kind of plot follows, with
 * the recordings next to each other and on the same scale.
 */
#include <math.h>

#include "page/page.h"
#include "report.h"

typedef struct ChartKind {
        const char *title, *unit, *about;
        double max; /* of the axis; 0: by the data */
        bool marks; /* has the events */
} ChartKind;

static const ChartKind chart_kinds[REPORT_CHARTS] = {
        [REPORT_CPUS] = { "Parked CPUs over load", "CPUs",
                          "Vertical lines are events: changes of the set of parked CPUs, profiles, "
                          "holds. Lines of CPUs change when the sample ends in which the event "
                          "was.",
                          .marks = true },
        [REPORT_RESIDENCY] = { "Where all CPUs spent their time", "% of CPU time",
                               "From busy to the deepest idle state. The kernel counts a sleep "
                               "when "
                               "it ends, so the share of one that goes on is an estimate.",
                               100 },
        [REPORT_PARKED_RESIDENCY] = { "Where parked CPUs spent their time", "% of CPU time", NULL,
                                      100 },
        [REPORT_POWER] = { "Power", "W",
                           "Mean power of each energy domain. A name with ~ is an estimate from "
                           "idle states and a power table." },
        [REPORT_SAVED] = { "Power saved", "W",
                           "What each policy saves, as its evaluator knew at that time, with the "
                           "95 % interval as a band. Below 0 it costs power." },
        [REPORT_FREQUENCY] = { "Frequency of busy CPUs", "MHz", NULL },
        [REPORT_WAKEUPS] = { "Wake-ups", "1/s",
                             "Sleeps that ended, of all CPUs together; polling is none." },
        [REPORT_PRESSURE] = { "Pressure", "% of time", "How long some task had to wait for a CPU.",
                              0 },
};

typedef struct Writer {
        json_object *page;
        const Report *const *reports;
        size_t n;
        double offset; /* of the time zone, in seconds */
} Writer;

/* A figure about recording `r`, which is named if there are several; without a plot it says that
 * nothing was recorded. */
static json_object *add_figure(const Writer *writer, json_object *figures, const char *kind,
                               size_t r, const char *title)
{
        json_object *figure = page_figure(figures, kind, r, title, NULL);

        if (writer->n > 1)
                json_put_text(figure, "name", report_name(writer->reports[r]));
        return figure;
}

/* Takes the text. */
static void add_note(json_object *figure, char *text)
{
        json_object *notes = json_object_new_array();

        json_add_text(notes, text);
        json_put(figure, "notes", notes);
        g_free(text);
}

/* A section with these figures; without one of them that shows something there is none. It takes
 * the figures. */
static void add_section(Writer *writer, const char *title, const char *about, json_object *figures)
{
        json_object *figure, *part;
        bool any = false;

        JSON_FOREACH(figure, figures)
                any |= json_get(figure, "plot") != NULL;
        if (!any) {
                json_object_put(figures);
                return;
        }
        part = page_text(writer->page, "heading", title);
        if (about)
                json_put_text(part, "about", about);
        json_put(part, "figures", figures);
}

/* True if a point unites samples, so that its series has a band. */
static bool has_band(const Report *report, const ReportSeries *series)
{
        return series->kind != REPORT_STACK &&
               (series->low != series->column || reduced_united(report->samples) > 1);
}

static json_object *describe_series(const Report *report, const ReportSeries *series)
{
        const Reduced *samples = report->samples;
        json_object *object = json_object_new_object();
        bool interval = series->low != series->column;

        json_put_text(object, "name", series->name);
        json_put_bool(object, "steps", series->kind == REPORT_STEPS);
        json_put(object, "mid", reduced_values(samples, series->column, REDUCED_MEAN));
        if (has_band(report, series)) {
                json_put(object, "low",
                         reduced_values(samples, series->low,
                                        interval ? REDUCED_MEAN : REDUCED_LEAST));
                json_put(object, "high",
                         reduced_values(samples, series->high,
                                        interval ? REDUCED_MEAN : REDUCED_GREATEST));
        }
        return object;
}

static char *event_id(size_t r, size_t i)
{
        return g_strdup_printf("event-%zu-%zu", r, i);
}

/* The CPUs of an event: no CPU is not the same as nothing said. */
static const char *cpus_text(const ReportEvent *event)
{
        return event->cpus && !*event->cpus ? "none" : event->cpus;
}

/* "transition 2-3: why", "transition: why". */
static char *event_text(const ReportEvent *event)
{
        return g_strdup_printf("%s%s%s%s%s", event->kind, event->cpus ? " " : "",
                               event->cpus ? cpus_text(event) : "",
                               event->text && *event->text ? ": " : "", event->text ?: "");
}

static json_object *describe_events(const Writer *writer, size_t r)
{
        const GArray *events = writer->reports[r]->events;
        json_object *array = json_object_new_array();

        for (guint i = 0; i < events->len; i++) {
                const ReportEvent *event = &g_array_index(events, ReportEvent, i);
                g_autofree char *text = event_text(event), *id = event_id(r, i);
                json_object *object = json_add(array);

                json_put_real(object, "x", event->seconds + writer->offset, 3);
                json_put_text(object, "id", id);
                json_put_text(object, "text", text);
        }
        return array;
}

/* The chart of a recording; NULL if it has none. */
static json_object *describe_chart(const Writer *writer, ReportChart chart, size_t r)
{
        const Report *report = writer->reports[r];
        json_object *plot, *array = json_object_new_array();
        bool stacked = false;

        for (guint i = 0; i < report->series->len; i++) {
                const ReportSeries *series = &g_array_index(report->series, ReportSeries, i);

                if (series->chart != chart)
                        continue;
                stacked |= series->kind == REPORT_STACK;
                json_object_array_add(array, describe_series(report, series));
        }
        if (json_length(array) == 0 || reduced_points(report->samples) == 0) {
                json_object_put(array);
                return NULL;
        }
        plot = json_object_new_object();
        json_put_text(plot, "kind", "time");
        json_put_text(plot, "unit", chart_kinds[chart].unit);
        json_put_int(plot, "recording", (int64_t)r);
        json_put_bool(plot, "stacked", stacked);
        if (chart_kinds[chart].max > 0)
                json_put(plot, "max", json_plain(chart_kinds[chart].max));
        json_put(plot, "series", array);
        if (chart_kinds[chart].marks)
                json_put(plot, "events", describe_events(writer, r));
        return plot;
}

static void add_charts(Writer *writer, ReportChart chart)
{
        const ChartKind *kind = &chart_kinds[chart];
        g_autofree char *id = g_strdup_printf("plot-%d", chart);
        json_object *figures = json_object_new_array();

        for (size_t r = 0; r < writer->n; r++) {
                const Report *report = writer->reports[r];
                json_object *figure = add_figure(writer, figures, id, r, kind->title);

                json_put(figure, "plot", describe_chart(writer, chart, r));
                if (kind->marks && report->events_left)
                        add_note(figure, g_strdup_printf("Only the last %u events are marked.",
                                                         report->events->len));
        }
        add_section(writer, kind->title, kind->about, figures);
}

/* How many were how long, both on logarithmic axes. */
static json_object *describe_buckets(const GArray *buckets, const char *unit)
{
        json_object *all = json_object_new_array(), *series = page_series(all, "bars", NULL);
        json_object *to = json_object_new_array();

        for (guint i = 0; i < buckets->len; i++) {
                const ReportBucket *bucket = &g_array_index(buckets, ReportBucket, i);

                page_point(series, bucket->from_us > 0 ? bucket->from_us : bucket->to_us / 2,
                           bucket->count, NULL);
                json_object_array_add(to, json_plain(bucket->to_us));
        }
        json_put(series, "to", to);
        return page_curves(page_axis("us", true), page_axis(unit, true), all);
}

static char *quantiles_text(const GArray *buckets)
{
        g_autofree char *half = us_text(report_quantile(buckets, 0.5));
        g_autofree char *most = us_text(report_quantile(buckets, 0.99));
        g_autofree char *all = us_text(report_quantile(buckets, 1));

        return g_strdup_printf("Half are at most %s, 99 %% at most %s, all at most %s.", half, most,
                               all);
}

static void add_histograms(Writer *writer, ReportHistogram which)
{
        static const char *const titles[] = { "Wake-up latency", "Lengths of sleeps" };
        static const char *const units[] = { "wake-ups", "sleeps" };
        static const char *const abouts[] = {
                "How late timers and woken tasks ran, on all CPUs together.",
                "How long CPUs slept, all together.",
        };
        g_autofree char *id = g_strdup_printf("histogram-%d", which);
        json_object *figures = json_object_new_array();

        for (size_t r = 0; r < writer->n; r++) {
                const GArray *buckets = writer->reports[r]->histograms[which];
                json_object *figure = add_figure(writer, figures, id, r, titles[which]);
                g_autofree char *text = NULL;

                if (buckets->len == 0)
                        continue;
                text = quantiles_text(buckets);
                json_put_text(figure, "text", text);
                json_put(figure, "plot", describe_buckets(buckets, units[which]));
        }
        add_section(writer, titles[which], abouts[which], figures);
}

static char *number_text(double value)
{
        return isfinite(value) ? g_strdup_printf(fabs(value) >= 1000 ? "%.0f" : "%.4g", value)
                               : NULL;
}

static json_object *describe_sources(const Report *report)
{
        json_object *names = json_object_new_array();
        json_object *values = json_object_new_array(), *totals = json_object_new_array();
        static const char *const parts[] = { "sleeps ended", NULL };

        for (guint i = 0; i < report->sources->len; i++) {
                const ReportSource *source = &g_array_index(report->sources, ReportSource, i);
                g_autofree char *total = number_text(source->sleeps);
                json_object *value = json_object_new_array();

                json_object_array_add(value, json_plain(source->sleeps));
                json_object_array_add(values, value);
                json_add_text(names, source->name);
                json_add_text(totals, total);
        }
        return page_rows(names, parts, values, totals);
}

static json_object *table_of_sources(const Report *report)
{
        static const PageColumn columns[] = { { "Source" },
                                              { "Sleeps", true },
                                              { "A second", true },
                                              { "Lost residency, s", true } };
        json_object *table = page_table(columns, G_N_ELEMENTS(columns));

        for (guint i = 0; i < report->sources->len; i++) {
                const ReportSource *source = &g_array_index(report->sources, ReportSource, i);
                g_autofree char *sleeps = number_text(source->sleeps);
                g_autofree char *rate = number_text(source->sleeps / report->seconds);
                g_autofree char *lacked = number_text(source->lacked_seconds);

                page_table_row(table, (const char *[]){ source->name, sleeps, rate, lacked },
                               G_N_ELEMENTS(columns));
        }
        return table;
}

static void add_sources(Writer *writer)
{
        json_object *figures = json_object_new_array();

        for (size_t r = 0; r < writer->n; r++) {
                const Report *report = writer->reports[r];
                json_object *figure = add_figure(writer, figures, "sources", r,
                                                 "Sleeps by what ended them");

                if (report->sources->len == 0)
                        continue;
                json_put(figure, "plot", describe_sources(report));
                json_put(figure, "table", table_of_sources(report));
                if (report->sources_left)
                        add_note(figure,
                                 g_strdup_printf("%zu more are left out.", report->sources_left));
        }
        add_section(writer, "Wake-up sources",
                    "What ended the most sleeps, by the sleep ledger. Lost residency is what "
                    "these sleeps lacked to the target residency of the deepest state.",
                    figures);
}

static void add_events(Writer *writer, size_t r)
{
        static const PageColumn columns[] = {
                { "Time" }, { "Event" }, { "CPUs" }, { "Policy" }, { "Reason" }
        };
        const Report *report = writer->reports[r];
        json_object *table = page_table(columns, G_N_ELEMENTS(columns));
        json_object *ids = json_object_new_array();
        g_autofree char *left = g_strdup_printf("%zu earlier ones are left out.",
                                                report->events_left);

        for (guint i = 0; i < report->events->len; i++) {
                const ReportEvent *event = &g_array_index(report->events, ReportEvent, i);
                g_autofree char *time = report_time_text(event->seconds + writer->offset);
                g_autofree char *id = event_id(r, i);

                json_add_text(ids, id);
                page_table_row(table,
                               (const char *[]){ time, event->kind, cpus_text(event), event->policy,
                                                 event->text },
                               G_N_ELEMENTS(columns));
        }
        json_put(table, "ids", ids);
        if (writer->n > 1)
                json_put_text(table, "caption", report_name(report));
        page_part(writer->page, "table", table);
        if (report->events->len == 0)
                page_text(writer->page, "note", "None were recorded.");
        if (report->events_left)
                page_text(writer->page, "note", left);
}

/* The time zone of this machine when the first recording began; UTC if that is not known. */
static void find_zone(Writer *writer)
{
        double begin = writer->reports[0]->begin;
        g_autoptr(GDateTime) time = isfinite(begin) && fabs(begin) < 2e11
                                            ? g_date_time_new_from_unix_local((gint64)begin)
                                            : NULL;
        g_autofree char *zone = g_strdup_printf(
                "time (%s)", time ? g_date_time_get_timezone_abbreviation(time) : "UTC");

        writer->offset = time ? (double)g_date_time_get_utc_offset(time) / 1e6 : 0;
        json_put_text(writer->page, "zone", zone);
}

/* The times of all plots, and what their points leave out. */
static void add_times(Writer *writer)
{
        json_object *times = json_object_new_array();
        size_t most = 0;

        for (size_t r = 0; r < writer->n; r++) {
                const Reduced *samples = writer->reports[r]->samples;

                json_object_array_add(times, reduced_times(samples, writer->offset));
                most = MAX(most, reduced_united(samples));
        }
        json_put(writer->page, "times", times);
        if (most > 1) {
                g_autofree char *text = g_strdup_printf(
                        "Each point of a plot unites up to %zu samples: lines are their means, and "
                        "bands go from the smallest to the largest sample. Stacks are means.",
                        most);

                page_text(writer->page, "note", text);
        }
}

int report_write(const Report *const *reports, size_t n, const char *path)
{
        g_autofree char *title = report_title(reports, n);
        g_autoptr(json_object) page = page_new(title);
        Writer writer = { page, reports, n };

        find_zone(&writer);
        report_put_summary(page, reports, n, writer.offset);
        add_times(&writer);
        for (int chart = 0; chart < REPORT_CHARTS; chart++)
                add_charts(&writer, (ReportChart)chart);
        add_histograms(&writer, REPORT_LATENCIES);
        add_histograms(&writer, REPORT_SLEEPS);
        add_sources(&writer);
        page_text(page, "heading", "Events and their reasons");
        for (size_t r = 0; r < n; r++)
                add_events(&writer, r);
        return page_write(page, "report", path);
}
