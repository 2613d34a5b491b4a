/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab report: what a recording comes to.
 */
#include <math.h>

#include "report.h"

static void series_clear(gpointer data)
{
        g_free(((ReportSeries *)data)->name);
}

static void event_clear(gpointer data)
{
        ReportEvent *event = data;

        g_free(event->kind);
        g_free(event->cpus);
        g_free(event->policy);
        g_free(event->text);
}

static void source_clear(gpointer data)
{
        g_free(((ReportSource *)data)->name);
}

static void saving_clear(gpointer data)
{
        ReportSaving *saving = data;

        g_free(saving->policy);
        g_free(saving->verdict);
        g_free(saving->source);
}

static GArray *list_new(size_t size, GDestroyNotify clear)
{
        GArray *list = g_array_new(FALSE, TRUE, (guint)size);

        g_array_set_clear_func(list, clear);
        return list;
}

Report *report_new(const char *path, size_t points)
{
        Report *report = g_new0(Report, 1);

        report->path = g_strdup(path);
        report->facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        report->series = list_new(sizeof(ReportSeries), series_clear);
        report->events = list_new(sizeof(ReportEvent), event_clear);
        report->sources = list_new(sizeof(ReportSource), source_clear);
        report->savings = list_new(sizeof(ReportSaving), saving_clear);
        for (int i = 0; i < REPORT_HISTOGRAMS; i++)
                report->histograms[i] = list_new(sizeof(ReportBucket), NULL);
        report->notes = g_ptr_array_new_with_free_func(g_free);
        report->samples = reduced_new(points / 2);
        report->cpus = report->cores = report->packages = NAN;
        report->begin = report->end = NAN;
        report->joules = report->transitions = NAN;
        for (int i = 0; i < REPORT_MEANS; i++)
                report->means[i] = NAN;
        return report;
}

void report_free(Report *report)
{
        g_free(report->path);
        g_hash_table_unref(report->facts);
        g_array_unref(report->series);
        g_array_unref(report->events);
        g_array_unref(report->sources);
        g_array_unref(report->savings);
        for (int i = 0; i < REPORT_HISTOGRAMS; i++)
                g_array_unref(report->histograms[i]);
        g_ptr_array_unref(report->notes);
        reduced_free(report->samples);
        g_free(report);
}

const char *report_fact(const Report *report, const char *key)
{
        return g_hash_table_lookup(report->facts, key);
}

/* The number that the next column gets. */
static size_t next_column(const Report *report)
{
        size_t next = 0;

        for (guint i = 0; i < report->series->len; i++) {
                const ReportSeries *series = &g_array_index(report->series, ReportSeries, i);

                next = MAX(next, MAX(series->column, series->high) + 1);
        }
        return next;
}

static size_t find_column(Report *report, ReportChart chart, ReportKind kind, const char *name,
                          size_t more)
{
        ReportSeries added = { chart, kind };
        size_t n = 0;

        for (guint i = 0; i < report->series->len; i++) {
                const ReportSeries *series = &g_array_index(report->series, ReportSeries, i);

                if (series->chart == chart && g_str_equal(series->name, name))
                        return series->column;
                n += series->chart == chart;
        }
        if (n >= (kind == REPORT_STACK ? REPORT_STACKS : REPORT_SERIES))
                return REPORT_NO_COLUMN;
        added.name = g_strdup(name);
        added.column = next_column(report);
        added.low = added.column + more;
        added.high = added.column + 2 * more;
        g_array_append_val(report->series, added);
        return added.column;
}

size_t report_column(Report *report, ReportChart chart, ReportKind kind, const char *name)
{
        return find_column(report, chart, kind, name, 0);
}

size_t report_column_interval(Report *report, ReportChart chart, const char *name)
{
        return find_column(report, chart, REPORT_LINE, name, 1);
}

void report_note(Report *report, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        g_ptr_array_add(report->notes, g_strdup_vprintf(format, arguments));
        va_end(arguments);
}

/* Half of the histogram's counts, 99 %, ..., do not exceed this, to a bucket. NaN if it is empty.
 */
