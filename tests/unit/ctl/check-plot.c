/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plots: the SVG is well-formed, and points stand where the axes say. */
#include <math.h>
#include <string.h>

#include "ctl/plot.h"
#include "table.h"

/* What a document holds, as GLib's parser reads it. */
typedef struct Seen {
        int circles, rects, svgs, moves; /* moves: of the last <path> with fill="none" */
        int areas, links;                /* areas: closed parts of all <path>s */
        double labels_right;             /* where the last of the small labels begins */
        double x[16], y[16];             /* of circles */
        GString *text;
} Seen;

static void see_element(GMarkupParseContext *context, const char *name, const char **keys,
                        const char **values, gpointer data, GError **error)
{
        Seen *seen = data;
        const char *path = NULL;
        bool line = false, small = false;
        double left = 0;

        seen->svgs += g_str_equal(name, "svg");
        seen->rects += g_str_equal(name, "rect");
        for (size_t i = 0; keys[i]; i++) {
                if (g_str_equal(keys[i], "cx"))
                        seen->x[seen->circles % 16] = g_ascii_strtod(values[i], NULL);
                if (g_str_equal(keys[i], "cy"))
                        seen->y[seen->circles % 16] = g_ascii_strtod(values[i], NULL);
                if (g_str_equal(keys[i], "d"))
                        path = values[i];
                line |= g_str_equal(keys[i], "stroke-dasharray");
                if (g_str_equal(keys[i], "x"))
                        left = g_ascii_strtod(values[i], NULL);
                small |= g_str_equal(keys[i], "font-size") && g_str_equal(values[i], "11");
                seen->links += g_str_equal(keys[i], "href");
        }
        seen->circles += g_str_equal(name, "circle");
        if (small)
                seen->labels_right = fmax(seen->labels_right, left);
        for (const char *p = path; p && *p; p++)
                seen->areas += *p == 'Z';
        if (path && line && strchr(path, 'L'))
                for (seen->moves = 0; *path; path++)
                        seen->moves += *path == 'M';
}

static void see_text(GMarkupParseContext *context, const char *text, gsize length, gpointer data,
                     GError **error)
{
        Seen *seen = data;

        g_string_append_len(seen->text, text, (gssize)length);
        g_string_append_c(seen->text, '|');
}

/* What `write` writes of `what` is XML, and without numbers that are none. */
static Seen see_written(void (*write)(FILE *file, const void *what), const void *what)
{
        static const GMarkupParser parser = { .start_element = see_element, .text = see_text };
        Seen seen = { .text = g_string_new(NULL) };
        GMarkupParseContext *context = g_markup_parse_context_new(&parser, 0, &seen, NULL);
        g_autoptr(GError) error = NULL;
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);

        write(file, what);
        fclose(file);
        ck_assert_msg(g_markup_parse_context_parse(context, text, (gssize)size, &error) &&
                              g_markup_parse_context_end_parse(context, &error),
                      "not well-formed: %s", error ? error->message : "");
        ck_assert_ptr_null(strstr(text, "nan"));
        ck_assert_ptr_null(strstr(text, "inf"));
        g_markup_parse_context_free(context);
        free(text);
        return seen;
}

static void write_plot(FILE *file, const void *what)
{
        plot_write_file(file, what);
}

static Seen see(const Plot *plot)
{
        return see_written(write_plot, plot);
}

static void write_rows(FILE *file, const void *what)
{
        plot_write_rows(file, what);
}

static void forget(Seen *seen)
{
        g_string_free(seen->text, TRUE);
}

START_TEST(log_axes)
{
        static const double x[] = { 1, 10, 100, 0, -1 }, y[] = { 1000, 100, 10, 5, 5 };
        const PlotSeries series = { "points", PLOT_POINTS, 5, x, y };
        Seen seen = see(&(Plot){ NULL, { .log = true }, { .log = true }, &series, 1 });

        /* Two are not above 0; the legend has one mark. */
        ck_assert_int_eq(seen.circles, 3 + 1);
        ck_assert(fabs(seen.x[1] - seen.x[0] - (seen.x[2] - seen.x[1])) < 0.3);
        ck_assert(fabs(seen.y[1] - seen.y[0] - (seen.y[2] - seen.y[1])) < 0.3);
        ck_assert(seen.x[1] > seen.x[0] && seen.y[1] > seen.y[0]);
        forget(&seen);
}
END_TEST

