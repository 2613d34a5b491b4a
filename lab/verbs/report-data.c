/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab report: what a recording comes to.
 */
#include <math.h>

#include "report.h"

/* Texts of a recording are cut after so many bytes. */
#define TEXT_MAX 600

/* The members with the power that a policy saves, and its 95 % interval. */
#define SAVED_WATTS "saved_watts saved_watts_low saved_watts_high"

static void series_clear(gpointer data)
{
        g_free(((ReportSeries *)data)->name);
}

Report *report_new(const char *path, size_t points)
{
        Report *report = g_new0(Report, 1);

        report->path = g_strdup(path);
        report->facts = json_object_new_object();
        report->series = g_array_new(FALSE, TRUE, sizeof(ReportSeries));
        g_array_set_clear_func(report->series, series_clear);
        report->events = json_object_new_array();
        report->sources = json_object_new_array();
        report->savings = json_object_new_array();
        for (int i = 0; i < REPORT_HISTOGRAMS; i++)
                report->histograms[i] = g_array_new(FALSE, TRUE, sizeof(ReportBucket));
        report->notes = json_object_new_array();
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
        json_object_put(report->facts);
        g_array_unref(report->series);
        json_object_put(report->events);
        json_object_put(report->sources);
        json_object_put(report->savings);
        for (int i = 0; i < REPORT_HISTOGRAMS; i++)
                g_array_unref(report->histograms[i]);
        json_object_put(report->notes);
        reduced_free(report->samples);
        g_free(report);
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

/* The same with an interval around it: the columns that follow the returned one are its low and
 * high end. */
static size_t column_interval(Report *report, ReportChart chart, const char *name)
{
        return find_column(report, chart, REPORT_LINE, name, 1);
}

void report_note(Report *report, const char *format, ...)
{
        g_autofree char *note = NULL;
        va_list arguments;

        va_start(arguments, format);
        note = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        json_add_text(report->notes, note);
}

char *report_text(const char *text)
{
        g_autofree char *cut = g_strndup(text, TEXT_MAX);

        return g_utf8_make_valid(cut, -1);
}

void report_put_text(json_object *object, const char *key, const char *text)
{
        g_autofree char *cut = text ? report_text(text) : NULL;

        json_put_text(object, key, cut);
}

/* The policy's object, as --json has it, which is added if it is not there. NULL: there are too
 * many. */
static json_object *saving_of(Report *report, const char *policy)
{
        json_object *saving = json_find(report->savings, "policy", policy);

        if (saving)
                return saving;
        if (json_length(report->savings) == REPORT_SERIES)
                return NULL;
        saving = json_add(report->savings);
        json_put_text(saving, "policy", policy);
        json_put_members(
                saving, NULL,
                "verdict energy_source saved_joules saved_joules_low saved_joules_high " SAVED_WATTS
                " effective_percent");
        return saving;
}

/* Takes a value of a policy, whose column has this name. */
static void take_saving(json_object *saving, const char *name, double number, const char *text)
{
        if (text && g_str_equal(name, "saved_verdict"))
                report_put_text(saving, "verdict", text);
        if (text && g_str_equal(name, "saved_source"))
                report_put_text(saving, "energy_source", text);
        if (isfinite(number) && g_str_equal(name, "effective_share"))
                json_put_real(saving, "effective_percent", number * 100, 1);
        else if (isfinite(number) && json_object_object_get_ex(saving, name, NULL))
                json_put_real(saving, name, number, g_str_has_prefix(name, "saved_watts") ? 3 : 1);
}

/* True if a row has a value in this column, and the column is about what a policy saves. */
static bool is_about_saving(const RecordedColumn *column, size_t row)
{
        return (g_str_has_prefix(column->name, "saved_") ||
                g_str_equal(column->name, "effective_share")) &&
               (column->numbers ? isfinite(column->numbers[row]) : column->texts[row] != NULL);
}

/* What a policy saves is not known any more if a row is about the policy and does not have it: the
 * load is another one, for example. */
static void forget_watts(Report *report, const RecordedTable *machine, size_t row)
{
        json_object *saving;

        JSON_FOREACH(saving, report->savings)
                for (int k = 0; k < machine->n_columns; k++)
                        if (is_about_saving(&machine->columns[k], row) &&
                            g_str_equal(machine->columns[k].of, json_text(saving, "policy")))
                                json_put_members(saving, NULL, SAVED_WATTS);
}

void report_savings(Report *report, const RecordedTable *machine, size_t row)
{
        static const char *const ends[] = { "saved_watts", "saved_watts_low", "saved_watts_high" };
        json_object *saving;

        forget_watts(report, machine, row);
        for (int i = 0; i < machine->n_columns; i++) {
                const RecordedColumn *column = &machine->columns[i];

                if (!is_about_saving(column, row))
                        continue;
                saving = saving_of(report, column->of);
                if (saving)
                        take_saving(saving, column->name,
                                    column->numbers ? column->numbers[row] : NAN,
                                    column->texts ? column->texts[row] : NULL);
        }
        JSON_FOREACH(saving, report->savings) {
                size_t to;

                if (!json_get(saving, "saved_watts"))
                        continue;
                to = column_interval(report, REPORT_SAVED, json_text(saving, "policy"));
                if (to == REPORT_NO_COLUMN)
                        continue;
                for (size_t k = 0; k < G_N_ELEMENTS(ends); k++)
                        reduced_put(report->samples, to + k, json_number(saving, ends[k], NAN));
        }
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

static void put_count(json_object *object, const char *key, double value)
{
        json_put(object, key, isfinite(value) ? json_object_new_int64((int64_t)value) : NULL);
}

json_object *report_describe(const Report *report)
{
        json_object *object = json_object_new_object();

        json_put_text(object, "file", report->path);
        json_put_members(object, report->facts,
                         "program version hostname kernel cpu_model command energy_source daemon "
                         "sleeps");
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
        json_put(object, "savings", json_object_get(report->savings));
        json_put(object, "latency", describe_histogram(report->histograms[REPORT_LATENCIES]));
        json_put(object, "sleep_length", describe_histogram(report->histograms[REPORT_SLEEPS]));
        json_put(object, "wakeup_sources", json_object_get(report->sources));
        json_put(object, "notes", json_object_get(report->notes));
        return object;
}
