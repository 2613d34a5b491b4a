/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plots.
 *
 * The frame is found first, from the size and what the legend needs; then the data are scaled into
 * it. From the second round of colours on lines are dashed.
 */
#include "plot.h"

#include <glib.h>
#include <math.h>

#include "markup.h"

#define WIDTH        840
#define HEIGHT       480
#define LEFT         64
#define RIGHT        28
#define TOP          12
#define TITLE        24 /* more above if there is a title */
#define BOTTOM       48
#define LEGEND_ROW   18
#define LEGEND_MARK  26  /* the mark before a name in the legend */
#define LETTER       6.6 /* width of a letter, about */
#define TICK_X       70  /* least distance of ticks */
#define TICK_Y       32
#define MANY_MARKS   60    /* must not hide what is behind them */
#define PREFIX_FROM  10000 /* 5000 is "5000", 20000 is "20k" */
#define LOG_TICKS    1000  /* more than an axis of doubles has */
#define RADIUS       4
#define LABEL_OFFSET 7
#define LABEL_STEP   12
#define ROW          22 /* of a plot of rows */
#define ROW_NAME     260
#define ROW_TOTAL    70

static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                       "#e69f00", "#56b4e9", "#000000", "#999999" };

/* For stacks: first what is not asleep, then the darker the deeper. */
static const char *const layers[] = { "#d55e00", "#f4df6b", "#cfe3ee", "#9ecae1", "#6baed6",
                                      "#3f8dc4", "#2268a8", "#114a87", "#0a3161", "#051d3d" };

static const char *const dashes[] = { "none", "7 4", "2 3", "9 3 2 3" };

/* An axis whose range is known: where a value stands between 0 and 1. */
typedef struct Scale {
        double min, max;
        bool log, time;
} Scale;

typedef struct Frame {
        Scale x, y;
        double left, right, top, bottom; /* edges of the plotting area */
        int width, height;
        bool stacked; /* stacks are below the grid */
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
        return frame->left +
               CLAMP(scale_place(&frame->x, value), 0, 1) * (frame->right - frame->left);
}

static double place_y(const Frame *frame, double value)
{
        return frame->bottom -
               CLAMP(scale_place(&frame->y, value), 0, 1) * (frame->bottom - frame->top);
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

/* The same of seconds: what clocks and calendars count in. */
static double time_distance(double least)
{
        static const int steps[] = { 1,     2,     5,      10,     15,      30,     60,    120,
                                     300,   600,   900,    1800,   3600,    7200,   10800, 21600,
                                     43200, 86400, 172800, 604800, 1209600, 2592000 };

        if (least <= 0.5)
                return tick_distance(least);
        for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
                if (steps[i] >= least)
                        return steps[i];
        return ceil(least / 2592000) * 2592000;
}

static double scale_distance(const Scale *scale, int ticks)
{
        double least = (scale->max - scale->min) / MAX(ticks, 1);

        return scale->time ? time_distance(least) : tick_distance(least);
}

/* Widens a range so that it is not empty and, except for time, ends at ticks. */
static void range_round(Scale *range, int ticks)
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
                range->max = range->min + (range->time ? 1 : MAX(fabs(range->min), 1));
        if (range->time)
                return;
        distance = scale_distance(range, ticks);
        range->min = floor(range->min / distance + 1e-9) * distance;
        range->max = ceil(range->max / distance - 1e-9) * distance;
}

/* How far up the stacks reach at point `i` with those up to series `last`; NaN at a gap. */
static double stack_height(const Plot *plot, size_t last, size_t i)
{
        double sum = 0;

        for (size_t s = 0; s <= last && s < plot->n_series; s++)
                if (plot->series[s].kind == PLOT_STACK && i < plot->series[s].n)
                        sum += plot->series[s].y[i];
        return sum;
}

