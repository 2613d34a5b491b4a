/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl report: the page.
 *
 * It begins with a summary in words and as a table. A section for each kind of plot follows, with
 * the recordings next to each other and on the same scale. Every plot is there as SVG and as a
 * table; where dygraphs is installed it goes into the page, and report.js makes plots over time
 * live.
 */
#include <math.h>
#include <string.h>

#include "page-files.h"
#include "page.h"
#include "report.h"

#define WIDTH        900 /* of a plot, */
#define WIDTH_BESIDE 600 /* with others next to it */
#define HEIGHT       300
#define TABLE_ROWS   60 /* of the table of a plot */
#define TICKS        7  /* of a y axis */

#define DYGRAPHS DYGRAPHS_DIR "/dygraph.min.js"

typedef struct ChartKind {
        const char *title, *unit, *about;
        double max; /* of the axis; 0: by the data */
        bool marks; /* has the events */
} ChartKind;

static const ChartKind chart_kinds[REPORT_CHARTS] = {
        [REPORT_CPUS] = { "Parked CPUs over load", "CPUs",
                          "Vertical lines are events: changes of the set of parked CPUs, profiles, "
                          "holds. Follow one to its reason.",
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

/* All of what is drawn of a chart of a recording; arrays are freed with it. */
typedef struct Drawing {
        Plot plot;
        PlotSeries *series;
        GPtrArray *memory;
} Drawing;

typedef struct Writer {
        FILE *file;
        const Report *const *reports;
        size_t n;
        double offset;              /* of the time zone, in seconds */
        char *zone;                 /* "time (CET)" */
        double *times[REPORT_MOST]; /* of the samples' points, shifted by the offset */
        size_t n_times[REPORT_MOST];
        json_object *plots[REPORT_MOST]; /* for the script */
} Writer;

static double *keep(Drawing *drawing, double *values)
{
        g_ptr_array_add(drawing->memory, values);
        return values;
}

static void drawing_clear(Drawing *drawing)
{
        g_ptr_array_unref(drawing->memory);
        g_free(drawing->series);
}

/* True if a point unites samples, so that its series has a band. */
static bool has_band(const Report *report, const ReportSeries *series)
{
        return series->kind != PLOT_STACK &&
               (series->low != series->column || reduced_united(report->samples) > 1);
}

static void draw_series(Writer *writer, size_t r, const ReportSeries *from, Drawing *drawing)
{
        const Report *report = writer->reports[r];
        const Reduced *samples = report->samples;
        PlotSeries *to = &drawing->series[drawing->plot.n_series++];

        *to = (PlotSeries){ from->name, from->kind, writer->n_times[r], writer->times[r],
                            keep(drawing, reduced_means(samples, from->column)) };
        if (!has_band(report, from))
                return;
        if (from->low != from->column) {
                to->low = keep(drawing, reduced_means(samples, from->low));
                to->high = keep(drawing, reduced_means(samples, from->high));
        } else {
                to->low = keep(drawing, reduced_least(samples, from->column));
                to->high = keep(drawing, reduced_greatest(samples, from->column));
        }
}

/* All of the recording's time, also where a chart has nothing. */
static PlotAxis time_axis(const Writer *writer, size_t r)
{
        size_t n = writer->n_times[r];
        const double *times = writer->times[r];

        return (PlotAxis){ writer->zone, false, n ? times[0] : 0, n ? times[n - 1] : 0, true };
}

/* The chart of a recording; without series if it has none. */
static Drawing draw(Writer *writer, ReportChart chart, size_t r)
{
        const GArray *series = writer->reports[r]->series;
        Drawing drawing = { .memory = g_ptr_array_new_with_free_func(g_free) };

        drawing.series = g_new0(PlotSeries, MAX(series->len, 1));
        drawing.plot = (Plot){ .series = drawing.series,
                               .x = time_axis(writer, r),
                               .y = { chart_kinds[chart].unit, .max = chart_kinds[chart].max },
                               .width = writer->n > 1 ? WIDTH_BESIDE : WIDTH,
                               .height = HEIGHT };
        for (guint i = 0; i < series->len; i++)
                if (g_array_index(series, ReportSeries, i).chart == chart)
                        draw_series(writer, r, &g_array_index(series, ReportSeries, i), &drawing);
        return drawing;
}

static void widen(double *min, double *max, const double *values, size_t n)
{
        for (size_t i = 0; values && i < n; i++)
                if (isfinite(values[i])) {
                        *min = fmin(*min, values[i]);
                        *max = fmax(*max, values[i]);
                }
}

/* The same axis for a chart of all recordings: from 0 or below to something above everything. */
static PlotAxis shared_axis(const ChartKind *kind, const Drawing *drawings, size_t n)
{
        double min = 0, max = 0;

        if (kind->max > 0)
                return (PlotAxis){ kind->unit, false, 0, kind->max };
        for (size_t r = 0; r < n; r++)
                for (size_t s = 0; s < drawings[r].plot.n_series; s++) {
                        const PlotSeries *series = &drawings[r].series[s];

                        widen(&min, &max, series->y, series->n);
                        widen(&min, &max, series->low, series->n);
                        widen(&min, &max, series->high, series->n);
                }
        if (max <= min)
                max = min + 1;
        return plot_axis_round((PlotAxis){ kind->unit, false, min, max }, TICKS);
}

static json_object *json_values(const double *values, size_t n)
{
        json_object *array = json_object_new_array();

        for (size_t i = 0; i < n; i++)
                json_object_array_add(array, isfinite(values[i]) ? json_plain(values[i]) : NULL);
        return array;
}

static json_object *describe_series(const Drawing *drawing, size_t s)
{
        const PlotSeries *series = &drawing->series[s];
        json_object *object = json_object_new_object();
        g_autofree char *name = markup_clean(series->name);

        json_put_text(object, "name", name);
        json_put_bool(object, "steps", series->kind == PLOT_STEPS);
        json_put_int(object, "colour", (int64_t)plot_colour(&drawing->plot, s));
        json_put_int(object, "dash", (int64_t)plot_dash(&drawing->plot, s));
        json_put(object, "mid", json_values(series->y, series->n));
        json_put(object, "low", series->low ? json_values(series->low, series->n) : NULL);
        json_put(object, "high", series->high ? json_values(series->high, series->n) : NULL);
        return object;
}

/* What the script draws. */
static json_object *describe_plot(const Drawing *drawing, const char *id, bool marks)
{
        const Plot *plot = &drawing->plot;
        json_object *object = json_object_new_object(), *series = json_object_new_array();
        json_object *range = json_object_new_array();

        json_put_text(object, "id", id);
        json_put_text(object, "unit", plot->y.title);
        json_put_bool(object, "stacked", plot->n_series && plot->series[0].kind == PLOT_STACK);
        json_put_bool(object, "marks", marks);
        json_object_array_add(range, json_plain(plot->y.min));
        json_object_array_add(range, json_plain(plot->y.max));
        json_put(object, "range", range);
        for (size_t s = 0; s < plot->n_series; s++)
                json_object_array_add(series, describe_series(drawing, s));
        json_put(object, "series", series);
        return object;
}

static char *time_text(const Writer *writer, double seconds)
{
        g_autoptr(GDateTime) time = isfinite(seconds) && fabs(seconds) < 2e11
                                            ? g_date_time_new_from_unix_utc(
                                                      (gint64)floor(seconds + writer->offset))
                                            : NULL;

        return time ? g_date_time_format(time, "%Y-%m-%d %H:%M:%S") : NULL;
}

static char *number_text(double value)
{
        return isfinite(value) ? g_strdup_printf(fabs(value) >= 1000 ? "%.0f" : "%.4g", value)
                               : NULL;
}

/* What a plot shows, as a table of as many rows as a person reads. */
static void write_values(Writer *writer, const Drawing *drawing)
{
        const Plot *plot = &drawing->plot;
        size_t n = plot->series[0].n, step = MAX((n + TABLE_ROWS - 1) / TABLE_ROWS, 1);
        g_autofree PageColumn *columns = g_new0(PageColumn, plot->n_series + 1);

        columns[0] = (PageColumn){ writer->zone };
        for (size_t s = 0; s < plot->n_series; s++)
                columns[s + 1] = (PageColumn){ plot->series[s].name, true };
        fputs("<details><summary>Values as a table</summary>\n", writer->file);
        page_table_begin(writer->file, plot->y.title, columns, plot->n_series + 1);
        for (size_t i = 0; i + 1 < n; i += step) {
                g_auto(GStrv) cells = g_new0(char *, plot->n_series + 2);

                cells[0] = time_text(writer, plot->series[0].x[i] - writer->offset);
                for (size_t s = 0; s < plot->n_series; s++)
                        cells[s + 1] = number_text(plot->series[s].y[i]) ?: g_strdup("-");
                page_table_row(writer->file, columns, plot->n_series + 1, NULL,
                               (const char *const *)cells);
        }
        page_table_end(writer->file);
        fputs("</details>\n", writer->file);
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

/* The events as marks, whose texts and links are kept with the drawing. */
static void draw_marks(const Writer *writer, size_t r, Drawing *drawing)
{
        const GArray *events = writer->reports[r]->events;
        PlotMark *marks = g_new0(PlotMark, MAX(events->len, 1));

        g_ptr_array_add(drawing->memory, marks);
        for (guint i = 0; i < events->len; i++) {
                const ReportEvent *event = &g_array_index(events, ReportEvent, i);
                char *text = event_text(event), *id = event_id(r, i);

                g_ptr_array_add(drawing->memory, text);
                g_ptr_array_add(drawing->memory, id);
                marks[i] = (PlotMark){ event->seconds + writer->offset, text, id };
        }
        drawing->plot.marks = marks;
        drawing->plot.n_marks = events->len;
}

/* A figure, which is named by its recording if there are several, else by its section. */
static void begin_figure(Writer *writer, const char *id, size_t r, const char *title)
{
        fprintf(writer->file, "<figure id=\"%s\" aria-label=\"", id);
        markup_writef(writer->file, "%s", title);
        if (writer->n > 1)
                markup_writef(writer->file, ": %s", report_name(writer->reports[r]));
        fputs("\">", writer->file);
        if (writer->n > 1)
                markup_element(writer->file, "figcaption", report_name(writer->reports[r]));
        fputs("\n", writer->file);
}

static void write_chart(Writer *writer, ReportChart chart, size_t r, Drawing *drawing)
{
        const ChartKind *kind = &chart_kinds[chart];
        g_autofree char *id = g_strdup_printf("plot-%zu-%d", r, chart);

        begin_figure(writer, id, r, kind->title);
        if (drawing->plot.n_series == 0 || writer->n_times[r] == 0) {
                fputs("<p class=\"note\">Not recorded.</p></figure>\n", writer->file);
                return;
        }
        if (kind->marks)
                draw_marks(writer, r, drawing);
        plot_write(writer->file, &drawing->plot);
        if (kind->marks && writer->reports[r]->events_left)
                fprintf(writer->file, "<p class=\"note\">Only the last %u events are marked.</p>\n",
                        writer->reports[r]->events->len);
        write_values(writer, drawing);
        fputs("</figure>\n", writer->file);
        json_object_array_add(writer->plots[r], describe_plot(drawing, id, kind->marks));
}

static void begin_section(Writer *writer, const char *title, const char *about)
{
        markup_element(writer->file, "h2", title);
        if (about) {
                fputs("\n", writer->file);
                markup_element(writer->file, "p class=\"about\"", about);
        }
        fputs(writer->n > 1 ? "\n<div class=\"side-by-side\">\n" : "\n<div>\n", writer->file);
}

static void end_section(Writer *writer)
{
        fputs("</div>\n", writer->file);
}

static void write_charts(Writer *writer, ReportChart chart)
{
        Drawing drawings[REPORT_MOST];
        bool any = false;
        PlotAxis axis;

        for (size_t r = 0; r < writer->n; r++) {
                drawings[r] = draw(writer, chart, r);
                any |= drawings[r].plot.n_series > 0 && writer->n_times[r] > 0;
        }
        if (any) {
                axis = shared_axis(&chart_kinds[chart], drawings, writer->n);
                begin_section(writer, chart_kinds[chart].title, chart_kinds[chart].about);
                for (size_t r = 0; r < writer->n; r++) {
                        drawings[r].plot.y = axis;
                        write_chart(writer, chart, r, &drawings[r]);
                }
                end_section(writer);
        }
        for (size_t r = 0; r < writer->n; r++)
                drawing_clear(&drawings[r]);
}

/* How many were how long, both on logarithmic axes. */
static void write_buckets(Writer *writer, const GArray *buckets, const char *unit)
{
        size_t n = buckets->len;
        g_autofree double *x = g_new(double, n), *y = g_new(double, n), *widths = g_new(double, n);
        const PlotSeries series = { NULL, PLOT_BARS, n, x, y, .widths = widths };
        double most = 1;

        for (size_t i = 0; i < n; i++) {
                const ReportBucket *bucket = &g_array_index(buckets, ReportBucket, i);

                x[i] = bucket->from_us > 0 ? bucket->from_us : bucket->to_us / 2;
                widths[i] = bucket->to_us - x[i];
                y[i] = bucket->count;
                most = fmax(most, y[i]);
        }
        plot_write(writer->file, &(Plot){ NULL,
                                          { "us", .log = true },
                                          { unit, true, 0.5, pow(10, ceil(log10(most * 1.01))) },
                                          &series,
                                          1,
                                          writer->n > 1 ? WIDTH_BESIDE : WIDTH,
                                          HEIGHT });
}

static void write_bucket_table(Writer *writer, const GArray *buckets, const char *unit)
{
        const PageColumn columns[] = { { "From, us", true }, { "To, us", true }, { unit, true } };

        fputs("<details><summary>Values as a table</summary>\n", writer->file);
        page_table_begin(writer->file, NULL, columns, G_N_ELEMENTS(columns));
        for (guint i = 0; i < buckets->len; i++) {
                const ReportBucket *bucket = &g_array_index(buckets, ReportBucket, i);
                g_autofree char *from = number_text(bucket->from_us);
                g_autofree char *to = number_text(bucket->to_us);
                g_autofree char *count = number_text(bucket->count);

                page_table_row(writer->file, columns, G_N_ELEMENTS(columns), NULL,
                               (const char *[]){ from, to, count });
        }
        page_table_end(writer->file);
        fputs("</details>\n", writer->file);
}

static void write_quantiles(Writer *writer, const GArray *buckets)
{
        g_autofree char *half = report_us_text(report_quantile(buckets, 0.5));
        g_autofree char *most = report_us_text(report_quantile(buckets, 0.99));
        g_autofree char *all = report_us_text(report_quantile(buckets, 1));

        fprintf(writer->file, "<p>Half are at most %s, 99 %% at most %s, all at most %s.</p>\n",
                half, most, all);
}

static void write_histograms(Writer *writer, ReportHistogram which)
{
        static const char *const titles[] = { "Wake-up latency", "Lengths of sleeps" };
        static const char *const units[] = { "wake-ups", "sleeps" };
        static const char *const abouts[] = {
                "How late timers and woken tasks ran, on all CPUs together.",
                "How long CPUs slept, all together.",
        };
        bool any = false;

        for (size_t r = 0; r < writer->n; r++)
                any |= writer->reports[r]->histograms[which]->len > 0;
        if (!any)
                return;
        begin_section(writer, titles[which], abouts[which]);
        for (size_t r = 0; r < writer->n; r++) {
                const GArray *buckets = writer->reports[r]->histograms[which];
                g_autofree char *id = g_strdup_printf("histogram-%zu-%d", r, which);

                begin_figure(writer, id, r, titles[which]);
                if (buckets->len > 0) {
                        write_quantiles(writer, buckets);
                        write_buckets(writer, buckets, units[which]);
                        write_bucket_table(writer, buckets, units[which]);
                } else {
                        fputs("<p class=\"note\">Not recorded.</p>", writer->file);
                }
                fputs("</figure>\n", writer->file);
        }
        end_section(writer);
}

static void write_source_plot(Writer *writer, const Report *report)
{
        const GArray *sources = report->sources;
        g_autofree const char **names = g_new(const char *, MAX(sources->len, 1));
        g_autofree double *values = g_new(double, MAX(sources->len, 1));
        g_auto(GStrv) totals = g_new0(char *, sources->len + 1);
        static const char *const parts[] = { "sleeps ended" };

        for (guint i = 0; i < sources->len; i++) {
                const ReportSource *source = &g_array_index(sources, ReportSource, i);

                names[i] = source->name;
                values[i] = source->sleeps;
                totals[i] = number_text(source->sleeps);
        }
        plot_write_rows(writer->file, &(PlotRows){ "What ended sleeps", sources->len, 1, names,
                                                   parts, values, (const char *const *)totals,
                                                   writer->n > 1 ? WIDTH_BESIDE : WIDTH });
}

static void write_source_table(Writer *writer, const Report *report)
{
        static const PageColumn columns[] = { { "Source" },
                                              { "Sleeps", true },
                                              { "A second", true },
                                              { "Lost residency, s", true } };

        fputs("<details><summary>Values as a table</summary>\n", writer->file);
        page_table_begin(writer->file, NULL, columns, G_N_ELEMENTS(columns));
        for (guint i = 0; i < report->sources->len; i++) {
                const ReportSource *source = &g_array_index(report->sources, ReportSource, i);
                g_autofree char *sleeps = number_text(source->sleeps);
                g_autofree char *rate = number_text(source->sleeps / report->seconds);
                g_autofree char *lacked = number_text(source->lacked_seconds);

                page_table_row(writer->file, columns, G_N_ELEMENTS(columns), NULL,
                               (const char *[]){ source->name, sleeps, rate, lacked });
        }
        page_table_end(writer->file);
        fputs("</details>\n", writer->file);
}

static void write_sources(Writer *writer)
{
        bool any = false;

        for (size_t r = 0; r < writer->n; r++)
                any |= writer->reports[r]->sources->len > 0;
        if (!any)
                return;
        begin_section(writer, "Wake-up sources",
                      "What ended the most sleeps, by the sleep ledger. Lost residency is what "
                      "these sleeps lacked to the target residency of the deepest state.");
        for (size_t r = 0; r < writer->n; r++) {
                const Report *report = writer->reports[r];
                g_autofree char *id = g_strdup_printf("sources-%zu", r);

                begin_figure(writer, id, r, "Sleeps by what ended them");
                if (report->sources->len > 0) {
                        write_source_plot(writer, report);
                        write_source_table(writer, report);
                } else {
                        fputs("<p class=\"note\">Not recorded.</p>", writer->file);
                }
                if (report->sources_left)
                        fprintf(writer->file, "<p class=\"note\">%zu more are left out.</p>\n",
                                report->sources_left);
                fputs("</figure>\n", writer->file);
        }
        end_section(writer);
}

static void write_events(Writer *writer)
{
        static const PageColumn columns[] = {
                { "Time" }, { "Event" }, { "CPUs" }, { "Policy" }, { "Reason" }
        };

        begin_section(writer, "Events and their reasons", NULL);
        for (size_t r = 0; r < writer->n; r++) {
                const Report *report = writer->reports[r];
                const char *name = writer->n > 1 ? report_name(report) : NULL;

                fputs("<div>", writer->file);
                page_table_begin(writer->file, name, columns, G_N_ELEMENTS(columns));
                for (guint i = 0; i < report->events->len; i++) {
                        const ReportEvent *event = &g_array_index(report->events, ReportEvent, i);
                        g_autofree char *id = event_id(r, i);
                        g_autofree char *time = time_text(writer, event->seconds);

                        page_table_row(writer->file, columns, G_N_ELEMENTS(columns), id,
                                       (const char *[]){ time, event->kind, cpus_text(event),
                                                         event->policy, event->text });
                }
                page_table_end(writer->file);
                if (report->events->len == 0)
                        fputs("<p class=\"note\">None were recorded.</p>", writer->file);
                if (report->events_left)
                        fprintf(writer->file,
                                "<p class=\"note\">%zu earlier ones are left out.</p>\n",
                                report->events_left);
                fputs("</div>\n", writer->file);
        }
        end_section(writer);
}

/* Events for the script. */
static json_object *describe_events(const Writer *writer, size_t r)
{
        const GArray *events = writer->reports[r]->events;
        json_object *array = json_object_new_array();

        for (guint i = 0; i < events->len; i++) {
                const ReportEvent *event = &g_array_index(events, ReportEvent, i);
                g_autofree char *text = event_text(event), *clean = markup_clean(text);
                g_autofree char *id = event_id(r, i);
                json_object *object = json_object_new_object();

                json_put_real(object, "x", event->seconds + writer->offset, 3);
                json_put_text(object, "id", id);
                json_put_text(object, "text", clean);
                json_object_array_add(array, object);
        }
        return array;
}

static json_object *describe_data(const Writer *writer)
{
        json_object *data = json_object_new_object(), *array = json_object_new_array();

        for (size_t r = 0; r < writer->n; r++) {
                json_object *object = json_object_new_object(), *x = json_object_new_array();

                for (size_t i = 0; i < writer->n_times[r]; i++)
                        json_object_array_add(x, json_real(writer->times[r][i], 3));
                json_put(object, "x", x);
                json_put(object, "plots", json_object_get(writer->plots[r]));
                json_put(object, "events", describe_events(writer, r));
                json_object_array_add(array, object);
        }
        json_put(data, "recordings", array);
        return data;
}

/* The time zone of this machine when the first recording began; UTC if that is not known. */
static void find_zone(Writer *writer)
{
        double begin = writer->reports[0]->begin;
        g_autoptr(GDateTime) time = isfinite(begin) && fabs(begin) < 2e11
                                            ? g_date_time_new_from_unix_local((gint64)begin)
                                            : NULL;

        writer->offset = time ? (double)g_date_time_get_utc_offset(time) / 1e6 : 0;
        writer->zone = g_strdup_printf("time (%s)",
                                       time ? g_date_time_get_timezone_abbreviation(time) : "UTC");
}

static void begin_writer(Writer *writer, const Report *const *reports, size_t n)
{
        *writer = (Writer){ .reports = reports, .n = n };
        find_zone(writer);
        for (size_t r = 0; r < n; r++) {
                writer->times[r] = reduced_times(reports[r]->samples, &writer->n_times[r]);
                for (size_t i = 0; i < writer->n_times[r]; i++)
                        writer->times[r][i] += writer->offset;
                writer->plots[r] = json_object_new_array();
        }
}

static void end_writer(Writer *writer)
{
        for (size_t r = 0; r < writer->n; r++) {
                g_free(writer->times[r]);
                json_object_put(writer->plots[r]);
        }
        g_free(writer->zone);
}

/* What the plots leave out, and what the script can do. */
static void write_hints(Writer *writer, bool live)
{
        size_t most = 0;

        for (size_t r = 0; r < writer->n; r++)
                most = MAX(most, reduced_united(writer->reports[r]->samples));
        if (most > 1)
                fprintf(writer->file,
                        "<p class=\"note\">Each point of a plot unites up to %zu samples: lines "
                        "are "
                        "their means, and bands go from the smallest to the largest sample. Stacks "
                        "are means.</p>\n",
                        most);
        if (live)
                fputs("<p class=\"hint\" hidden=\"hidden\">Drag across a plot to zoom, with Shift "
                      "to move, double-click to see all again. Click near a vertical line for its "
                      "reason.</p>\n",
                      writer->file);
}

int report_write(const Report *const *reports, size_t n, const char *path)
{
        g_autofree char *dygraphs = NULL, *title = report_title(reports, n);
        const char *scripts[2] = { NULL, report_js };
        PageFrame frame = { title, scripts };
        Writer writer;
        Page page;
        int status;

        if (g_file_get_contents(DYGRAPHS, &dygraphs, NULL, NULL) && page_can_embed(dygraphs)) {
                scripts[0] = dygraphs;
                frame.n_scripts = G_N_ELEMENTS(scripts);
        }
        begin_writer(&writer, reports, n);
        page_open(&page, &frame);
        writer.file = page.file;
        report_write_summary(page.file, reports, n, writer.offset);
        write_hints(&writer, frame.n_scripts > 0);
        for (int chart = 0; chart < REPORT_CHARTS; chart++)
                write_charts(&writer, (ReportChart)chart);
        write_histograms(&writer, REPORT_LATENCIES);
        write_histograms(&writer, REPORT_SLEEPS);
        write_sources(&writer);
        write_events(&writer);
        frame.data = frame.n_scripts ? describe_data(&writer) : NULL;
        status = page_save(&page, "report", path);
        json_object_put(frame.data);
        end_writer(&writer);
        return status;
}
