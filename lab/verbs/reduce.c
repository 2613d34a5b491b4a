/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Columns over time in bounded space.
 *
 * Every point takes `stride` samples. When there are twice as many points as there should be,
 * neighbours are united two by two and the stride doubles. Points on both sides of a gap, which is
 * a point without samples, stay apart as long as there are not too many gaps.
 */
#include "reduce.h"

#include <math.h>

typedef struct Cell {
        double least, sum, greatest, seconds; /* sum: of values times seconds */
} Cell;

typedef struct Point {
        double begin, end;
        size_t samples; /* 0: a gap */
        Cell cells[REDUCED_COLUMNS];
} Point;

Reduced *reduced_new(size_t most)
{
        Reduced *reduced = g_new0(Reduced, 1);

        reduced->most = most;
        reduced->stride = 1;
        reduced->points = g_array_new(FALSE, TRUE, sizeof(Point));
        return reduced;
}

void reduced_free(Reduced *reduced)
{
        g_array_unref(reduced->points);
        g_free(reduced);
}

static Point *point_at(const Reduced *reduced, guint i)
{
        return &g_array_index(reduced->points, Point, i);
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

static void take_samples(Reduced *reduced, Point *point, size_t samples, double end)
{
        point->end = end;
        point->samples += samples;
        reduced->united = MAX(reduced->united, point->samples);
}

/* Unites neighbours; with `all` also those with a gap in between. */
static void unite(Reduced *reduced, bool all)
{
        guint n = 0;

        for (guint i = 0; i < reduced->points->len; i++) {
                Point *point = point_at(reduced, n++), *next = point_at(reduced, i + 1);

                *point = *point_at(reduced, i);
                if (i + 1 == reduced->points->len ||
                    (!all && (point->samples == 0 || next->samples == 0)))
                        continue;
                take_samples(reduced, point, next->samples, next->end);
                for (int c = 0; c < REDUCED_COLUMNS; c++)
                        cell_unite(&point->cells[c], &next->cells[c]);
                i++;
        }
        g_array_set_size(reduced->points, n);
        reduced->stride *= 2;
}

static void add_point(Reduced *reduced, double begin, double end, size_t samples)
{
        guint n = reduced->points->len;

        g_array_set_size(reduced->points, n + 1);
        point_at(reduced, n)->begin = begin;
        take_samples(reduced, point_at(reduced, n), samples, end);
}

void reduced_sample(Reduced *reduced, double begin, double end)
{
        guint n = reduced->points->len;
        double before = n ? point_at(reduced, n - 1)->end : begin;
        bool gap = begin - before > (end - begin) / 2;

        reduced->samples++;
        reduced->gaps += gap;
        reduced->seconds = end - begin;
        if (n >= 2 * reduced->most &&
            (gap || point_at(reduced, n - 1)->samples >= reduced->stride)) {
                unite(reduced, false);
                if (reduced->points->len > reduced->most + reduced->most / 2)
                        unite(reduced, true);
                n = reduced->points->len;
        }
        if (gap)
                add_point(reduced, before, begin, 0);
        if (gap || n == 0 || point_at(reduced, n - 1)->samples >= reduced->stride)
                add_point(reduced, gap ? begin : before, end, 1);
        else
                take_samples(reduced, point_at(reduced, n - 1), 1, end);
}

void reduced_put(Reduced *reduced, size_t column, double low, double value, double high,
                 double seconds)
{
        guint n = reduced->points->len;
        double begin = n ? point_at(reduced, n - 1)->end - seconds : 0;

        for (guint i = n; isfinite(value) && column < REDUCED_COLUMNS && i-- > 0;) {
                Point *point = point_at(reduced, i);
                double covered = point->end - fmax(point->begin, begin);

                if (point->samples == 0 || !(covered > reduced->seconds / 2))
                        return;
                cell_unite(&point->cells[column], &(Cell){ low, value * covered, high, covered });
        }
}

json_object *reduced_times(const Reduced *reduced)
{
        json_object *times = json_object_new_array();
        guint n = reduced->points->len;

        for (guint i = 0; i < n; i++)
                json_object_array_add(times, json_real(point_at(reduced, i)->begin, 3));
        if (n > 0)
                json_object_array_add(times, json_real(point_at(reduced, n - 1)->end, 3));
        return times;
}

json_object *reduced_values(const Reduced *reduced, size_t column, ReducedValue value)
{
        json_object *values = json_object_new_array();
        guint n = reduced->points->len;

        for (guint i = 0; n > 0 && i <= n; i++) {
                const Cell *cell = &point_at(reduced, MIN(i, n - 1))->cells[column];
                double all[] = { cell->least, cell->sum / cell->seconds, cell->greatest };

                json_object_array_add(values, cell->seconds > 0 ? json_plain(all[value]) : NULL);
        }
        return values;
}