static void range_add_point(Scale *range, const Plot *plot, size_t number, size_t i, bool is_x)
{
        const PlotSeries *series = &plot->series[number];
        double x = series->x[i];
        double y = series->kind == PLOT_STACK ? stack_height(plot, number, i) : series->y[i];

        if (!is_drawn(x, plot->x.log) || !is_drawn(y, plot->y.log))
                return;
        range_add(range, is_x ? x : y);
        if (is_x && series->kind == PLOT_BARS)
                range_add(range, x + (series->widths ? series->widths[i] : series->width));
        if (!is_x && series->low)
                range_add(range, series->low[i]);
        if (!is_x && series->high)
                range_add(range, series->high[i]);
}

/* The range of an axis: the one given, or that of the data. */
static Scale scale_find(const Plot *plot, bool is_x, int ticks)
{
        const PlotAxis *axis = is_x ? &plot->x : &plot->y;
        Scale range = { INFINITY, -INFINITY, axis->log, axis->time };

        if (axis->max > axis->min && is_drawn(axis->min, axis->log))
                return (Scale){ axis->min, axis->max, axis->log, axis->time };
        for (size_t s = 0; s < plot->n_series; s++) {
                PlotKind kind = plot->series[s].kind;

                for (size_t i = 0; i < plot->series[s].n; i++)
                        range_add_point(&range, plot, s, i, is_x);
                if (!is_x && (kind == PLOT_BARS || kind == PLOT_STACK) && plot->series[s].n > 0)
                        range_add(&range, 0);
        }
        if (range.min > range.max) {
                range.min = axis->log ? 1 : 0;
                range.max = axis->log ? 10 : 1;
        }
        range_round(&range, ticks);
        return range;
}

static double text_width(const char *text)
{
        return LETTER * (double)g_utf8_strlen(text, -1);
}

/* Room that points at the right edge need for their labels. */
static double widest_label(const Plot *plot)
{
        double widest = 0;

        for (size_t s = 0; s < plot->n_series; s++)
                for (size_t i = 0; plot->series[s].labels && i < plot->series[s].n; i++)
                        if (plot->series[s].labels[i])
                                widest = MAX(widest, text_width(plot->series[s].labels[i]));
        return widest;
}

/* Where the name of each series stands in the legend, which is as wide as the frame; returns how
 * many rows it has. */
static int legend_rows(const Plot *plot, const Frame *frame, double *ret_x, int *ret_row)
{
        double x = frame->left;
        int row = -1;

        for (size_t s = 0; s < plot->n_series; s++) {
                const char *name = plot->series[s].name;
                double width = name ? LEGEND_MARK + text_width(name) + 14 : 0;

                if (!name)
                        continue;
                if (row < 0 || x + width > frame->right) {
                        x = frame->left;
                        row++;
                }
                if (ret_x) {
                        ret_x[s] = x;
                        ret_row[s] = row;
                }
                x += width;
        }
        return row + 1;
}

static Frame frame_find(const Plot *plot)
{
        Frame frame = { .width = plot->width ?: WIDTH, .height = plot->height ?: HEIGHT };

        frame.left = LEFT;
        frame.right = frame.width - RIGHT - MIN(widest_label(plot), frame.width / 3.0);
        frame.bottom = frame.height - BOTTOM;
        frame.top = TOP + (plot->title ? TITLE : 0) +
                    LEGEND_ROW * legend_rows(plot, &frame, NULL, NULL);
        for (size_t s = 0; s < plot->n_series; s++)
                frame.stacked |= plot->series[s].kind == PLOT_STACK;
        frame.x = scale_find(plot, true, (int)(frame.right - frame.left) / TICK_X);
        frame.y = scale_find(plot, false, (int)(frame.bottom - frame.top) / TICK_Y);
        return frame;
}

/* `attributes` beyond the place may be empty. */
static void write_label(FILE *file, double x, double y, const char *attributes, const char *text)
{
        fprintf(file, "<text x=\"%.1f\" y=\"%.1f\"%s%s>", x, y, *attributes ? " " : "", attributes);
        markup_write(file, text);
        fputs("</text>\n", file);
}

