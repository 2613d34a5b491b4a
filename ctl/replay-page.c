/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The answer of idlectl replay as a page: bars of how often each governor chose well, and its
 * energy against its mean exit latency.
 */
#include <math.h>
#include <stdlib.h>

#include "page.h"
#include "plot.h"
#include "replay.h"

/* How each governor chose: a bar of three parts that add up to 100 %. */
static void write_bars(FILE *file, json_object *rows)
{
        static const char *const parts[] = { "correct", "too deep", "too shallow" };
        size_t n = json_length(rows), i = 0;
        g_autofree double *values = g_new(double, MAX(n, 1) * G_N_ELEMENTS(parts));
        g_autofree const char **names = g_new(const char *, MAX(n, 1));
        g_auto(GStrv) totals = g_new0(char *, n + 1);
        json_object *row;

        JSON_FOREACH(row, rows) {
                double correct = json_number(row, "correct_percent", NAN);
                double *part = &values[i * G_N_ELEMENTS(parts)];

                part[0] = correct;
                part[1] = json_number(row, "too_deep_percent", NAN);
                part[2] = json_number(row, "too_shallow_percent", NAN);
                names[i] = json_text(row, "governor");
                totals[i++] = isnan(correct) ? g_strdup("") : g_strdup_printf("%.1f %%", correct);
        }
        plot_write_rows(file, &(PlotRows){ "Correct, too deep and too shallow choices, %", n,
                                           G_N_ELEMENTS(parts), names, parts, values,
                                           (const char *const *)totals });
}

static void write_scatter(FILE *file, json_object *rows)
{
        size_t most = MAX(json_length(rows), 1), n = 0;
        g_autofree double *x = g_new(double, most), *y = g_new(double, most);
        g_autofree const char **names = g_new(const char *, most);
        json_object *row;

        JSON_FOREACH(row, rows) {
                x[n] = json_number(row, "exit_latency_us", NAN);
                y[n] = json_number(row, "energy_ratio", NAN);
                names[n] = json_text(row, "governor");
                n += isfinite(x[n]) && isfinite(y[n]);
        }
        if (n == 0) {
                fputs("<p>The table does not know the states' powers: no energy.</p>\n", file);
                return;
        }
        plot_write(file, &(Plot){ "Energy against mean exit latency",
                                  { "mean exit latency (us)" },
                                  { "energy / omniscient's" },
                                  &(PlotSeries){ NULL, PLOT_POINTS, n, x, y, .labels = names },
                                  1 });
}

static const PageColumn columns[] = {
        { "Governor" },           { "Correct, %", true },
        { "Too deep, %", true },  { "Too shallow, %", true },
        { "Energy ratio", true }, { "Exit latency, us", true },
};

static void write_table(FILE *file, json_object *rows)
{
        static const char *const keys[] = { "correct_percent", "too_deep_percent",
                                            "too_shallow_percent", "energy_ratio",
                                            "exit_latency_us" };
        json_object *row;

        page_table_begin(file, NULL, columns, G_N_ELEMENTS(columns));
        JSON_FOREACH(row, rows) {
                char numbers[G_N_ELEMENTS(keys)][32];
                const char *cells[G_N_ELEMENTS(columns)] = { json_text(row, "governor") };

                for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
                        bool ratio = g_str_equal(keys[i], "energy_ratio");
                        double value = json_number(row, keys[i], NAN);

                        g_snprintf(numbers[i], sizeof(numbers[i]), "%.*f", ratio ? 3 : 1, value);
                        cells[i + 1] = isnan(value) ? NULL : numbers[i];
                }
                page_table_row(file, columns, G_N_ELEMENTS(columns), NULL, cells);
        }
        page_table_end(file);
}

static void write_section(FILE *file, const char *title, json_object *rows)
{
        markup_element(file, "h2", title);
        write_bars(file, rows);
        write_scatter(file, rows);
        write_table(file, rows);
}

int replay_page(json_object *answer, const char *path)
{
        const PageFrame frame = { "Idle governors on recorded idle periods" };
        json_object *traces = json_get(answer, "traces"), *trace;
        Page page;

        page_open(&page, &frame);
        fputs("<p>Idle states: ", page.file);
        markup_write(page.file, json_text(json_get(answer, "table"), "name"));
        fputs(".</p>\n", page.file);
        if (json_length(traces) > 1)
                write_section(page.file, "Mean of all traces", json_get(answer, "means"));
        JSON_FOREACH(trace, traces)
                write_section(page.file, json_text(trace, "trace"), json_get(trace, "governors"));
        return page_save(&page, "replay", path);
}
