/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab latency: comma-separated values and its page.
 */
#include "latency.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/number.h"
#include "page/page.h"

static void print_row(const char *setting, json_object *run, json_object *numbers, const char *cpu)
{
        json_object *power = json_get(run, "power");

        csv_field_print(setting);
        printf(",%" G_GINT64_FORMAT ",%s,%" G_GINT64_FORMAT, json_int(run, "interval_usec", 0), cpu,
               json_int(numbers, "samples", 0));
        printf(",%" G_GINT64_FORMAT, json_int(numbers, "overruns", 0));
        for (int i = 0; i < LATENCY_NUMBERS; i++) {
                putchar(',');
                if (json_get(numbers, latency_keys[i]))
                        printf("%.2f", json_number(numbers, latency_keys[i], 0));
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

json_object *latency_run(json_object *setting, int64_t interval_usec)
{
        json_object *runs = json_get(setting, "runs"), *run;

        JSON_FOREACH(run, runs)
                if (json_int(run, "interval_usec", 0) == interval_usec)
                        return run;
        return NULL;
}

/* Adds a figure with this plot of curves, which takes the axes and series. */
static void add_figure(json_object *page, const char *title, json_object *x, json_object *y,
                       json_object *series)
{
        json_object *part = page_text(page, "heading", title), *figures = json_object_new_array();

        page_figure(figures, "plot", json_length(json_get(page, "parts")), title,
                    page_curves(x, y, series));
        json_put(part, "figures", figures);
}

/* Adds how many samples there are at each latency. */
static void add_curve(json_object *all, json_object *setting, json_object *run)
{
        double overruns = latency_overruns(json_get(run, "all"));
        g_autofree char *name = overruns < LATENCY_OVERRUNS
                                        ? g_strdup(json_text(setting, "setting"))
                                        : g_strdup_printf("%s (%.0f %% left out)",
                                                          json_text(setting, "setting"),
                                                          overruns * 100);
        json_object *buckets = json_get(run, "histogram"), *bucket, *series;

        if (json_length(buckets) == 0)
                return;
        series = page_series(all, "steps", name);
        /* The middle of the bucket, so that the first is on a logarithmic axis. */
        JSON_FOREACH(bucket, buckets)
                page_point(series, json_element_number(bucket, 0) + 0.05,
                           json_element_number(bucket, 1), NULL);
}

/* A curve per setting. */
static void add_histograms(json_object *page, json_object *settings, int64_t interval_usec)
{
        g_autofree char *interval = duration_format((uint64_t)interval_usec);
        g_autofree char *title = g_strdup_printf("Samples by latency, waking every %s", interval);
        json_object *series = json_object_new_array(), *setting;

        JSON_FOREACH(setting, settings)
                add_curve(series, setting, latency_run(setting, interval_usec));
        add_figure(page, title, page_axis("latency (us)", true), page_axis("samples", true),
                   series);
}

/* A point per setting whose power is known: the 99th percentile of "all" or "all_due" against it.
 */
static void add_points(json_object *all, json_object *settings, int64_t interval_usec,
                       const char *which, const char *name)
{
        json_object *series = page_series(all, "points", name), *setting;

        JSON_FOREACH(setting, settings) {
                json_object *run = latency_run(setting, interval_usec);
                double watts = json_number(json_get(run, "power"), "watts", NAN);

                if (isfinite(watts))
                        page_point(series, watts, json_number(json_get(run, which), "p99_us", NAN),
                                   json_text(setting, "setting"));
        }
}

/* The 99th percentiles of all settings against their power, and a second point for each where
 * wake-ups were due while a thread was late. Nothing where power is not known. */
static void add_scatter(json_object *page, json_object *settings, int64_t interval_usec)
{
        g_autofree char *interval = duration_format((uint64_t)interval_usec);
        g_autofree char *title = g_strdup_printf("Latency against power, waking every %s",
                                                 interval);
        g_autofree char *axis = NULL;
        json_object *series, *setting, *power;
        const char *source = NULL;
        bool late = false;

        JSON_FOREACH(setting, settings) {
                power = json_get(latency_run(setting, interval_usec), "power");
                if (!json_get(power, "watts"))
                        continue;
                source = json_text(power, "source");
                late |= latency_was_late(latency_run(setting, interval_usec));
        }
        if (!source)
                return;
        axis = g_strdup_printf("watts (%s)", source);
        series = json_object_new_array();
        add_points(series, settings, interval_usec, "all", late ? "wake-ups measured" : NULL);
        if (late)
                add_points(series, settings, interval_usec, "all_due", "wake-ups due");
        add_figure(page, title, page_axis(axis, false), page_axis("99th percentile (us)", true),
                   series);
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
        g_autoptr(json_object) page = page_new("Wake-up latency");
        g_autofree char *about = g_strdup_printf("Policy %s, CPUs %s.", json_text(answer, "policy"),
                                                 json_text(answer, "cpus"));
        json_object *settings = json_get(answer, "settings"), *run;
        json_object *first = json_get(json_element(settings, 0), "runs");

        if (json_length(first) == 0)
                return complain("--plot: nothing was measured");
        page_text(page, "text", about);
        JSON_FOREACH(run, first)
                add_histograms(page, settings, json_int(run, "interval_usec", 0));
        JSON_FOREACH(run, first)
                add_scatter(page, settings, json_int(run, "interval_usec", 0));
        return page_write(page, "--plot", path);
}
