/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Columns over time in bounded space.
 *
 * Every point takes `stride` samples. When there are twice as many points as there should be,
 * neighbours are united two by two and the stride doubles. Points on both sides of a gap stay
 * apart as long as there are not too many gaps.
 */
#include "reduce.h"

#include <math.h>

typedef struct Point {
        double begin, end;
        size_t samples;
        bool gap; /* before it */
} Point;

typedef struct Cell {
        double least, greatest, sum, seconds; /* sum: of values times seconds */
} Cell;

struct Reduced {
        size_t most, stride, samples, gaps;
        double seconds; /* length of the last sample */
        GArray *points;
        GPtrArray *columns; /* of GArray of Cell; shorter than `points`: nothing behind */
};

static void column_free(gpointer column)
{
        g_array_unref(column);
}

Reduced *reduced_new(size_t most)
{
        Reduced *reduced = g_new0(Reduced, 1);

        reduced->most = most;
        reduced->stride = 1;
        reduced->points = g_array_new(FALSE, FALSE, sizeof(Point));
        reduced->columns = g_ptr_array_new_with_free_func(column_free);
        return reduced;
}

void reduced_free(Reduced *reduced)
{
        g_array_unref(reduced->points);
        g_ptr_array_unref(reduced->columns);
        g_free(reduced);
}

static void cell_unite(Cell *into, const Cell *from)
{
        if (from->seconds == 0)
                return;
        if (into->seconds == 0) {
                *into = *from;
                return;
        }
        into->least = fmin(into->least, from->least);
        into->greatest = fmax(into->greatest, from->greatest);
        into->sum += from->sum;
        into->seconds += from->seconds;
}

/* Moves the cells of point `from` to point `to`, which is not behind it; `add`: to what is there.
 */
static void move_cells(Reduced *reduced, guint from, guint to, bool add)
{
        for (guint c = 0; c < reduced->columns->len; c++) {
                GArray *cells = reduced->columns->pdata[c];
                Cell cell = { 0 };

                if (to >= cells->len)
                        continue;
                if (from < cells->len)
                        cell = g_array_index(cells, Cell, from);
                if (add)
                        cell_unite(&g_array_index(cells, Cell, to), &cell);
                else
                        g_array_index(cells, Cell, to) = cell;
        }
}

/* Unites neighbours; with `all` also those with a gap in between. */
static void unite(Reduced *reduced, bool all)
{
        Point *points = (Point *)(void *)reduced->points->data;
        guint n = reduced->points->len, to = 0;

        for (guint from = 0; from < n; from++, to++) {
                points[to] = points[from];
                move_cells(reduced, from, to, false);
                if (from + 1 == n || (points[from + 1].gap && !all))
                        continue;
                from++;
                points[to].end = points[from].end;
                points[to].samples += points[from].samples;
                move_cells(reduced, from, to, true);
        }
        g_array_set_size(reduced->points, to);
        for (guint c = 0; c < reduced->columns->len; c++) {
                GArray *cells = reduced->columns->pdata[c];

                g_array_set_size(cells, MIN(cells->len, to));
        }
        reduced->stride *= 2;
}

/* True if the sample belongs to the last point. */
static bool extend(Reduced *reduced, double end)
{
        GArray *points = reduced->points;
        Point *last = points->len ? &g_array_index(points, Point, points->len - 1) : NULL;

        if (!last || last->samples >= reduced->stride)
                return false;
        last->end = end;
        last->samples++;
        return true;
}

void reduced_sample(Reduced *reduced, double begin, double end)
{
        GArray *points = reduced->points;
        double before = points->len ? g_array_index(points, Point, points->len - 1).end : begin;
        bool gap = begin - before > (end - begin) / 2;

        reduced->samples++;
        reduced->gaps += gap;
        reduced->seconds = end - begin;
        if (!gap && extend(reduced, end))
                return;
        if (points->len >= 2 * reduced->most) {
                unite(reduced, false);
                if (points->len > reduced->most + reduced->most / 2)
                        unite(reduced, true);
                if (!gap && extend(reduced, end))
                        return;
        }
        begin = gap ? begin : before;
        g_array_append_val(points, ((Point){ begin, end, 1, gap }));
}

void reduced_put(Reduced *reduced, size_t column, double value)
{
        guint at = reduced->points->len - 1;
        GArray *cells;

        if (!isfinite(value))
                return;
        while (reduced->columns->len <= column)
                g_ptr_array_add(reduced->columns, g_array_new(FALSE, TRUE, sizeof(Cell)));
        cells = reduced->columns->pdata[column];
        if (cells->len <= at)
                g_array_set_size(cells, at + 1);
        cell_unite(&g_array_index(cells, Cell, at),
                   &(Cell){ value, value, value * reduced->seconds, reduced->seconds });
}

size_t reduced_gaps(const Reduced *reduced)
{
        return reduced->gaps;
}

size_t reduced_samples(const Reduced *reduced)
{
        return reduced->samples;
}

size_t reduced_united(const Reduced *reduced)
{
        size_t most = 0;

        for (guint i = 0; i < reduced->points->len; i++)
                most = MAX(most, g_array_index(reduced->points, Point, i).samples);
        return most;
}

/* With a point for each gap and one at the end. */
static size_t count(const Reduced *reduced)
{
        size_t n = reduced->points->len + (reduced->points->len > 0);

        for (guint i = 0; i < reduced->points->len; i++)
                n += g_array_index(reduced->points, Point, i).gap;
        return n;
}

double *reduced_times(const Reduced *reduced, size_t *ret_n)
{
        double *times = g_new(double, MAX(count(reduced), 1));
        const Point *before = NULL;
        size_t n = 0;

        for (guint i = 0; i < reduced->points->len; i++) {
                const Point *point = &g_array_index(reduced->points, Point, i);

                if (point->gap)
                        times[n++] = before->end;
                times[n++] = point->begin;
                before = point;
        }
        if (before)
                times[n++] = before->end;
        *ret_n = n;
        return times;
}

static double least(const Cell *cell)
{
        return cell->least;
}

static double mean(const Cell *cell)
{
        return cell->sum / cell->seconds;
}

static double greatest(const Cell *cell)
{
        return cell->greatest;
}

static double *column_of(const Reduced *reduced, size_t column, double (*get)(const Cell *cell))
{
        double *values = g_new(double, MAX(count(reduced), 1));
        const GArray *cells = column < reduced->columns->len ? reduced->columns->pdata[column]
                                                             : NULL;
        size_t n = 0;

        for (guint i = 0; i < reduced->points->len; i++) {
                const Cell *cell = cells && i < cells->len ? &g_array_index(cells, Cell, i) : NULL;

                if (g_array_index(reduced->points, Point, i).gap)
                        values[n++] = NAN;
                values[n++] = cell && cell->seconds > 0 ? get(cell) : NAN;
        }
        if (n > 0)
                values[n] = values[n - 1];
        return values;
}

double *reduced_least(const Reduced *reduced, size_t column)
{
        return column_of(reduced, column, least);
}

double *reduced_means(const Reduced *reduced, size_t column)
{
        return column_of(reduced, column, mean);
}

double *reduced_greatest(const Reduced *reduced, size_t column)
{
        return column_of(reduced, column, greatest);
}
