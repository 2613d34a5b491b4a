/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Columns over time in bounded space: samples are put in one by one, however many there are, and
 * neighbours are united so that a bounded number of points is left. Each point keeps the least and
 * the greatest of its samples, so that no peak disappears, and their mean by time.
 */
#ifndef IDLED_REDUCE_H
#define IDLED_REDUCE_H

#include "cli/json.h"

#define REDUCED_COLUMNS 96

typedef struct Reduced {
        size_t samples; /* how many there are, */
        size_t united;  /* and how many went into the largest point */
        size_t gaps;    /* also those that are not shown any more */

        /* The rest is for reduce.c. */
        size_t most, stride;
        double seconds; /* length of the last sample */
        GArray *points;
} Reduced;

/* Keeps at most 2 * `most` points (2 or more), or one more. */
Reduced *reduced_new(size_t most);
void reduced_free(Reduced *reduced);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Reduced, reduced_free)

/* Begins a sample, which is of the time from `begin` to `end` in seconds. It ends after the last
 * one. Where it begins later than that ended, by more than half of its length, there is a gap. */
void reduced_sample(Reduced *reduced, double begin, double end);

/* A value with an interval around it, of the last `seconds` until the end of the sample that was
 * begun, as far back as the last gap. What is not finite counts as not there, and so does a column
 * that is not below REDUCED_COLUMNS. */
void reduced_put(Reduced *reduced, size_t column, double low, double value, double high,
                 double seconds);

typedef enum ReducedValue { REDUCED_LEAST, REDUCED_MEAN, REDUCED_GREATEST } ReducedValue;

/* The points as JSON arrays of the same length: when they begin, and the values of a column. A gap
 * is a point that is null; the last point repeats the one before it at the end of its time, so that
 * steps have a width. */
json_object *reduced_times(const Reduced *reduced);
json_object *reduced_values(const Reduced *reduced, size_t column, ReducedValue value);

#endif