/* "14:05", with seconds if ticks are closer than a minute, and the day where one begins. */
static char *time_text(double seconds, double distance)
{
        g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc((gint64)floor(seconds + 1e-6));
        const char *format = distance >= 86400 ? "%d %b" : distance < 60 ? "%H:%M:%S" : "%H:%M";

        if (!time)
                return g_strdup("-");
        if (distance < 1)
                return g_strdup_printf("%02d:%06.3f", g_date_time_get_minute(time),
                                       fmod(seconds, 60));
        if (fmod(seconds, 86400) == 0)
                format = "%d %b";
        return g_date_time_format(time, format);
}

/* "250", "0.01", "10k", "2.5M": short enough for an axis. */
static char *number_text(double value)
{
        static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E" };
        size_t i = 0;

        if (fabs(value) >= PREFIX_FROM)
                for (; i < G_N_ELEMENTS(prefixes) - 1 && fabs(value) >= 1000; i++)
                        value /= 1000;
        return g_strdup_printf("%.6g%s", value, prefixes[i]);
}

static void write_tick(FILE *file, const Frame *frame, bool is_x, double value, const char *text)
{
        double x = is_x ? place_x(frame, value) : frame->left;
        double y = is_x ? frame->top : place_y(frame, value);

        fprintf(file, "<path class=\"grid\"%s d=\"M%.1f %.1f%c%.1f\" stroke=\"#ddd\"/>\n",
                frame->stacked ? " stroke-opacity=\"0.4\"" : "", x, y, is_x ? 'V' : 'H',
                is_x ? frame->bottom : frame->right);
        if (is_x)
                write_label(file, x, frame->bottom + 17, "text-anchor=\"middle\"", text);
        else
                write_label(file, x - 6, y + 4, "text-anchor=\"end\"", text);
}

static void write_ticks(FILE *file, const Frame *frame, bool is_x)
{
        const Scale *scale = is_x ? &frame->x : &frame->y;
        int ticks = is_x ? (int)(frame->right - frame->left) / TICK_X
                         : (int)(frame->bottom - frame->top) / TICK_Y;
        double distance = scale_distance(scale, ticks);

        for (double k = ceil(scale->min / distance - 1e-9);
             k * distance <= scale->max + distance * 1e-9; k++) {
                double value = fabs(k * distance) < 1e-12 ? 0 : k * distance;
                g_autofree char *text = scale->time ? time_text(value, distance)
                                                    : number_text(value);

                write_tick(file, frame, is_x, value, text);
        }
}

static void write_log_ticks(FILE *file, const Frame *frame, bool is_x)
{
        const Scale *scale = is_x ? &frame->x : &frame->y;
        double length = is_x ? frame->right - frame->left : frame->bottom - frame->top;
        int ticks = MAX((int)(length / (is_x ? TICK_X / 2.0 : TICK_Y)), 1);
        int stride = MAX((int)ceil(log10(scale->max / scale->min) / ticks), 1);
        int first = (int)ceil(log10(scale->min) - 1e-9);

        for (int e = first; e < first + LOG_TICKS && pow(10, e) <= scale->max * (1 + 1e-9);
             e += stride) {
                g_autofree char *text = number_text(pow(10, e));

                write_tick(file, frame, is_x, pow(10, e), text);
        }
}

static void write_axes(FILE *file, const Plot *plot, const Frame *frame)
{
        for (int is_x = 0; is_x < 2; is_x++)
                if ((is_x ? frame->x : frame->y).log)
                        write_log_ticks(file, frame, is_x);
                else
                        write_ticks(file, frame, is_x);
        fprintf(file,
                "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" "
                "stroke=\"#333\"/>\n",
                frame->left, frame->top, frame->bottom, frame->right);
        if (plot->x.title)
                write_label(file, (frame->left + frame->right) / 2, frame->height - 10,
                            "text-anchor=\"middle\"", plot->x.title);
        if (plot->y.title)
                write_label(file, -(frame->top + frame->bottom) / 2, 14,
                            "text-anchor=\"middle\" transform=\"rotate(-90)\"", plot->y.title);
        if (plot->title)
                write_label(file, frame->left, 24, "font-size=\"16\"", plot->title);
}

