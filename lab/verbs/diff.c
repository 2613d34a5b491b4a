/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab diff: what differs between two recordings, and which differences are more than chance.
 *
 * Each sample of a recording gives one value for each metric, a mean over all CPUs where it is one
 * of CPUs; a longer sample weighs more, as in a report. compare.h says how the means are compared.
 */
#include <math.h>

#include "compare.h"
#include "cli/verb.h"
#include "model/idle-table.h"
#include "recording/read.h"
#include "verbs.h"

/* A sample that ends so many intervals after the one before it follows a gap. */
#define GAP_INTERVALS 1.5

/* As those of diff(1). */
#define EXIT_SAME    0
#define EXIT_DIFFERS 1
#define EXIT_TROUBLE 2

typedef struct Metric {
        char *name, *of, *unit;
        GArray *samples[2], *seconds[2]; /* double; of both recordings */
        Mean mean[2];
        Difference difference;
} Metric;

typedef struct Source {
        const char *path;
        uint64_t samples;
        double seconds;
        json_object *facts;
        char *problem;      /* what of it was left out; NULL: nothing */
        double counters[2]; /* last values of columns that only grow */
        double end_usec;    /* of the last sample, CLOCK_MONOTONIC */
        double unread;      /* seconds of samples since the last one that has power */
} Source;

typedef struct Comparison {
        Source sources[2];
        int which;          /* is being read */
        GPtrArray *metrics; /* of Metric */
} Comparison;

/* Numbers of table machine that are compared as they are. */
static const char *const plain[] = {
        "load",           "running",      "blocked",         "switches",
        "pressure_share", "power_watts",  "estimated_watts", "temperature_celsius",
        "wanted_cores",   "active_cores", "holds",           NULL
};

/* Those that grow, by what they grow in a second times `scale`. */
static const struct {
        const char *column, *name, *unit;
        double scale;
} counters[] = {
        { "transitions", "transitions", "1/min", 60 },
        { "daemon_cpu_usec", "daemon_cpu_share", "share", 1e-6 },
};

/* Numbers of table cpu whose mean over the CPUs is compared. */
static const char *const by_cpu[] = { "busy_share",    "residency_share",  "parked",
                                      "frequency_khz", "latency_limit_us", NULL };

static void metric_free(gpointer data)
{
        Metric *metric = data;

        for (int i = 0; i < 2; i++) {
                g_array_unref(metric->samples[i]);
                g_array_unref(metric->seconds[i]);
        }
        g_free(metric->name);
        g_free(metric->of);
        g_free(metric->unit);
        g_free(metric);
}

static Metric *find_metric(Comparison *comparison, const char *name, const char *of,
                           const char *unit)
{
        Metric *metric;

        for (guint i = 0; i < comparison->metrics->len; i++) {
                metric = g_ptr_array_index(comparison->metrics, i);
                if (g_str_equal(metric->name, name) && g_str_equal(metric->of, of))
                        return metric;
        }
        metric = g_new0(Metric, 1);
        metric->name = g_strdup(name);
        metric->of = g_strdup(of);
        metric->unit = g_strdup(unit);
        for (int i = 0; i < 2; i++) {
                metric->samples[i] = g_array_new(FALSE, FALSE, sizeof(double));
                metric->seconds[i] = g_array_new(FALSE, FALSE, sizeof(double));
        }
        g_ptr_array_add(comparison->metrics, metric);
        return metric;
}

/* A value of a sample of so many seconds. */
static void add_value(Comparison *comparison, const char *name, const char *of, const char *unit,
                      double value, double seconds)
{
        Metric *metric;

        if (!isfinite(value) || !(seconds > 0))
                return;
        metric = find_metric(comparison, name, of, unit);
        g_array_append_val(metric->samples[comparison->which], value);
        g_array_append_val(metric->seconds[comparison->which], seconds);
}

/* What grew since the last sample; a counter that went back has begun again. */
static void add_counters(Comparison *comparison, const RecordedTable *machine, size_t row,
                         double seconds)
{
        Source *source = &comparison->sources[comparison->which];

        for (size_t i = 0; i < G_N_ELEMENTS(counters); i++) {
                double now = recorded_number(machine, counters[i].column, row);
                double before = source->counters[i];

                if (now >= before && seconds > 0)
                        add_value(comparison, counters[i].name, "", counters[i].unit,
                                  (now - before) / seconds * counters[i].scale, seconds);
                source->counters[i] = now;
        }
}

