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

typedef struct Cell {
        double least, greatest, sum, seconds; /* sum: of values times seconds */
} Cell;

typedef struct Point {
        double begin, end;
        size_t samples;
        bool gap;      /* before it */
        GArray *cells; /* of Cell, by column; shorter: nothing behind */
} Point;

struct Reduced {
        size_t most, stride, samples, gaps;
        double seconds;    /* length of the last sample */
        GPtrArray *points; /* of Point */
};

static void point_free(gpointer data)
{
        Point *point = data;

        g_array_unref(point->cells);
        g_free(point);
}

Reduced *reduced_new(size_t most)
{
        Reduced *reduced = g_new0(Reduced, 1);

        reduced->most = most;
        reduced->stride = 1;
        reduced->points = g_ptr_array_new_with_free_func(point_free);
        return reduced;
}

void reduced_free(Reduced *reduced)
{
        g_ptr_array_unref(reduced->points);
        g_free(reduced);
}

static Point *last_point(const Reduced *reduced)
{
        return reduced->points->len ? reduced->points->pdata[reduced->points->len - 1] : NULL;
}

/* The point's cell of this column, which is added if it is not there. */
static Cell *cell_of(Point *point, size_t column)
{
        if (point->cells->len <= column)
                g_array_set_size(point->cells, (guint)column + 1);
        return &g_array_index(point->cells, Cell, column);
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

/* Unites neighbours; with `all` also those with a gap in between. */
static void unite(Reduced *reduced, bool all)
{
        for (guint i = 0; i + 1 < reduced->points->len; i++) {
                Point *point = reduced->points->pdata[i], *next = reduced->points->pdata[i + 1];

                if (next->gap && !all)
                        continue;
                point->end = next->end;
                point->samples += next->samples;
                for (guint c = 0; c < next->cells->len; c++)
                        cell_unite(cell_of(point, c), &g_array_index(next->cells, Cell, c));
                g_ptr_array_remove_index(reduced->points, i + 1);
        }
        reduced->stride *= 2;
}

/* True if the sample belongs to the last point. */
static bool extend(Reduced *reduced, double end)
{
        Point *last = last_point(reduced);

        if (!last || last->samples >= reduced->stride)
                return false;
        last->end = end;
        last->samples++;
        return true;
}

void reduced_sample(Reduced *reduced, double begin, double end)
{
        Point *last = last_point(reduced), *point;
        double before = last ? last->end : begin;
        bool gap = begin - before > (end - begin) / 2;

        reduced->samples++;
        reduced->gaps += gap;
        reduced->seconds = end - begin;
        if (!gap && extend(reduced, end))
                return;
        if (reduced->points->len >= 2 * reduced->most) {
                unite(reduced, false);
                if (reduced->points->len > reduced->most + reduced->most / 2)
                        unite(reduced, true);
                if (!gap && extend(reduced, end))
                        return;
        }
        point = g_new(Point, 1);
        *point = (Point){ gap ? begin : before, end, 1, gap,
                          g_array_new(FALSE, TRUE, sizeof(Cell)) };
        g_ptr_array_add(reduced->points, point);
}

void reduced_put(Reduced *reduced, size_t column, double value)
{
        double seconds = reduced->seconds;
        Point *last = last_point(reduced);

        if (last && isfinite(value))
                cell_unite(cell_of(last, column),
                           &(Cell){ value, value, value * seconds, seconds });
}

void reduced_put_since(Reduced *reduced, size_t column, double value, double begin)
{
        for (guint i = reduced->points->len; isfinite(value) && i-- > 0;) {
                Point *point = reduced->points->pdata[i];
                double seconds = point->end - fmax(point->begin, begin);

                if (!(seconds > reduced->seconds / 2))
                        return;
                cell_unite(cell_of(point, column),
                           &(Cell){ value, value, value * seconds, seconds });
                if (point->gap)
                        return;
        }
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
                most = MAX(most, ((Point *)reduced->points->pdata[i])->samples);
        return most;
}

json_object *reduced_times(const Reduced *reduced, double offset)
{
        json_object *times = json_object_new_array();
        const Point *before = NULL;

        for (guint i = 0; i < reduced->points->len; i++) {
                const Point *point = reduced->points->pdata[i];

                if (point->gap && before)
                        json_object_array_add(times, json_real(before->end + offset, 3));
                json_object_array_add(times, json_real(point->begin + offset, 3));
                before = point;
        }
        if (before)
                json_object_array_add(times, json_real(before->end + offset, 3));
        return times;
}

static json_object *value_of(const Point *point, size_t column, ReducedValue value)
{
        const Cell *cell = column < point->cells->len ? &g_array_index(point->cells, Cell, column)
                                                      : NULL;

        if (!cell || cell->seconds == 0)
                return NULL;
        return json_plain(value == REDUCED_LEAST  ? cell->least
                          : value == REDUCED_MEAN ? cell->sum / cell->seconds
                                                  : cell->greatest);
}

json_object *reduced_values(const Reduced *reduced, size_t column, ReducedValue value)
{
        json_object *values = json_object_new_array();
        const Point *last = last_point(reduced);

        for (guint i = 0; i < reduced->points->len; i++) {
                const Point *point = reduced->points->pdata[i];

                if (point->gap)
                        json_object_array_add(values, NULL);
                json_object_array_add(values, value_of(point, column, value));
        }
        if (last)
                json_object_array_add(values, value_of(last, column, value));
        return values;
}