size_t plot_dash(const Plot *plot, size_t series)
{
        return plot->series[series].kind == PLOT_STACK
                       ? 0
                       : series / G_N_ELEMENTS(colours) % G_N_ELEMENTS(dashes);
}

/* Stacks are spread over all shades: the first is not asleep, the second polls if there are enough
 * of them. */
static size_t layer_colour(size_t number, size_t n)
{
        const size_t first = n > 3 ? 1 : 3, last = G_N_ELEMENTS(layers) - 1;

        if (number == 0)
                return 0;
        if (n - 1 > last)
                return 1 + (number - 1) % last;
        return n > 2 ? first + (number - 1) * (last - 1 - first) / (n - 2) : last / 2;
}

size_t plot_colour(const Plot *plot, size_t series)
{
        size_t before = 0, n = 0;

        if (plot->series[series].kind != PLOT_STACK)
                return series % G_N_ELEMENTS(colours);
        for (size_t s = 0; s < plot->n_series; s++) {
                before += s < series && plot->series[s].kind == PLOT_STACK;
                n += plot->series[s].kind == PLOT_STACK;
        }
        return layer_colour(before, n);
}

/* The attributes that fill a series. */
static void write_fill(FILE *file, const Plot *plot, size_t number)
{
        size_t colour = plot_colour(plot, number);

        if (plot->series[number].kind == PLOT_STACK)
                fprintf(file, " class=\"k%zu\" fill=\"%s\"", colour, layers[colour]);
        else
                fprintf(file, " class=\"f%zu\" fill=\"%s\"", colour, colours[colour]);
}

static void write_line(FILE *file, const Plot *plot, const Frame *frame, size_t number)
{
        const PlotSeries *series = &plot->series[number];
        size_t colour = number % G_N_ELEMENTS(colours);
        bool open = false;
        double y_before = 0;

        fprintf(file,
                "<path class=\"l%zu\" fill=\"none\" stroke-width=\"1.5\" stroke=\"%s\" "
                "stroke-dasharray=\"%s\" d=\"M0 0",
                colour, colours[colour], dashes[plot_dash(plot, number)]);
        for (size_t i = 0; i < series->n; i++) {
                double x, y;

                if (!is_drawn(series->x[i], plot->x.log) || !is_drawn(series->y[i], plot->y.log)) {
                        open = false;
                        continue;
                }
                x = place_x(frame, series->x[i]);
                y = place_y(frame, series->y[i]);
                if (open && series->kind == PLOT_STEPS)
                        fprintf(file, "H%.1f", x);
                if (open && (series->kind != PLOT_STEPS || y != y_before))
                        fprintf(file, series->kind == PLOT_STEPS ? "V%.1f" : "L%.1f %.1f",
                                series->kind == PLOT_STEPS ? y : x, y);
                if (!open)
                        fprintf(file, "M%.1f %.1f", x, y);
                open = true;
                y_before = y;
        }
        fputs("\"/>\n", file);
}

/* An area between two edges; with `steps` the values of i hold from x[i] to x[i + 1]. */
typedef struct Area {
        const double *x, *low, *high;
        size_t n;
        bool steps;
} Area;

static void write_edge(FILE *file, const Frame *frame, const Area *area, size_t i, bool is_low)
{
        double y = place_y(frame, is_low ? area->low[i] : area->high[i]);
        double from = place_x(frame, area->x[i]);
        double to = place_x(frame, area->x[MIN(i + 1, area->n - 1)]);

        if (!area->steps)
                fprintf(file, "L%.1f %.1f", from, y);
        else if (is_low)
                fprintf(file, "L%.1f %.1fH%.1f", to, y, from);
        else
                fprintf(file, "L%.1f %.1fH%.1f", from, y, to);
}