/* Forgets what was before a sample that another one was to precede: nothing was recorded then. */
static void forget_across_gap(Source *source, double end_usec, double seconds)
{
        if (end_usec - source->end_usec > GAP_INTERVALS * seconds * 1e6) {
                source->unread = 0;
                for (size_t i = 0; i < G_N_ELEMENTS(counters); i++)
                        source->counters[i] = NAN;
        }
        source->end_usec = end_usec;
}

/* A reading of power is the mean since the one before it, which may be several samples ago. */
static void add_plain(Comparison *comparison, const RecordedTable *machine, size_t row,
                      double seconds)
{
        Source *source = &comparison->sources[comparison->which];
        bool read = false;

        source->unread += seconds > 0 ? seconds : 0;
        for (int c = 0; c < machine->n_columns; c++) {
                const RecordedColumn *column = &machine->columns[c];
                bool power = g_str_has_suffix(column->name, "_watts");

                if (!column->numbers || !g_strv_contains(plain, column->name))
                        continue;
                add_value(comparison, column->name, column->of, column->unit, column->numbers[row],
                          power ? source->unread : seconds);
                read |= power && isfinite(column->numbers[row]);
        }
        source->unread = read ? 0 : source->unread;
}

static void add_machine(Comparison *comparison, const RecordedTable *machine)
{
        Source *source = &comparison->sources[comparison->which];

        for (size_t row = 0; machine && row < machine->n_rows; row++) {
                double seconds = recorded_number(machine, "interval_usec", row) / 1e6;

                source->samples++;
                if (seconds > 0)
                        source->seconds += seconds;
                forget_across_gap(source, recorded_number(machine, "monotonic_usec", row), seconds);
                add_counters(comparison, machine, row, seconds);
                add_plain(comparison, machine, row, seconds);
        }
}

/* The mean of the rows from `first` to before `end`. A share of a state that some CPUs do not have
 * is 0 for these, so that all shares add up to 1; else only the known values count. */
static double column_mean(const RecordedColumn *column, size_t first, size_t end)
{
        bool share = g_str_equal(column->name, "residency_share");
        double sum = 0;
        size_t n = 0;

        for (size_t row = first; row < end; row++)
                if (isfinite(column->numbers[row])) {
                        sum += column->numbers[row];
                        n++;
                }
        return n == 0 ? NAN : sum / (double)(share ? end - first : n);
}

/* The rows of a sample. Wake-ups are those of all CPUs, whatever states each has; polling is no
 * sleep. */
static void add_rows(Comparison *comparison, const RecordedTable *cpu, size_t first, size_t end,
                     double seconds)
{
        double wakeups = NAN;

        for (int c = 0; c < cpu->n_columns; c++) {
                const RecordedColumn *column = &cpu->columns[c];

                if (column->numbers && g_strv_contains(by_cpu, column->name))
                        add_value(comparison, column->name, column->of, column->unit,
                                  column_mean(column, first, end), seconds);
                if (!g_str_equal(column->name, "entered") || !column->numbers ||
                    idle_state_polls(column->of))
                        continue;
                for (size_t row = first; row < end; row++)
                        if (isfinite(column->numbers[row]))
                                wakeups = (isnan(wakeups) ? 0 : wakeups) + column->numbers[row];
        }
        add_value(comparison, "wakeups", "", "1/s", wakeups / seconds, seconds);
}

static void add_cpus(Comparison *comparison, const RecordedTable *cpu, const RecordedTable *machine)
{
        size_t next = 0;

        for (size_t row = 0; machine && row < machine->n_rows; row++) {
                double time = recorded_number(machine, "time_usec", row);
                size_t first = recorded_rows_at(cpu, time, &next);

                if (first < next)
                        add_rows(comparison, cpu, first, next,
                                 recorded_number(machine, "interval_usec", row) / 1e6);
        }
}

static void add_facts(Source *source, const RecordedTable *info)
{
        for (size_t row = 0; info && row < info->n_rows; row++) {
                const char *key = recorded_text(info, "key", row);
                const char *value = recorded_text(info, "value", row);

                if (key && value)
                        json_put_text(source->facts, key, value);
        }
}

static void read_frame(const RecordedFrame *frame, void *data)
{
        Comparison *comparison = data;
        const RecordedTable *machine = recorded_table(frame, "machine");

        add_facts(&comparison->sources[comparison->which], recorded_table(frame, "info"));
        add_machine(comparison, machine);
        add_cpus(comparison, recorded_table(frame, "cpu"), machine);
}

