/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Load that varies: what makes CPUs visit all their states, so that the power of each can be found.
 */
#ifndef IDLED_EXERCISE_H
#define IDLED_EXERCISE_H

#include <glib.h>

#include "base/cpuset.h"

typedef struct Exercise Exercise;

/* Starts a thread per CPU in `cpus`, of the lowest priority. NULL: threads cannot be started. */
Exercise *exercise_start(const CpuSet *cpus);

/* Begins the load number `step`: how many CPUs work, which share of the time, and how often they
 * sleep in between, are different in each of many steps, and the same whenever the number is. */
void exercise_step(Exercise *exercise, unsigned step);

void exercise_stop(Exercise *exercise);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Exercise, exercise_stop)

#endif