/* The parts of an area between its gaps, as the data of a path. */
static void write_area(FILE *file, const Frame *frame, const Area *area)
{
        size_t begin = 0;

        fputs(" d=\"M0 0", file);
        while (begin < area->n) {
                size_t end = begin;

                while (end < area->n && isfinite(area->low[end]) && isfinite(area->high[end]))
                        end++;
                if (end > begin) {
                        fprintf(file, "M%.1f %.1f", place_x(frame, area->x[begin]),
                                place_y(frame, area->low[begin]));
                        for (size_t i = begin; i < end; i++)
                                write_edge(file, frame, area, i, false);
                        for (size_t i = end; i-- > begin;)
                                write_edge(file, frame, area, i, true);
                        fputc('Z', file);
                }
                begin = end + 1;
        }
        fputs("\"/>\n", file);
}

static void write_band(FILE *file, const Plot *plot, const Frame *frame, size_t number)
{
        const PlotSeries *series = &plot->series[number];
        const Area area = { series->x, series->low, series->high, series->n,
                            series->kind == PLOT_STEPS };

        fputs("<path", file);
        write_fill(file, plot, number);
        fputs(" fill-opacity=\"0.22\"", file);
        write_area(file, frame, &area);
}

static void write_stack(FILE *file, const Plot *plot, const Frame *frame, size_t number)
{
        const PlotSeries *series = &plot->series[number];
        g_autofree double *low = g_new(double, MAX(series->n, 1));
        g_autofree double *high = g_new(double, MAX(series->n, 1));
        const Area area = { series->x, low, high, series->n, true };

        for (size_t i = 0; i < series->n; i++) {
                high[i] = stack_height(plot, number, i);
                low[i] = high[i] - series->y[i];
        }
        fputs("<path", file);
        write_fill(file, plot, number);
        write_area(file, frame, &area);
}

static void write_bars(FILE *file, const Plot *plot, const Frame *frame, size_t number)
{
        const PlotSeries *series = &plot->series[number];
        double base = frame->bottom;

        for (size_t i = 0; i < series->n; i++) {
                double from, to, y;

                if (!is_drawn(series->x[i], plot->x.log) || !is_drawn(series->y[i], plot->y.log))
                        continue;
                from = place_x(frame, series->x[i]);
                to = place_x(frame,
                             series->x[i] + (series->widths ? series->widths[i] : series->width));
                y = place_y(frame, series->y[i]);
                fprintf(file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"", from,
                        MIN(y, base), MAX(to - from, 0.5), MAX(base - y, 0));
                write_fill(file, plot, number);
                fputs("/>\n", file);
        }
}

/* Where a label stands. */
typedef struct Place {
        double x, y, width;
} Place;

/* Moves a label up until it covers none of those placed before, and adds it to them. */
static Place label_place(GArray *placed, Place place)
{
        for (guint i = 0; i < placed->len; i++) {
                const Place *other = &g_array_index(placed, Place, i);

                if (fabs(place.y - other->y) >= LABEL_STEP || place.x > other->x + other->width ||
                    other->x > place.x + place.width)
                        continue;
                place.y = other->y - LABEL_STEP;
                i = (guint)-1; /* it may cover one that was checked */
        }
        g_array_append_val(placed, place);
        return place;
}

static void write_points(FILE *file, const Plot *plot, const Frame *frame, size_t number)
{
        const PlotSeries *series = &plot->series[number];
        g_autoptr(GArray) placed = g_array_new(FALSE, FALSE, sizeof(Place));

        for (size_t i = 0; i < series->n; i++) {
                double x, y;
                Place place;

                if (!is_drawn(series->x[i], plot->x.log) || !is_drawn(series->y[i], plot->y.log))
                        continue;
                x = place_x(frame, series->x[i]);
                y = place_y(frame, series->y[i]);
                fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"", x, y, RADIUS);
                write_fill(file, plot, number);
                fputs("/>\n", file);
                if (!series->labels || !series->labels[i])
                        continue;
                place = label_place(placed, (Place){ x + LABEL_OFFSET, y - LABEL_OFFSET / 2.0,
                                                     text_width(series->labels[i]) });
                write_label(file, place.x, place.y, "font-size=\"11\"", series->labels[i]);
        }
}

