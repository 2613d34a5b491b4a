/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plots.
 *
 * The frame is fixed and the data are scaled into it. The colours are those that Okabe and Ito
 * chose for people who do not see all colours; from the second round on lines are
 * dashed.
 */
#include "plot.h"

#include <glib.h>
#include <math.h>

#define WIDTH        840
#define HEIGHT       480
#define LEFT         80
#define RIGHT        200 /* the legend is there */
#define TOP          40
#define BOTTOM       60
#define LEGEND_ROW   18
#define TICKS_MAX    12
#define LOG_TICKS    1000 /* more than an axis of doubles has */
#define RADIUS       4
#define LABEL_OFFSET 7

static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                       "#e69f00", "#56b4e9", "#000000", "#999999" };

/* An axis whose range is known: where a value stands between 0 and 1. */
typedef struct Scale {
        double min, max;
        bool log;
} Scale;

typedef struct Frame {
        Scale x, y;
} Frame;

static bool is_drawn(double value, bool log)
{
        return isfinite(value) && (!log || value > 0);
}

static double scale_place(const Scale *scale, double value)
{
        if (scale->log)
                return log(value / scale->min) / log(scale->max / scale->min);
        return (value - scale->min) / (scale->max - scale->min);
}

static double place_x(const Frame *frame, double value)
{
        return LEFT + CLAMP(scale_place(&frame->x, value), 0, 1) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const Frame *frame, double value)
{
        return HEIGHT - BOTTOM -
               CLAMP(scale_place(&frame->y, value), 0, 1) * (HEIGHT - TOP - BOTTOM);
}

/* Takes one more value into the range. */
static void range_add(Scale *range, double value)
{
        if (!is_drawn(value, range->log))
                return;
        range->min = MIN(range->min, value);
        range->max = MAX(range->max, value);
}

/* A distance between ticks: 1, 2 or 5 times a power of ten, at least `least`. */
static double tick_distance(double least)
{
        double power = pow(10, floor(log10(least)));

        return least <= power       ? power
               : least <= 2 * power ? 2 * power
               : least <= 5 * power ? 5 * power
                                    : 10 * power;
}

/* Widens a range so that it ends at ticks and is not empty. */
static void range_round(Scale *range)
{
        double distance;

        if (range->log) {
                range->min = pow(10, floor(log10(range->min) + 1e-9));
                range->max = pow(10, ceil(log10(range->max) - 1e-9));
                if (range->max <= range->min)
                        range->max = range->min * 10;
                return;
        }
        if (range->max <= range->min)
                range->max = range->min + MAX(fabs(range->min), 1);
        distance = tick_distance((range->max - range->min) / TICKS_MAX);
        range->min = floor(range->min / distance + 1e-9) * distance;
        range->max = ceil(range->max / distance - 1e-9) * distance;
}

/* The range of an axis: the one given, or that of the data. */
static Scale scale_find(const Plot *plot, bool is_x)
{
        const PlotAxis *axis = is_x ? &plot->x : &plot->y;
        Scale range = { INFINITY, -INFINITY, axis->log };

        if (axis->max > axis->min && is_drawn(axis->min, axis->log))
                return (Scale){ axis->min, axis->max, axis->log };
        for (size_t s = 0; s < plot->n_series; s++) {
                const PlotSeries *series = &plot->series[s];

                for (size_t i = 0; i < series->n; i++) {
                        if (!is_drawn(series->x[i], plot->x.log) ||
                            !is_drawn(series->y[i], plot->y.log))
                                continue;
                        range_add(&range, is_x ? series->x[i] : series->y[i]);
                        if (is_x && series->kind == PLOT_BARS)
                                range_add(&range, series->x[i] + series->width);
                }
                if (!is_x && series->kind == PLOT_BARS && series->n > 0)
                        range_add(&range, 0);
        }
        if (range.min > range.max)
                range = (Scale){ axis->log ? 1 : 0, axis->log ? 10 : 1, axis->log };
        range_round(&range);
        return range;
}

