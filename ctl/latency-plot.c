/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl latency: comma-separated values and plots.
 */
#include "latency.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "page.h"
#include "plot.h"

static void print_row(const char *setting, json_object *run, json_object *numbers, const char *cpu)
{
        json_object *power = json_get(run, "power");

        csv_field_print(setting);
        printf(",%" G_GINT64_FORMAT ",%s,%" G_GINT64_FORMAT, json_int(run, "interval_usec", 0), cpu,
               json_int(numbers, "samples", 0));
        printf(",%" G_GINT64_FORMAT, json_int(numbers, "overruns", 0));
        for (int i = -2; i <= LATENCY_QUANTILES; i++) {
                const char *key = i == -2                  ? "min_us"
                                  : i == -1                ? "mean_us"
                                  : i == LATENCY_QUANTILES ? "max_us"
                                                           : latency_keys[i];

                putchar(',');
                if (json_get(numbers, key))
                        printf("%.2f", json_number(numbers, key, 0));
        }
        putchar(',');
        if (json_get(power, "watts"))
                printf("%.2f", json_number(power, "watts", 0));
        printf(",%s\n", json_text(power, "source"));
}

void latency_print_csv(json_object *answer)
{
        json_object *settings = json_get(answer, "settings"), *setting, *runs, *run, *cpus, *cpu;

        puts("setting,interval_usec,cpu,samples,overruns,min_us,mean_us,p50_us,p90_us,p99_us,"
             "p99_9_us,max_us,watts,power_source");
        JSON_FOREACH(setting, settings) {
                const char *label = json_text(setting, "setting");

                runs = json_get(setting, "runs");
                JSON_FOREACH(run, runs) {
                        cpus = json_get(run, "cpus");
                        JSON_FOREACH(cpu, cpus) {
                                g_autofree char *number = g_strdup_printf(
                                        "%d", (int)json_int(cpu, "cpu", 0));

                                print_row(label, run, cpu, number);
                        }
                        print_row(label, run, json_get(run, "all"), "all");
                        print_row(label, run, json_get(run, "all_due"), "due");
                }
        }
}

/* All that plots refer to, freed together. */
typedef struct Drawing {
        GPtrArray *memory;
        GArray *plots; /* of Plot */
        json_object *settings;
} Drawing;

static double *numbers(Drawing *drawing, size_t n)
{
        double *values = g_new0(double, MAX(n, 1));

        g_ptr_array_add(drawing->memory, values);
        return values;
}

json_object *latency_run(json_object *setting, int64_t interval_usec)
{
        json_object *runs = json_get(setting, "runs"), *run;

        JSON_FOREACH(run, runs)
                if (json_int(run, "interval_usec", 0) == interval_usec)
                        return run;
        return NULL;
}

/* The name of a curve. */
static const char *series_name(Drawing *drawing, json_object *setting, json_object *run)
{
        double overruns = latency_overruns(json_get(run, "all"));
        char *name;

        if (overruns < LATENCY_OVERRUNS)
                return json_text(setting, "setting");
        name = g_strdup_printf("%s (%.0f %% left out)", json_text(setting, "setting"),
                               overruns * 100);
        g_ptr_array_add(drawing->memory, name);
        return name;
}

/* A curve per setting: how many samples there are at each latency. */
static void add_histograms(Drawing *drawing, int64_t interval_usec)
{
        size_t n = json_length(drawing->settings), at = 0;
        PlotSeries *series = g_new0(PlotSeries, MAX(n, 1));
        g_autofree char *interval = duration_format((uint64_t)interval_usec);
        char *title = g_strdup_printf("Samples by latency, waking every %s", interval);
        json_object *setting;

        g_ptr_array_add(drawing->memory, series);
        g_ptr_array_add(drawing->memory, title);
        JSON_FOREACH(setting, drawing->settings) {
                json_object *run = latency_run(setting, interval_usec);
                json_object *buckets = json_get(run, "histogram");
                size_t count = json_length(buckets);
                double *x = numbers(drawing, count), *y = numbers(drawing, count);

                for (size_t i = 0; i < count; i++) {
                        /* The middle of the bucket, so that the first is on a logarithmic axis. */
                        x[i] = json_element_number(json_element(buckets, i), 0) + 0.05;
                        y[i] = json_element_number(json_element(buckets, i), 1);
                }
                if (count > 0)
                        series[at++] = (PlotSeries){ series_name(drawing, setting, run), PLOT_STEPS,
                                                     count, x, y };
        }
        g_array_append_val(drawing->plots, ((Plot){ title,
                                                    { "latency (us)", .log = true },
                                                    { "samples", .log = true },
                                                    series,
                                                    at }));
}

/* A point per setting whose power is known: the 99th percentile of "all" or "all_due" against it.
 */