static void write_marks(FILE *file, const Plot *plot, const Frame *frame)
{
        for (size_t i = 0; i < plot->n_marks; i++) {
                const PlotMark *mark = &plot->marks[i];

                if (!(mark->x >= frame->x.min && mark->x <= frame->x.max))
                        continue;
                if (mark->link)
                        fprintf(file, "<a href=\"#%s\">", mark->link);
                fprintf(file,
                        "<path class=\"mark\" stroke-opacity=\"%s\" stroke=\"#666\" "
                        "stroke-dasharray=\"2 2\" "
                        "d=\"M%.1f %.1fV%.1f\">",
                        plot->n_marks > MANY_MARKS ? "0.4" : "1", place_x(frame, mark->x),
                        frame->top, frame->bottom);
                if (mark->text)
                        markup_element(file, "title", mark->text);
                fprintf(file, "</path>%s\n", mark->link ? "</a>" : "");
        }
}

static void write_legend(FILE *file, const Plot *plot, const Frame *frame)
{
        g_autofree double *places = g_new0(double, MAX(plot->n_series, 1));
        g_autofree int *rows = g_new0(int, MAX(plot->n_series, 1));
        double top = frame->top - LEGEND_ROW * legend_rows(plot, frame, places, rows) + 8;

        for (size_t s = 0; s < plot->n_series; s++) {
                const PlotSeries *series = &plot->series[s];
                double x = places[s], y = top + LEGEND_ROW * rows[s];

                if (!series->name)
                        continue;
                if (series->kind == PLOT_POINTS)
                        fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"", x + 9, y - 4,
                                RADIUS);
                else if (series->kind == PLOT_STACK)
                        fprintf(file, "<path d=\"M%.1f %.1fh14v10h-14z\"", x + 4, y - 9);
                else
                        fprintf(file,
                                "<path d=\"M%.1f %.1fh18\" stroke-width=\"3\" stroke=\"%s\" "
                                "stroke-dasharray=\"%s\" class=\"l%zu\"/>\n",
                                x, y - 4, colours[s % G_N_ELEMENTS(colours)],
                                dashes[plot_dash(plot, s)], s % G_N_ELEMENTS(colours));
                if (series->kind == PLOT_POINTS || series->kind == PLOT_STACK) {
                        write_fill(file, plot, s);
                        fputs("/>\n", file);
                }
                write_label(file, x + LEGEND_MARK - 2, y, "", series->name);
        }
}

static void write_head(FILE *file, int width, int height, const char *title)
{
        fprintf(file,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n",
                width, height, width, height);
        if (title)
                markup_element(file, "title", title);
        fputs("<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", file);
}

static void write_series(FILE *file, const Plot *plot, const Frame *frame, size_t number)
{
        switch (plot->series[number].kind) {
        case PLOT_LINE:
        case PLOT_STEPS:
                write_line(file, plot, frame, number);
                break;
        case PLOT_BARS:
                write_bars(file, plot, frame, number);
                break;
        case PLOT_POINTS:
                write_points(file, plot, frame, number);
                break;
        case PLOT_STACK:
                break; /* is below the grid already */
        }
}

void plot_write(FILE *file, const Plot *plot)
{
        const Frame frame = frame_find(plot);

        write_head(file, frame.width, frame.height, plot->title);
        for (size_t s = 0; s < plot->n_series; s++)
                if (plot->series[s].kind == PLOT_STACK)
                        write_stack(file, plot, &frame, s);
        write_axes(file, plot, &frame);
        for (size_t s = 0; s < plot->n_series; s++)
                if (plot->series[s].low && plot->series[s].high)
                        write_band(file, plot, &frame, s);
        for (size_t s = 0; s < plot->n_series; s++)
                write_series(file, plot, &frame, s);
        write_marks(file, plot, &frame);
        write_legend(file, plot, &frame);
        fputs("</svg>\n", file);
}