/* EXIT_TROUBLE after a message. */
static int read_source(Comparison *comparison, int which)
{
        Source *source = &comparison->sources[which];
        int r;

        comparison->which = which;
        r = recording_read_file(source->path, read_frame, comparison, &source->problem);
        if (r > 0 && source->samples > 0)
                return EXIT_SAME;
        complain("%s: %s", source->path, source->problem ?: "the recording has no samples");
        return EXIT_TROUBLE;
}

static void compare_all(Comparison *comparison)
{
        g_autoptr(GPtrArray) differences = g_ptr_array_new();

        for (guint i = 0; i < comparison->metrics->len; i++) {
                Metric *metric = g_ptr_array_index(comparison->metrics, i);

                for (int which = 0; which < 2; which++)
                        metric->mean[which] = mean_of(
                                (const double *)(void *)metric->samples[which]->data,
                                (const double *)(void *)metric->seconds[which]->data,
                                metric->samples[which]->len);
                metric->difference = mean_difference(&metric->mean[0], &metric->mean[1]);
                g_ptr_array_add(differences, &metric->difference);
        }
        compare_judge((Difference *const *)differences->pdata, differences->len);
}

static json_object *describe_mean(const Mean *mean)
{
        json_object *object = json_object_new_object();

        json_put_int(object, "samples", (int64_t)mean->n);
        json_put(object, "mean", json_plain(mean->value));
        json_put(object, "standard_deviation", json_plain(mean->deviation));
        return object;
}

static json_object *describe_source(const Source *source)
{
        json_object *object = json_object_new_object();

        json_put_text(object, "file", source->path);
        json_put_int(object, "samples", (int64_t)source->samples);
        json_put_real(object, "seconds", source->seconds, 3);
        json_put_text(object, "left_out", source->problem);
        json_put(object, "facts", json_object_get(source->facts));
        return object;
}

/* Returns the status of the verb. Where there are too few samples of anything, it is trouble:
 * nothing was compared. */
static int describe(const Comparison *comparison, json_object **ret_answer)
{
        json_object *answer = json_object_new_object(), *metrics = json_object_new_array();
        bool differs = false;
        int judged = 0;

        json_put(answer, "a", describe_source(&comparison->sources[0]));
        json_put(answer, "b", describe_source(&comparison->sources[1]));
        for (guint i = 0; i < comparison->metrics->len; i++) {
                const Metric *metric = g_ptr_array_index(comparison->metrics, i);
                const Difference *difference = &metric->difference;
                json_object *row = json_add(metrics);

                json_put_text(row, "name", metric->name);
                json_put_text_any(row, "of", metric->of);
                json_put_text_any(row, "unit", metric->unit);
                json_put(row, "a", describe_mean(&metric->mean[0]));
                json_put(row, "b", describe_mean(&metric->mean[1]));
                json_put(row, "difference", json_plain(difference->value));
                json_put(row, "difference_low", json_plain(difference->low));
                json_put(row, "difference_high", json_plain(difference->high));
                json_put(row, "p", json_plain(difference->p));
                json_put(row, "real",
                         isfinite(difference->p) ? json_object_new_boolean(difference->real)
                                                 : NULL);
                differs |= difference->real;
                judged += isfinite(difference->p);
        }
        json_put(answer, "metrics", metrics);
        json_put_int(answer, "metrics_judged", judged);
        json_put(answer, "differs", judged ? json_object_new_boolean(differs) : NULL);
        *ret_answer = answer;
        return judged == 0 ? EXIT_TROUBLE : differs ? EXIT_DIFFERS : EXIT_SAME;
}

static int diff_ask(Ctl *ctl, json_object **ret_answer)
{
        Comparison comparison = { .metrics = g_ptr_array_new_with_free_func(metric_free) };
        int status = EXIT_SAME;

        for (int i = 0; i < 2; i++) {
                comparison.sources[i].path = ctl->args[i];
                comparison.sources[i].end_usec = NAN;
                comparison.sources[i].facts = json_object_new_object();
                for (size_t c = 0; c < G_N_ELEMENTS(counters); c++)
                        comparison.sources[i].counters[c] = NAN;
                if (read_source(&comparison, i) != EXIT_SAME)
                        status = EXIT_TROUBLE;
        }
        if (status == EXIT_SAME) {
                compare_all(&comparison);
                status = describe(&comparison, ret_answer);
        }
        for (int i = 0; i < 2; i++) {
                json_object_put(comparison.sources[i].facts);
                g_free(comparison.sources[i].problem);
        }
        g_ptr_array_unref(comparison.metrics);
        return status;
}

