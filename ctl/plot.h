/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plots as SVG: lines, bands, stacks, bars and points on linear, logarithmic or time axes, and rows
 * of bars with names.
 *
 * An element has its colours in itself, so that it can stand alone, and classes, so that the style
 * sheet of a page (page.h) can change them. Colour-blind people can distinguish the colours: lines
 * have those of Okabe and Ito, the parts of a stack differ in lightness.
 */
#ifndef IDLED_PLOT_H
#define IDLED_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A range with min == max is taken from the data. On a logarithmic axis values that are not above 0
 * are left out, and bars grow from the axis' lower end. Values of a time axis are seconds since
 * 1970 in the time zone that is shown. */
typedef struct PlotAxis {
        const char *title; /* with its unit: "latency (us)" */
        bool log;
        double min, max;
        bool time;
} PlotAxis;

typedef enum PlotKind {
        PLOT_LINE,   /* straight from point to point */
        PLOT_STEPS,  /* y[i] holds from x[i] to x[i + 1] */
        PLOT_BARS,   /* from x[i] to x[i] + width, as high as y[i] */
        PLOT_POINTS, /* one mark each, with its label next to it */
        PLOT_STACK,  /* an area from x[i] to x[i + 1] on top of the stacks before */
} PlotKind;

/* Points that are not finite are left out; a line has a gap there, and a stack where one of its
 * parts has. */
typedef struct PlotSeries {
        const char *name; /* in the legend; NULL: none */
        PlotKind kind;
        size_t n;
        const double *x, *y;
        double width;              /* of bars, in units of x; */
        const double *widths;      /* of each of them, if not NULL */
        const char *const *labels; /* of points, `n` or NULL */
        const double *low, *high;  /* a band around a line or steps; NULL: none */
} PlotSeries;

/* Something that happened at x: a line from top to bottom. */
typedef struct PlotMark {
        double x;
        const char *text; /* shown when pointed at; NULL: none */
        const char *link; /* id of an element of the page; NULL: none */
} PlotMark;

typedef struct Plot {
        const char *title; /* NULL: none */
        PlotAxis x, y;
        const PlotSeries *series;
        size_t n_series;
        int width, height; /* 0: 840, 480 */
        const PlotMark *marks;
        size_t n_marks;
} Plot;

/* Horizontal bars with a name each, made of parts that lie end to end. */
typedef struct PlotRows {
        const char *title;
        size_t n, n_parts;
        const char *const *names;  /* `n` */
        const char *const *parts;  /* `n_parts`, in the legend */
        const double *values;      /* `n` times `n_parts`; not finite or below 0: none */
        const char *const *totals; /* behind each bar, `n` */
        int width;                 /* 0: 840 */
} PlotRows;

/* Writes one <svg> element. Whether the file took it all is for the caller to ask ferror(3). */
void plot_write(FILE *file, const Plot *plot);
void plot_write_rows(FILE *file, const PlotRows *rows);

/* The axis with a range that ends at round numbers around the one given. */
PlotAxis plot_axis_round(PlotAxis axis, int ticks);

/* Which colour and which dashes a series has, as classes name them: of lines 0 .. 7, of stacks
 * 0 .. 9; dashes 0 are none. */
size_t plot_colour(const Plot *plot, size_t series);
size_t plot_dash(const Plot *plot, size_t series);

/* Writes an SVG file: the element above behind an XML declaration. */
void plot_write_file(FILE *file, const Plot *plot);

#endif