/* A name that fits; the pointer shows the whole of it. */
static void write_row_name(FILE *file, double right, double y, const char *name)
{
        size_t most = (size_t)(ROW_NAME / LETTER);
        g_autofree char *valid = g_utf8_make_valid(name, -1);

        fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", right - 8, y);
        if (g_utf8_strlen(valid, -1) > (glong)most) {
                g_autofree char *begin = g_utf8_substring(valid, 0, (glong)most - 1);

                markup_write(file, begin);
                fputs("\u2026", file);
                markup_element(file, "title", valid);
        } else {
                markup_write(file, valid);
        }
        fputs("</text>\n", file);
}

static void write_row(FILE *file, const PlotRows *rows, size_t row, double left, double unit)
{
        double x = left, y = LEGEND_ROW + (double)row * ROW;

        write_row_name(file, left, y + 14, rows->names[row]);
        for (size_t p = 0; p < rows->n_parts; p++) {
                double value = rows->values[row * rows->n_parts + p];

                if (!(value > 0))
                        continue;
                fprintf(file,
                        "<rect class=\"f%zu\" fill=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                        "height=\"%d\">",
                        p % G_N_ELEMENTS(colours), colours[p % G_N_ELEMENTS(colours)], x, y + 2,
                        value * unit, ROW - 6);
                if (rows->parts[p]) {
                        fputs("<title>", file);
                        markup_writef(file, fabs(value) < 1e4 ? "%s: %.4g" : "%s: %.0f",
                                      rows->parts[p], value);
                        fputs("</title>", file);
                }
                fputs("</rect>\n", file);
                x += value * unit;
        }
        if (rows->totals)
                write_label(file, x + 6, y + 14, "", rows->totals[row]);
}

static double row_sum(const PlotRows *rows, size_t row)
{
        double sum = 0;

        for (size_t p = 0; p < rows->n_parts; p++)
                sum += MAX(rows->values[row * rows->n_parts + p], 0);
        return sum;
}

void plot_write_rows(FILE *file, const PlotRows *rows)
{
        int width = rows->width ?: WIDTH;
        double left = LEFT, most = 0, x;

        for (size_t i = 0; i < rows->n; i++) {
                left = MAX(left, MIN(text_width(rows->names[i]), ROW_NAME) + 10);
                most = MAX(most, row_sum(rows, i));
        }
        left = MIN(left, width / 2.0);
        write_head(file, width, LEGEND_ROW + (int)rows->n * ROW + 4, rows->title);
        x = left;
        for (size_t p = 0; p < rows->n_parts; p++) {
                if (!rows->parts[p])
                        continue;
                fprintf(file, "<path class=\"f%zu\" fill=\"%s\" d=\"M%.1f 3h14v10h-14z\"/>\n",
                        p % G_N_ELEMENTS(colours), colours[p % G_N_ELEMENTS(colours)], x);
                write_label(file, x + 20, 12, "", rows->parts[p]);
                x += 20 + text_width(rows->parts[p]) + 14;
        }
        for (size_t i = 0; i < rows->n; i++)
                write_row(file, rows, i, left, most > 0 ? (width - left - ROW_TOTAL) / most : 0);
        fputs("</svg>\n", file);
}

PlotAxis plot_axis_round(PlotAxis axis, int ticks)
{
        Scale scale = { axis.min, axis.max, axis.log, axis.time };

        range_round(&scale, ticks);
        axis.min = scale.min;
        axis.max = scale.max;
        return axis;
}

void plot_write_file(FILE *file, const Plot *plot)
{
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", file);
        plot_write(file, plot);
}