START_TEST(linear_axes)
{
        static const double x[] = { 0, 2.5, 10 }, y[] = { 0, 5, 20 };
        static const char *const labels[] = { "<first>", NULL, "a & b" };
        const PlotSeries series = { NULL, PLOT_POINTS, 3, x, y, .labels = labels };
        Seen seen = see(&(Plot){ "Watts & \"more\"", { "x" }, { "y" }, &series, 1 });

        ck_assert_int_eq(seen.circles, 3);
        ck_assert(fabs((seen.x[1] - seen.x[0]) * 4 - (seen.x[2] - seen.x[0])) < 0.3);
        ck_assert(fabs((seen.y[1] - seen.y[0]) * 4 - (seen.y[2] - seen.y[0])) < 0.3);
        ck_assert_ptr_nonnull(strstr(seen.text->str, "<first>"));
        ck_assert_ptr_nonnull(strstr(seen.text->str, "a & b"));
        ck_assert_ptr_nonnull(strstr(seen.text->str, "Watts & \"more\""));
        forget(&seen);
}
END_TEST

/* The label of a point at the right edge is not cut. A letter is at least 5 units wide. */
START_TEST(labels_at_the_edge)
{
        static const double x[] = { 0, 10 }, y[] = { 0, 20 };
        static const char *const labels[] = { "left", "a long name" };
        const PlotSeries series = { NULL, PLOT_POINTS, 2, x, y, .labels = labels };
        Seen seen = see(&(Plot){ "Edge", { "x" }, { "y" }, &series, 1, .width = 400 });

        ck_assert_double_gt(seen.labels_right, seen.x[1]);
        ck_assert_double_lt(seen.labels_right + 5.0 * (double)strlen(labels[1]), 400);
        forget(&seen);
}
END_TEST

START_TEST(gaps)
{
        static const double x[] = { 0, 1, 2, 3, 4 }, y[] = { 1, 2, NAN, 2, INFINITY };
        const PlotSeries series = { "line", PLOT_LINE, 5, x, y };
        Seen seen = see(&(Plot){ NULL, { 0 }, { 0 }, &series, 1 });

        ck_assert_int_eq(seen.moves, 3); /* the path's own, and two parts */
        forget(&seen);
}
END_TEST

START_TEST(bars)
{
        static const double x[] = { 0, 1, 2 }, y[] = { 1, 1e6, 0 };
        const PlotSeries series = { "bars", PLOT_BARS, 3, x, y, .width = 1 };
        Seen seen = see(&(Plot){ NULL, { 0 }, { .log = true }, &series, 1 });

        ck_assert_int_eq(seen.rects, 1 + 2); /* the background, and no bar of nothing */
        forget(&seen);
}
END_TEST

/* The ends of an axis, and how they are labelled: in at most five characters, none by an exponent.
 */
static const struct {
        const char *name;
        double least, most;
        bool log;
        const char *first, *last;
} labels[] = {
        { "small numbers", 0, 250, false, "|0|", "|200|" },
        { "parts", 0, 0.04, false, "|0.01|", "|0.04|" },
        { "thousands", 0, 5000, false, "|1000|", "|5000|" },
        { "more of them", 0, 50000, false, "|10k|", "|50k|" },
        { "millions", 0, 2.5e6, false, "|1M|", "|2M|" },
        { "negative", -2e6, 0, false, "|-2M|", "|0|" },
        { "large", 0, 4e18, false, "|1E|", "|4E|" },
        { "microseconds", 1, 1e8, true, "|1|", "|100M|" },
        { "parts and millions", 0.01, 1e7, true, "|0.01|", "|10M|" },
};

START_TEST(number_axes)
{
        typeof(labels[0]) *c = &labels[_i];
        const double x[] = { c->least, c->most }, y[] = { 1, 2 };
        const PlotSeries series = { NULL, PLOT_LINE, 2, x, y };

        for (int is_x = 0; is_x < 2; is_x++) {
                PlotAxis axis = { NULL, c->log, c->least, c->most };
                const PlotSeries turned = { NULL, PLOT_LINE, 2, y, x };
                Seen seen = see(&(Plot){ NULL, is_x ? axis : (PlotAxis){ 0 },
                                         is_x ? (PlotAxis){ 0 } : axis, is_x ? &series : &turned,
                                         1 });

                ck_case(c->name, strstr(seen.text->str, c->first), "%s", seen.text->str);
                ck_case(c->name, strstr(seen.text->str, c->last), "%s", seen.text->str);
                ck_case(c->name, !strstr(seen.text->str, "e+"), "%s", seen.text->str);
                forget(&seen);
        }
}
END_TEST

/* An area has a part on each side of a gap; that of a stack ends where any of its parts has none.
 */