/* Text between tags: what XML reserves is escaped, control characters are left out. */
static void write_text(FILE *file, const char *text)
{
        for (const char *p = text; *p; p++)
                switch (*p) {
                case '<':
                        fputs("&lt;", file);
                        break;
                case '>':
                        fputs("&gt;", file);
                        break;
                case '&':
                        fputs("&amp;", file);
                        break;
                default:
                        if ((unsigned char)*p >= ' ' || *p == '\n')
                                fputc(*p, file);
                }
}

/* `attributes` beyond the place may be empty. */
static void write_label(FILE *file, double x, double y, const char *attributes, const char *text)
{
        fprintf(file, "<text x=\"%.1f\" y=\"%.1f\"%s%s>", x, y, *attributes ? " " : "", attributes);
        write_text(file, text);
        fputs("</text>\n", file);
}

static void write_tick(FILE *file, const Frame *frame, bool is_x, double value)
{
        double x = is_x ? place_x(frame, value) : LEFT, y = is_x ? TOP : place_y(frame, value);
        g_autofree char *text = g_strdup_printf("%.6g", fabs(value) < 1e-12 ? 0 : value);

        fprintf(file, "<path d=\"M%.1f %.1f%c%d\" stroke=\"#ddd\"/>\n", x, y, is_x ? 'V' : 'H',
                is_x ? HEIGHT - BOTTOM : WIDTH - RIGHT);
        if (is_x)
                write_label(file, x, HEIGHT - BOTTOM + 18, "text-anchor=\"middle\"", text);
        else
                write_label(file, x - 6, y + 4, "text-anchor=\"end\"", text);
}

static void write_ticks(FILE *file, const Frame *frame, bool is_x)
{
        const Scale *scale = is_x ? &frame->x : &frame->y;
        double distance, decades;
        int stride, first;

        if (!scale->log) {
                distance = tick_distance((scale->max - scale->min) / TICKS_MAX);
                for (double k = ceil(scale->min / distance - 1e-9);
                     k * distance <= scale->max + distance * 1e-9; k++)
                        write_tick(file, frame, is_x, k * distance);
                return;
        }
        decades = log10(scale->max / scale->min);
        stride = MAX((int)ceil(decades / TICKS_MAX), 1);
        first = (int)ceil(log10(scale->min) - 1e-9);
        for (int e = first; e < first + LOG_TICKS && pow(10, e) <= scale->max * (1 + 1e-9);
             e += stride)
                write_tick(file, frame, is_x, pow(10, e));
}

static void write_axes(FILE *file, const Plot *plot, const Frame *frame)
{
        write_ticks(file, frame, true);
        write_ticks(file, frame, false);
        fprintf(file, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#333\"/>\n", LEFT, TOP,
                HEIGHT - BOTTOM, WIDTH - RIGHT);
        if (plot->x.title)
                write_label(file, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16,
                            "text-anchor=\"middle\"", plot->x.title);
        if (plot->y.title)
                write_label(file, -(TOP + HEIGHT - BOTTOM) / 2.0, 18,
                            "text-anchor=\"middle\" transform=\"rotate(-90)\"", plot->y.title);
        if (plot->title)
                write_label(file, LEFT, 24, "font-size=\"16\"", plot->title);
}

static const char *dashes(size_t series)
{
        static const char *const patterns[] = { "none", "7 4", "2 3", "9 3 2 3" };

        return patterns[series / G_N_ELEMENTS(colours) % G_N_ELEMENTS(patterns)];
}

static void write_line(FILE *file, const Plot *plot, const Frame *frame, size_t number)
{
        const PlotSeries *series = &plot->series[number];
        bool open = false;
        double y_before = 0;

        fprintf(file,
                "<path fill=\"none\" stroke-width=\"1.5\" stroke=\"%s\" "
                "stroke-dasharray=\"%s\" d=\"M0 0",
                colours[number % G_N_ELEMENTS(colours)], dashes(number));
        for (size_t i = 0; i < series->n; i++) {
                double x, y;

                if (!is_drawn(series->x[i], plot->x.log) || !is_drawn(series->y[i], plot->y.log)) {
                        open = false;
                        continue;
                }
                x = place_x(frame, series->x[i]);
                y = place_y(frame, series->y[i]);
                if (open && series->kind == PLOT_STEPS)
                        fprintf(file, "L%.1f %.1f", x, y_before);
                fprintf(file, "%c%.1f %.1f", open ? 'L' : 'M', x, y);
                open = true;
                y_before = y;
        }
        fputs("\"/>\n", file);
}

