/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The answer of idlectl replay as a page: bars of how often each governor chose well, and its
 * energy against its mean exit latency. One file, without scripts or anything from elsewhere.
 */
#include <math.h>
#include <stdlib.h>

#include "replay.h"

#define BAR_LEFT   120 /* where bars begin, right of the names */
#define BAR_WIDTH  480
#define BAR_STEP   24
#define PLOT_LEFT  60
#define PLOT_TOP   26
#define PLOT_W     420
#define PLOT_H     280
#define LABEL_STEP 15
#define TICKS      5

static const char head[] =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>idlectl replay</title>\n"
        "<style>\n"
        ":root { color-scheme: light dark; --good: #2e8b57; --deep: #3465a4; --shallow: #d98c21 }\n"
        "body { font: 15px/1.4 system-ui, sans-serif; max-width: 60em; margin: 2em auto;"
        " padding: 0 1em }\n"
        "svg { max-width: 100%; height: auto } svg text { font: 12px sans-serif;"
        " fill: currentColor }\n"
        ".good { fill: var(--good) } .deep { fill: var(--deep) } .shallow { fill: var(--shallow) "
        "}\n"
        ".grid { stroke: currentColor; stroke-opacity: .2 } .end { text-anchor: end }\n"
        ".middle { text-anchor: middle }\n"
        "table { border-collapse: collapse } th, td { padding: .1em .7em; text-align: right }\n"
        "th:first-child, td:first-child { text-align: left } th { border-bottom: 1px solid }\n"
        "</style></head><body>\n<h1>Idle governors on recorded idle periods</h1>\n";

static void put_escaped(GString *page, const char *text)
{
        g_autofree char *escaped = g_markup_escape_text(text, -1);

        g_string_append(page, escaped);
}

/* A part of a bar, with its share as a tooltip. Returns where it ends. */
static double put_part(GString *page, double x, int y, const char *kind, const char *what,
                       double percent)
{
        double width = isnan(percent) ? 0 : percent * BAR_WIDTH / 100;

        g_string_append_printf(page,
                               "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
                               "height=\"%d\"><title>%s: %.1f %%</title></rect>\n",
                               kind, x, y, width, BAR_STEP - 6, what, percent);
        return x + width;
}

static void put_bars(GString *page, json_object *rows)
{
        int height = (int)json_length(rows) * BAR_STEP, y = 0;
        json_object *row;

        g_string_append_printf(page,
                               "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\">"
                               "<title>Correct, too deep and too shallow choices</title>\n",
                               BAR_LEFT + BAR_WIDTH + 60, height, BAR_LEFT + BAR_WIDTH + 60);
        JSON_FOREACH(row, rows) {
                double correct = json_number(row, "correct_percent", NAN), x = BAR_LEFT;

                g_string_append_printf(page, "<text class=\"end\" x=\"%d\" y=\"%d\">", BAR_LEFT - 8,
                                       y + 14);
                put_escaped(page, json_text(row, "governor"));
                g_string_append(page, "</text>\n");
                x = put_part(page, x, y, "good", "correct", correct);
                x = put_part(page, x, y, "deep", "too deep",
                             json_number(row, "too_deep_percent", NAN));
                put_part(page, x, y, "shallow", "too shallow",
                         json_number(row, "too_shallow_percent", NAN));
                if (!isnan(correct))
                        g_string_append_printf(page, "<text x=\"%d\" y=\"%d\">%.1f %%</text>\n",
                                               BAR_LEFT + BAR_WIDTH + 6, y + 14, correct);
                y += BAR_STEP;
        }
        g_string_append(page, "</svg>\n");
}

/* One axis: from a round number below all values to one above them. */
typedef struct Axis {
        double low, high, step;
} Axis;

static Axis axis_for(json_object *rows, const char *key)
{
        double low = INFINITY, high = -INFINITY, span, power;
        Axis axis;
        json_object *row;

        JSON_FOREACH(row, rows) {
                double value = json_number(row, key, NAN);

                low = fmin(low, value);
                high = fmax(high, value);
        }
        span = fmax(high - low, 1e-3 * fmax(high, 1e-3));
        power = pow(10, floor(log10(span / TICKS)));
        axis.step = power * (span / TICKS <= 2 * power ? 2 : span / TICKS <= 5 * power ? 5 : 10);
        axis.low = floor(low / axis.step) * axis.step;
        axis.high = ceil(high / axis.step) * axis.step;
        if (axis.high <= axis.low)
                axis.high = axis.low + axis.step;
        return axis;
}

static double place(const Axis *axis, double value)
{
        return (value - axis->low) / (axis->high - axis->low);
}

static void put_grid(GString *page, const Axis *x, const Axis *y)
{
        for (double v = x->low; v <= x->high + x->step / 2; v += x->step) {
                double at = PLOT_LEFT + place(x, v) * PLOT_W;

                g_string_append_printf(page,
                                       "<path class=\"grid\" d=\"M%.1f %dv%d\"/><text "
                                       "class=\"middle\" x=\"%.1f\" y=\"%d\">%.6g</text>\n",
                                       at, PLOT_TOP, PLOT_H, at, PLOT_TOP + PLOT_H + 16, v);
        }
        for (double v = y->low; v <= y->high + y->step / 2; v += y->step) {
                double at = PLOT_TOP + (1 - place(y, v)) * PLOT_H;

                g_string_append_printf(
                        page,
                        "<path class=\"grid\" d=\"M%d %.1fh%d\"/><text class=\"end\" "
                        "x=\"%d\" y=\"%.1f\">%.6g</text>\n",
                        PLOT_LEFT, at, PLOT_W, PLOT_LEFT - 6, at + 4, v);
        }
        g_string_append_printf(page,
                               "<text class=\"middle\" x=\"%d\" y=\"%d\">mean exit latency, us"
                               "</text>\n<text x=\"4\" y=\"12\">energy / omniscient's</text>\n",
                               PLOT_LEFT + PLOT_W / 2, PLOT_TOP + PLOT_H + 34);
}