START_TEST(areas)
{
        static const double x[] = { 0, 1, 2, 3 }, y[] = { 1, NAN, 2, 3 }, full[] = { 1, 1, 1, 1 };
        static const double low[] = { 0, NAN, 1, 2 }, high[] = { 2, NAN, 3, 9 };
        const PlotSeries band = { "band", PLOT_LINE, 4, x, y, .low = low, .high = high };
        const PlotSeries stack[] = { { "a", PLOT_STACK, 4, x, y },
                                     { "b", PLOT_STACK, 4, x, full } };
        Seen seen = see(&(Plot){ NULL, { 0 }, { 0 }, &band, 1 });

        ck_assert_int_eq(seen.areas, 2);
        ck_assert_ptr_nonnull(
                strstr(seen.text->str, "|9|")); /* the axis goes up to the band's edge */
        forget(&seen);
        seen = see(&(Plot){ NULL, { 0 }, { 0 }, stack, 2 });
        ck_assert_int_eq(seen.areas, 2 * 2);
        ck_assert_ptr_nonnull(strstr(seen.text->str, "|4|")); /* 3 + 1 */
        forget(&seen);
}
END_TEST

typedef struct TimeCase {
        double from, to;
        const char *first, *second; /* ticks that are next to each other */
} TimeCase;

static const TimeCase time_cases[] = {
        { 0, 10, "|00:00:01|", "|00:00:02|" },
        { 86400 - 3600, 86400 + 7200, "|02 Jan|", "|00:30|" },
        { 0, 1800, "|00:05|", "|00:10|" },
        { 0, 86400 * 30.0, "|08 Jan|", "|15 Jan|" },
        { 5, 5, NULL, NULL },
        { -1e18, 1e18, NULL, NULL },
};

START_TEST(time_axes)
{
        const TimeCase *c = &time_cases[_i];
        const double x[] = { c->from, c->to }, y[] = { 1, 2 };
        const PlotSeries series = { NULL, PLOT_LINE, 2, x, y };
        const PlotMark marks[] = { { c->from, "<b>", "t1" }, { NAN, "no time", NULL } };
        Seen seen = see(&(Plot){
                NULL, { "time", .time = true }, { 0 }, &series, 1, .marks = marks, .n_marks = 2 });
        const char *first = c->first ? strstr(seen.text->str, c->first) : NULL;

        ck_assert(!c->first || first);
        ck_assert(!c->second || strstr(first, c->second));
        ck_assert_int_eq(seen.links, 1);
        ck_assert_ptr_nonnull(strstr(seen.text->str, "<b>"));
        ck_assert_ptr_null(strstr(seen.text->str, "no time"));
        forget(&seen);
}
END_TEST

START_TEST(rows)
{
        static const char *const names[] = { "<script>", "b" }, *const parts[] = { "x", "y" };
        static const char *const totals[] = { "3", "-" };
        static const double values[] = { 1, 2, NAN, -1 };
        const PlotRows plot = { "rows", 2, 2, names, parts, values, totals };
        Seen seen = see_written(write_rows, &plot);

        ck_assert_int_eq(seen.rects, 1 + 2); /* the background, and no bar of nothing */
        ck_assert_ptr_nonnull(strstr(seen.text->str, "<script>"));
        forget(&seen);
        seen = see_written(write_rows, &(PlotRows){ "none" });
        ck_assert_int_eq(seen.svgs, 1);
        forget(&seen);
}
END_TEST

/* Nothing to draw, or all in one place, is a plot all the same. */
START_TEST(empty)
{
        static const double one[] = { 7 }, none[] = { NAN };
        const PlotSeries series[] = { { "one", PLOT_POINTS, 1, one, one },
                                      { "none", PLOT_STEPS, 1, none, none },
                                      { "empty", PLOT_LINE, 0, NULL, NULL } };

        for (size_t n = 0; n < 4; n++)
                for (int log = 0; log < 2; log++) {
                        Seen seen = see(&(Plot){ NULL, { .log = log }, { .log = log }, series, n });

                        ck_assert_int_eq(seen.svgs, 1);
                        forget(&seen);
                }
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("plot");
        TCase *cases = tcase_create("plots");

        tcase_add_test(cases, log_axes);
        tcase_add_test(cases, linear_axes);
        tcase_add_test(cases, labels_at_the_edge);
        tcase_add_test(cases, gaps);
        tcase_add_test(cases, bars);
        tcase_add_test(cases, areas);
        tcase_add_loop_test(cases, number_axes, 0, G_N_ELEMENTS(labels));
        tcase_add_loop_test(cases, time_axes, 0, G_N_ELEMENTS(time_cases));
        tcase_add_test(cases, rows);
        tcase_add_test(cases, empty);
        suite_add_tcase(suite, cases);
        return suite_run(suite);
}