static void write_bars(FILE *file, const Plot *plot, const Frame *frame, size_t number)
{
        const PlotSeries *series = &plot->series[number];
        double base = HEIGHT - BOTTOM;

        for (size_t i = 0; i < series->n; i++) {
                double from, to, y;

                if (!is_drawn(series->x[i], plot->x.log) || !is_drawn(series->y[i], plot->y.log))
                        continue;
                from = place_x(frame, series->x[i]);
                to = place_x(frame, series->x[i] + series->width);
                y = place_y(frame, series->y[i]);
                fprintf(file,
                        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                        "fill=\"%s\"/>\n",
                        from, MIN(y, base), MAX(to - from, 0.5), MAX(base - y, 0),
                        colours[number % G_N_ELEMENTS(colours)]);
        }
}

static void write_points(FILE *file, const Plot *plot, const Frame *frame, size_t number)
{
        const PlotSeries *series = &plot->series[number];

        for (size_t i = 0; i < series->n; i++) {
                double x, y;

                if (!is_drawn(series->x[i], plot->x.log) || !is_drawn(series->y[i], plot->y.log))
                        continue;
                x = place_x(frame, series->x[i]);
                y = place_y(frame, series->y[i]);
                fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\"/>\n", x, y,
                        RADIUS, colours[number % G_N_ELEMENTS(colours)]);
                if (series->labels && series->labels[i])
                        write_label(file, x + LABEL_OFFSET, y - LABEL_OFFSET / 2.0,
                                    "font-size=\"11\"", series->labels[i]);
        }
}

static void write_legend(FILE *file, const Plot *plot)
{
        double y = TOP + 10, x = WIDTH - RIGHT + 16;

        for (size_t s = 0; s < plot->n_series; s++) {
                const PlotSeries *series = &plot->series[s];
                const char *colour = colours[s % G_N_ELEMENTS(colours)];

                if (!series->name)
                        continue;
                if (series->kind == PLOT_POINTS)
                        fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\"/>\n",
                                x + 9, y - 4, RADIUS, colour);
                else
                        fprintf(file,
                                "<path d=\"M%.1f %.1fh18\" stroke-width=\"3\" stroke=\"%s\" "
                                "stroke-dasharray=\"%s\"/>\n",
                                x, y - 4, colour, dashes(s));
                write_label(file, x + 24, y, "", series->name);
                y += LEGEND_ROW;
        }
}

void plot_write(FILE *file, const Plot *plot)
{
        const Frame frame = { scale_find(plot, true), scale_find(plot, false) };

        fprintf(file,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                WIDTH, HEIGHT, WIDTH, HEIGHT);
        write_axes(file, plot, &frame);
        for (size_t s = 0; s < plot->n_series; s++)
                switch (plot->series[s].kind) {
                case PLOT_LINE:
                case PLOT_STEPS:
                        write_line(file, plot, &frame, s);
                        break;
                case PLOT_BARS:
                        write_bars(file, plot, &frame, s);
                        break;
                case PLOT_POINTS:
                        write_points(file, plot, &frame, s);
                        break;
                }
        write_legend(file, plot);
        fputs("</svg>\n", file);
}

void plot_write_file(FILE *file, const Plot *plot)
{
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", file);
        plot_write(file, plot);
}

void plot_write_page(FILE *file, const char *title, const char *text, const Plot *plots,
                     size_t n_plots)
{
        fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n<title>", file);
        write_text(file, title);
        fputs("</title></head>\n<body style=\"font-family: sans-serif; max-width: 860px; "
              "margin: 2em auto\">\n<h1>",
              file);
        write_text(file, title);
        fputs("</h1>\n", file);
        if (text) {
                fputs("<p>", file);
                write_text(file, text);
                fputs("</p>\n", file);
        }
        for (size_t i = 0; i < n_plots; i++)
                plot_write(file, &plots[i]);
        fputs("</body></html>\n", file);
}