/* A number of the unit, "-" if it is null. */
static char *number_text(json_object *object, const char *key, bool share)
{
        double value = json_number(object, key, NAN);

        if (!isfinite(value))
                return g_strdup("-");
        value *= share ? 100 : 1;
        return g_strdup_printf(fabs(value) < 1e4 ? "%.4g" : "%.0f", value);
}

/* Why a row was not judged. */
static const char *unjudged(json_object *row)
{
        return json_int(json_get(row, "a"), "samples", 0) == 0   ? "only in B"
               : json_int(json_get(row, "b"), "samples", 0) == 0 ? "only in A"
                                                                 : "too few samples";
}

static void add_row(Table *table, json_object *row)
{
        bool share = g_str_equal(json_text(row, "unit"), "share");
        bool known = json_get(row, "real"), real = json_true(row, "real");
        g_autofree char *low = number_text(row, "difference_low", share);
        g_autofree char *high = number_text(row, "difference_high", share);
        g_autofree char *value = number_text(row, "difference", share);
        Style style = real ? STYLE_TITLE : STYLE_PLAIN;

        table_cellf(table, style, "%s%s%s", json_text(row, "name"),
                    *json_text(row, "of") ? " " : "", json_text(row, "of"));
        table_cell(table, style, share ? "%" : json_text(row, "unit"));
        for (int i = 0; i < 2; i++) {
                json_object *side = json_get(row, i == 0 ? "a" : "b");
                g_autofree char *mean = number_text(side, "mean", share);
                g_autofree char *deviation = number_text(side, "standard_deviation", share);

                table_cell(table, style, mean);
                table_cell(table, style, deviation);
        }
        table_cell(table, style, value);
        if (known)
                table_cellf(table, style, "%s to %s", low, high);
        else
                table_cell(table, style, "-");
        table_cell(table, style, real ? "real" : known ? "" : unjudged(row));
}

/* Facts of both that differ, except those that always do. */
static void show_facts(const Ctl *ctl, json_object *answer)
{
        json_object *a = json_get(json_get(answer, "a"), "facts");
        json_object *b = json_get(json_get(answer, "b"), "facts");

        json_object_object_foreach(a, key, value)
        {
                const char *other = json_text(b, key);

                if (!g_str_equal(key, "boot_id") &&
                    !g_str_equal(json_object_get_string(value), other))
                        screen_line(&ctl->screen, STYLE_PLAIN, "%s: A \"%s\", B \"%s\"", key,
                                    json_object_get_string(value), other);
        }
}

static void diff_show(const Ctl *ctl, json_object *answer)
{
        g_autoptr(Table) table = table_new();
        json_object *metrics = json_get(answer, "metrics"), *row;

        for (int i = 0; i < 2; i++) {
                json_object *source = json_get(answer, i == 0 ? "a" : "b");

                screen_line(&ctl->screen, STYLE_PLAIN, "%c  %s: %d samples, %.0f s", 'A' + i,
                            json_text(source, "file"), (int)json_int(source, "samples", 0),
                            json_number(source, "seconds", 0));
                if (json_get(source, "left_out"))
                        screen_sentence(&ctl->screen, STYLE_WARN, json_text(source, "left_out"));
        }
        show_facts(ctl, answer);
        table_columns(table, "Metric|Unit|>A|>SD|>B|>SD|>B-A|>95 %|");
        JSON_FOREACH(row, metrics)
                add_row(table, row);
        table_print(table, &ctl->screen);
        screen_line(&ctl->screen, STYLE_TITLE, "%s",
                    !json_get(answer, "differs")   ? "There are too few samples to compare."
                    : json_true(answer, "differs") ? "The recordings differ."
                                                   : "No difference is more than chance.");
}

const Verb verb_diff = {
        .name = "diff",
        .arguments = "A B",
        .summary = "Show the differences between two recordings",
        .help = "Compares the means of every metric. A difference is real if chance alone would\n"
                "cause one as large among all metrics in at most 5 % of such comparisons. The\n"
                "test takes correlation in time into account. Exit status: 0 if no difference "
                "is\n"
                "real, 1 if one is, 2 if the recordings cannot be compared.\n"
                "  idlelab diff before.rec after.rec",
        .min_args = 2,
        .max_args = 2,
        .ask = diff_ask,
        .show = diff_show,
};
