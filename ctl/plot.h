/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plots as SVG, and pages of them as HTML: lines, steps, bars and points on linear or logarithmic
 * axes. Everything is in the one file that is written: no script, no font, no network.
 */
#ifndef IDLED_PLOT_H
#define IDLED_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A range with min == max is taken from the data. On a logarithmic axis values that are not above 0
 * are left out, and bars grow from the axis' lower end. */
typedef struct PlotAxis {
        const char *title; /* with its unit: "latency (us)" */
        bool log;
        double min, max;
} PlotAxis;

typedef enum PlotKind {
        PLOT_LINE,   /* straight from point to point */
        PLOT_STEPS,  /* y[i] holds from x[i] to x[i + 1] */
        PLOT_BARS,   /* from x[i] to x[i] + width, as high as y[i] */
        PLOT_POINTS, /* one mark each, with its label next to it */
} PlotKind;

/* Points that are not finite are left out; a line has a gap there. */
typedef struct PlotSeries {
        const char *name; /* in the legend; NULL: none */
        PlotKind kind;
        size_t n;
        const double *x, *y;
        double width;              /* of bars, in units of x */
        const char *const *labels; /* of points, `n` or NULL */
} PlotSeries;

typedef struct Plot {
        const char *title; /* NULL: none */
        PlotAxis x, y;
        const PlotSeries *series;
        size_t n_series;
} Plot;

/* Writes one <svg> element. Whether the file took it all is for the caller to ask ferror(3). */
void plot_write(FILE *file, const Plot *plot);

/* Writes an SVG file: the element above behind an XML declaration. */
void plot_write_file(FILE *file, const Plot *plot);

/* Writes an HTML page with a title, a paragraph of text (NULL: none) and the plots. */
void plot_write_page(FILE *file, const char *title, const char *text, const Plot *plots,
                     size_t n_plots);

#endif