static PlotSeries find_points(Drawing *drawing, int64_t interval_usec, const char *which)
{
        size_t n = json_length(drawing->settings), at = 0;
        double *x = numbers(drawing, n), *y = numbers(drawing, n);
        const char **labels = g_new0(const char *, MAX(n, 1));
        json_object *setting;

        g_ptr_array_add(drawing->memory, labels);
        JSON_FOREACH(setting, drawing->settings) {
                json_object *run = latency_run(setting, interval_usec);

                if (!json_get(json_get(run, "power"), "watts"))
                        continue;
                x[at] = json_number(json_get(run, "power"), "watts", NAN);
                y[at] = json_number(json_get(run, which), "p99_us", NAN);
                labels[at++] = json_text(setting, "setting");
        }
        return (PlotSeries){ NULL, PLOT_POINTS, at, x, y, .labels = labels };
}

/* Where the power of this interval's runs is from; NULL: it is not known. `ret_late` says whether
 * wake-ups were due in some of them while a thread was late. */
static const char *power_source(const Drawing *drawing, int64_t interval_usec, bool *ret_late)
{
        const char *source = NULL;
        json_object *setting;

        *ret_late = false;
        JSON_FOREACH(setting, drawing->settings) {
                json_object *run = latency_run(setting, interval_usec);

                if (!json_get(json_get(run, "power"), "watts"))
                        continue;
                source = json_text(json_get(run, "power"), "source");
                *ret_late |= latency_was_late(run);
        }
        return source;
}

/* The 99th percentiles of all settings against their power, and a second point for each where
 * wake-ups were due while a thread was late. */
static void add_scatter(Drawing *drawing, int64_t interval_usec)
{
        g_autofree char *interval = duration_format((uint64_t)interval_usec);
        PlotSeries *series = g_new0(PlotSeries, 2);
        char *title, *axis;
        bool late;
        const char *source = power_source(drawing, interval_usec, &late);

        g_ptr_array_add(drawing->memory, series);
        if (!source)
                return;
        title = g_strdup_printf("Latency against power, waking every %s", interval);
        axis = g_strdup_printf("watts (%s)", source);
        g_ptr_array_add(drawing->memory, title);
        g_ptr_array_add(drawing->memory, axis);
        series[0] = find_points(drawing, interval_usec, "all");
        series[1] = find_points(drawing, interval_usec, "all_due");
        if (late) {
                series[0].name = "wake-ups measured";
                series[1].name = "wake-ups due";
        }
        g_array_append_val(drawing->plots, ((Plot){ title,
                                                    { axis },
                                                    { "99th percentile (us)", .log = true },
                                                    series,
                                                    late ? 2 : 1 }));
}

static int write_svg(const Plot *plot, const char *path)
{
        FILE *file = fopen(path, "we");
        bool failed;

        if (!file)
                return complain("--plot: %s: %s", path, g_strerror(errno));
        plot_write_file(file, plot);
        failed = ferror(file);
        if (fclose(file) != 0 || failed)
                return complain("--plot: %s: %s", path, g_strerror(errno));
        return EXIT_FINE;
}

static int write_page(const Drawing *drawing, json_object *answer, const char *path)
{
        const PageFrame frame = { "Wake-up latency" };
        Page page;

        page_open(&page, &frame);
        fputs("<p>", page.file);
        markup_writef(page.file, "Policy %s, CPUs %s.", json_text(answer, "policy"),
                      json_text(answer, "cpus"));
        fputs("</p>\n", page.file);
        for (unsigned i = 0; i < drawing->plots->len; i++)
                plot_write(page.file, &g_array_index(drawing->plots, Plot, i));
        return page_save(&page, "--plot", path);
}

int latency_plot_check(const char *path)
{
        g_autofree char *directory = g_path_get_dirname(path);
        bool there = g_file_test(path, G_FILE_TEST_EXISTS);

        if (there && g_file_test(path, G_FILE_TEST_IS_DIR))
                return complain("--plot: %s: %s", path, g_strerror(EISDIR));
        if (access(there ? path : directory, W_OK) < 0)
                return complain("--plot: %s: %s", path, g_strerror(errno));
        return EXIT_FINE;
}

int latency_plot(json_object *answer, const char *path)
{
        Drawing drawing = { g_ptr_array_new_with_free_func(g_free),
                            g_array_new(FALSE, FALSE, sizeof(Plot)), json_get(answer, "settings") };
        json_object *first = json_get(json_element(drawing.settings, 0), "runs"), *run;
        int status;

        JSON_FOREACH(run, first)
                add_histograms(&drawing, json_int(run, "interval_usec", 0));
        JSON_FOREACH(run, first)
                add_scatter(&drawing, json_int(run, "interval_usec", 0));
        if (drawing.plots->len == 0)
                status = complain("--plot: nothing was measured");
        else if (g_str_has_suffix(path, ".svg"))
                status = write_svg(&g_array_index(drawing.plots, Plot, 0), path);
        else
                status = write_page(&drawing, answer, path);
        g_array_unref(drawing.plots);
        g_ptr_array_unref(drawing.memory);
        return status;
}