typedef struct Point {
        double x, y, label_y;
        const char *name;
} Point;

static int by_height(const void *a, const void *b)
{
        const Point *one = a, *other = b;

        return one->y < other->y ? -1 : one->y > other->y;
}

/* Names stand at the right, each with a line to its point, far enough apart to be read. */
static void put_points(GString *page, Point *points, int n)
{
        double last = PLOT_TOP - LABEL_STEP;

        qsort(points, (size_t)n, sizeof(*points), by_height);
        for (int i = 0; i < n; i++)
                last = points[i].label_y = fmax(points[i].y, last + LABEL_STEP);
        last = PLOT_TOP + fmax(PLOT_H, (n - 1) * LABEL_STEP) + LABEL_STEP;
        for (int i = n; i-- > 0;)
                last = points[i].label_y = fmin(points[i].label_y, last - LABEL_STEP);
        for (int i = 0; i < n; i++) {
                const Point *p = &points[i];

                g_string_append_printf(page,
                                       "<path class=\"grid\" d=\"M%.1f %.1fL%d %.1f\"/><circle "
                                       "class=\"deep\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/><text "
                                       "x=\"%d\" y=\"%.1f\">",
                                       p->x, p->y, PLOT_LEFT + PLOT_W + 16, p->label_y, p->x, p->y,
                                       PLOT_LEFT + PLOT_W + 20, p->label_y + 4);
                put_escaped(page, p->name);
                g_string_append(page, "</text>\n");
        }
}

static void put_scatter(GString *page, json_object *rows)
{
        Axis x = axis_for(rows, "exit_latency_us"), y = axis_for(rows, "energy_ratio");
        g_autofree Point *points = g_new0(Point, json_length(rows));
        json_object *row;
        int n = 0;

        JSON_FOREACH(row, rows) {
                double energy = json_number(row, "energy_ratio", NAN);
                double latency = json_number(row, "exit_latency_us", NAN);

                if (isnan(energy) || isnan(latency))
                        continue;
                points[n++] = (Point){ .x = PLOT_LEFT + place(&x, latency) * PLOT_W,
                                       .y = PLOT_TOP + (1 - place(&y, energy)) * PLOT_H,
                                       .name = json_text(row, "governor") };
        }
        if (n == 0) {
                g_string_append(page, "<p>The table does not know the states' powers: no energy."
                                      "</p>\n");
                return;
        }
        g_string_append_printf(page,
                               "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\">"
                               "<title>Energy against mean exit latency</title>\n",
                               PLOT_LEFT + PLOT_W + 130, PLOT_TOP + PLOT_H + 40,
                               PLOT_LEFT + PLOT_W + 130);
        put_grid(page, &x, &y);
        put_points(page, points, n);
        g_string_append(page, "</svg>\n");
}

static void put_cell(GString *page, json_object *row, const char *key, int decimals)
{
        double value = json_number(row, key, NAN);

        if (isnan(value))
                g_string_append(page, "<td>-</td>");
        else
                g_string_append_printf(page, "<td>%.*f</td>", decimals, value);
}

static void put_table(GString *page, json_object *rows)
{
        json_object *row;

        g_string_append(page, "<table><tr><th>Governor</th><th>Correct, %</th><th>Too deep, %</th>"
                              "<th>Too shallow, %</th><th>Energy ratio</th>"
                              "<th>Exit latency, us</th></tr>\n");
        JSON_FOREACH(row, rows) {
                g_string_append(page, "<tr><td>");
                put_escaped(page, json_text(row, "governor"));
                g_string_append(page, "</td>");
                put_cell(page, row, "correct_percent", 1);
                put_cell(page, row, "too_deep_percent", 1);
                put_cell(page, row, "too_shallow_percent", 1);
                put_cell(page, row, "energy_ratio", 3);
                put_cell(page, row, "exit_latency_us", 1);
                g_string_append(page, "</tr>\n");
        }
        g_string_append(page, "</table>\n");
}

static void put_section(GString *page, const char *title, json_object *rows)
{
        g_string_append(page, "<h2>");
        put_escaped(page, title);
        g_string_append(page, "</h2>\n");
        put_bars(page, rows);
        put_scatter(page, rows);
        put_table(page, rows);
}

int replay_page(json_object *answer, const char *path)
{
        g_autoptr(GString) page = g_string_new(head);
        json_object *traces = json_get(answer, "traces"), *trace;
        g_autoptr(GError) error = NULL;

        g_string_append(page, "<p>Idle states: ");
        put_escaped(page, json_text(json_get(answer, "table"), "name"));
        g_string_append(page,
                        ". <svg width=\"12\" height=\"12\"><rect class=\"good\" width=\"12\" "
                        "height=\"12\"/></svg> correct, <svg width=\"12\" height=\"12\"><rect "
                        "class=\"deep\" width=\"12\" height=\"12\"/></svg> too deep, <svg "
                        "width=\"12\" height=\"12\"><rect class=\"shallow\" width=\"12\" "
                        "height=\"12\"/></svg> too shallow.</p>\n");
        if (json_length(traces) > 1)
                put_section(page, "Mean of all traces", json_get(answer, "means"));
        JSON_FOREACH(trace, traces)
                put_section(page, json_text(trace, "trace"), json_get(trace, "governors"));
        g_string_append(page, "</body></html>\n");
        if (!g_file_set_contents(path, page->str, (gssize)page->len, &error))
                return complain("replay: %s", error->message);
        return EXIT_FINE;
}
