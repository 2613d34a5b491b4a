/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The answer of idlelab replay as a page: bars of how often each governor chose well, and its
 * energy against its mean exit latency.
 */
#include <math.h>

#include "page/page.h"
#include "replay.h"

static const char *const parts[] = { "correct", "too deep", "too shallow", NULL };
static const char *const keys[] = { "correct_percent", "too_deep_percent", "too_shallow_percent",
                                    "energy_ratio", "exit_latency_us" };
static const PageColumn columns[] = {
        { "Governor" },           { "Correct, %", true },
        { "Too deep, %", true },  { "Too shallow, %", true },
        { "Energy ratio", true }, { "Exit latency, us", true },
};

/* How each governor chose: a bar of three parts that add up to 100 %. */
static json_object *describe_bars(json_object *rows)
{
        json_object *names = json_object_new_array(), *row;
        json_object *values = json_object_new_array(), *totals = json_object_new_array();

        JSON_FOREACH(row, rows) {
                double correct = json_number(row, keys[0], NAN);
                g_autofree char *total = isnan(correct) ? g_strdup("")
                                                        : g_strdup_printf("%.1f %%", correct);
                json_object *value = json_object_new_array();

                for (size_t i = 0; parts[i]; i++)
                        json_object_array_add(value, json_plain(json_number(row, keys[i], NAN)));
                json_object_array_add(values, value);
                json_add_text(names, json_text(row, "governor"));
                json_add_text(totals, total);
        }
        return page_rows(names, parts, values, totals);
}

/* NULL if no energy is known. */
static json_object *describe_scatter(json_object *rows)
{
        json_object *all = json_object_new_array(), *series = page_series(all, "points", NULL),
                    *row;

        JSON_FOREACH(row, rows) {
                double latency = json_number(row, "exit_latency_us", NAN);
                double energy = json_number(row, "energy_ratio", NAN);

                if (isfinite(latency) && isfinite(energy))
                        page_point(series, latency, energy, json_text(row, "governor"));
        }
        if (json_length(json_get(series, "x")) > 0)
                return page_curves(page_axis("mean exit latency (us)", false),
                                   page_axis("energy / omniscient's", false), all);
        json_object_put(all);
        return NULL;
}

static json_object *describe_table(json_object *rows)
{
        json_object *table = page_table(columns, G_N_ELEMENTS(columns)), *row;

        JSON_FOREACH(row, rows) {
                char numbers[G_N_ELEMENTS(keys)][32];
                const char *cells[G_N_ELEMENTS(columns)] = { json_text(row, "governor") };

                for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
                        bool ratio = g_str_equal(keys[i], "energy_ratio");
                        double value = json_number(row, keys[i], NAN);

                        g_snprintf(numbers[i], sizeof(numbers[i]), "%.*f", ratio ? 3 : 1, value);
                        cells[i + 1] = isnan(value) ? NULL : numbers[i];
                }
                page_table_row(table, cells, G_N_ELEMENTS(columns));
        }
        return table;
}

static void add_figure(json_object *figures, const char *id, size_t i, const char *title,
                       json_object *plot)
{
        json_put_text(page_figure(figures, id, i, title, plot), "caption", title);
}

static void add_section(json_object *page, const char *title, json_object *rows)
{
        json_object *part = page_text(page, "heading", title), *figures = json_object_new_array();
        json_object *scatter = describe_scatter(rows);
        size_t i = json_length(json_get(page, "parts"));

        json_put(part, "table", describe_table(rows));
        add_figure(figures, "bars", i, "Correct, too deep and too shallow choices, %",
                   describe_bars(rows));
        if (scatter)
                add_figure(figures, "scatter", i, "Energy against mean exit latency", scatter);
        else
                json_put_text(part, "note",
                              "The table does not know the states' powers: no energy.");
        json_put(part, "figures", figures);
}

int replay_page(json_object *answer, const char *path)
{
        g_autoptr(json_object) page = page_new("Idle governors on recorded idle periods");
        g_autofree char *about = g_strdup_printf("Idle states: %s.",
                                                 json_text(json_get(answer, "table"), "name"));
        json_object *traces = json_get(answer, "traces"), *trace;

        page_text(page, "text", about);
        if (json_length(traces) > 1)
                add_section(page, "Mean of all traces", json_get(answer, "means"));
        JSON_FOREACH(trace, traces)
                add_section(page, json_text(trace, "trace"), json_get(trace, "governors"));
        return page_write(page, "replay", path);
}
