/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Columns over time in bounded space: samples are put in one by one, however many there are, and
 * neighbours are united so that a bounded number of points is left. Each point keeps the least and
 * the greatest of its samples, so that no peak disappears, and their mean by time.
 */
#ifndef IDLED_REDUCE_H
#define IDLED_REDUCE_H

#include "cli/json.h"

typedef struct Reduced Reduced;

/* Keeps at most 2 * `most` points (2 or more). */
Reduced *reduced_new(size_t most);
void reduced_free(Reduced *reduced);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Reduced, reduced_free)

/* Begins a sample, which is of the time from `begin` to `end` in seconds. It ends after the last
 * one. Where it begins later than that ended, by more than half of its length, there is a gap. */
void reduced_sample(Reduced *reduced, double begin, double end);

/* A value of the sample that was begun; what is not finite counts as not there. Columns are numbers
 * from 0. */
void reduced_put(Reduced *reduced, size_t column, double value);

/* A value of all samples since `begin`, of which there is at least the last one, as far back as the
 * last gap. */
void reduced_put_since(Reduced *reduced, size_t column, double value, double begin);

/* How many samples there are, and how many went into the largest point. */
size_t reduced_samples(const Reduced *reduced);
size_t reduced_united(const Reduced *reduced);

/* How many gaps there were, also those that are not shown any more. */
size_t reduced_gaps(const Reduced *reduced);

typedef enum ReducedValue { REDUCED_LEAST, REDUCED_MEAN, REDUCED_GREATEST } ReducedValue;

/* The points as JSON arrays of the same length: when they begin, later by `offset` seconds, and the
 * values of a column. A gap is a point that is null; the last point repeats the
 * one before it at the end of its time, so that steps have a width. */
json_object *reduced_times(const Reduced *reduced, double offset);
json_object *reduced_values(const Reduced *reduced, size_t column, ReducedValue value);

#endif
