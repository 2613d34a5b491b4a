/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HTML pages: one file with everything in it. The page is data, and page/page.js draws it. The
 * page's own policy (Content-Security-Policy) forbids the network and every script and style but
 * those that idlectl itself wrote into it, by their hashes.
 *
 * A page is a JSON object: "title", "zone" (title of a time axis), "times" (for each recording its
 * times in seconds since 1970, shifted to the zone that is shown) and "parts", an array of objects
 * with any of these members, shown in this order:
 *
 *   heading, about, text, note   a text
 *   table     columns [{title, number}], rows [[text or number or null]]; caption, class, ids
 *   figures   [{id, title, name, plot, table, text, notes}], next to each other; with a name they
 *             are about one recording each. Without "table" the plot's values are the table.
 *
 * A plot has a "kind":
 *   time      recording (a number), unit, stacked, series [{name, steps, mid, low, high}] with a
 *             value or null for each of the recording's times; max of the axis;
 *             events [{x, id, text}]. Figures that are next to each other share the axis.
 *   curves    x and y {title, log}, series [{name, kind, x, y}] of kind steps (y[i] from x[i] to
 *             x[i + 1]), bars (from x[i] to to[i]) or points (with labels)
 *   rows      names, parts, values [[of each part]], totals: bars with a name each
 */
#ifndef IDLED_PAGE_H
#define IDLED_PAGE_H

#include "cli/json.h"

json_object *page_new(const char *title);

/* Adds a part with this member, which it takes, and returns the part. */
json_object *page_part(json_object *page, const char *key, json_object *value);
json_object *page_text(json_object *page, const char *key, const char *text);

/* A table; columns of numbers stand at the right. */
typedef struct PageColumn {
        const char *title;
        bool number;
} PageColumn;

json_object *page_table(const PageColumn *columns, size_t n);

/* Adds a row of `n` texts; NULL: not known. */
void page_table_row(json_object *table, const char *const *cells, size_t n);

/* Adds the figure ID-NUMBER to an array and returns it. It takes the plot, which may be NULL. */
json_object *page_figure(json_object *figures, const char *id, size_t number, const char *title,
                         json_object *plot);

/* An axis of a plot of curves, and the plot, which takes the axes and the array of series. */
json_object *page_axis(const char *title, bool log);
json_object *page_curves(json_object *x, json_object *y, json_object *series);

/* Adds a series without points to an array and returns it; `name` may be NULL. */
json_object *page_series(json_object *all, const char *kind, const char *name);

/* Adds a point to a series; `label` NULL: it has none. */
void page_point(json_object *series, double x, double y, const char *label);

/* A plot of rows; takes the arrays and copies `parts`, which ends with NULL. */
json_object *page_rows(json_object *names, const char *const *parts, json_object *values,
                       json_object *totals);

/* Writes the page into the file, as a whole or not at all; "-" is standard output. Returns
 * EXIT_FINE, or EXIT_FAILED after a message that begins with `verb`. */
int page_write(json_object *page, const char *verb, const char *path);

#endif