static double quantile(const GArray *buckets, double share)
{
        double sum = 0, seen = 0;

        for (guint i = 0; i < buckets->len; i++)
                sum += g_array_index(buckets, ReportBucket, i).count;
        for (guint i = 0; i < buckets->len; i++) {
                seen += g_array_index(buckets, ReportBucket, i).count;
                if (seen > 0 && seen >= share * sum)
                        return g_array_index(buckets, ReportBucket, i).to_us;
        }
        return NAN;
}

static json_object *describe_saving(const ReportSaving *saving)
{
        json_object *object = json_object_new_object();

        json_put_text(object, "policy", saving->policy);
        json_put_text(object, "verdict", saving->verdict);
        json_put_text(object, "energy_source", saving->source);
        json_put_real(object, "saved_joules", saving->joules[0], 1);
        json_put_real(object, "saved_joules_low", saving->joules[1], 1);
        json_put_real(object, "saved_joules_high", saving->joules[2], 1);
        json_put_real(object, "saved_watts", saving->watts[0], 3);
        json_put_real(object, "saved_watts_low", saving->watts[1], 3);
        json_put_real(object, "saved_watts_high", saving->watts[2], 3);
        json_put_real(object, "effective_percent", saving->share * 100, 1);
        return object;
}

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

static json_object *describe_sources(const GArray *sources)
{
        json_object *array = json_object_new_array();

        for (guint i = 0; i < sources->len; i++) {
                const ReportSource *source = &g_array_index(sources, ReportSource, i);
                json_object *object = json_add(array);

                json_put_text(object, "name", source->name);
                json_put_int(object, "sleeps", (int64_t)source->sleeps);
                json_put_real(object, "lacked_seconds", source->lacked_seconds, 3);
        }
        return array;
}

static void describe_facts(json_object *object, const Report *report)
{
        static const char *const facts[] = { "program",       "version",   "hostname",
                                             "kernel",        "cpu_model", "command",
                                             "energy_source", "daemon",    "sleeps" };

        for (size_t i = 0; i < G_N_ELEMENTS(facts); i++)
                json_put_text(object, facts[i], report_fact(report, facts[i]));
}

static void put_count(json_object *object, const char *key, double value)
{
        json_put(object, key, isfinite(value) ? json_object_new_int64((int64_t)value) : NULL);
}

json_object *report_describe(const Report *report)
{
        json_object *object = json_object_new_object(), *savings = json_object_new_array();
        json_object *notes = json_object_new_array();

        json_put_text(object, "file", report->path);
        describe_facts(object, report);
        put_count(object, "cpus", report->cpus);
        put_count(object, "cores", report->cores);
        put_count(object, "packages", report->packages);
        put_count(object, "begin_usec", report->begin * 1e6);
        put_count(object, "end_usec", report->end * 1e6);
        json_put_real(object, "recorded_seconds", report->seconds, 3);
        json_put_int(object, "samples", (int64_t)reduced_samples(report->samples));
        json_put_int(object, "samples_per_point", (int64_t)reduced_united(report->samples));
        json_put_int(object, "gaps", (int64_t)reduced_gaps(report->samples));
        json_put_real(object, "busy_percent", report->means[REPORT_MEAN_BUSY_SHARE] * 100, 2);
        json_put_real(object, "parked_cpus_mean", report->means[REPORT_MEAN_PARKED_CPUS], 2);
        json_put_real(object, "parked_cores_mean", report->means[REPORT_MEAN_PARKED_CORES], 2);
        json_put_real(object, "watts_mean", report->means[REPORT_MEAN_WATTS], 3);
        json_put_real(object, "joules", report->joules, 1);
        json_put_real(object, "wakeups_per_second", report->means[REPORT_MEAN_WAKEUPS], 2);
        put_count(object, "transitions", report->transitions);
        for (guint i = 0; i < report->savings->len; i++)
                json_object_array_add(
                        savings, describe_saving(&g_array_index(report->savings, ReportSaving, i)));
        json_put(object, "savings", savings);
        json_put(object, "latency", describe_histogram(report->histograms[REPORT_LATENCIES]));
        json_put(object, "sleep_length", describe_histogram(report->histograms[REPORT_SLEEPS]));
        json_put(object, "wakeup_sources", describe_sources(report->sources));
        for (guint i = 0; i < report->notes->len; i++)
                json_add_text(notes, report->notes->pdata[i]);
        json_put(object, "notes", notes);
        return object;
}
