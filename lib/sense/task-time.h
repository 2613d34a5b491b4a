/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How long each CPU ran tasks, and how often it changed to one, by the clock of the scheduler.
 *
 * The busy time of /proc/stat is everything but sleep, in steps of 10 ms: for a CPU that runs for
 * 0.2 ms a few times a second it is mostly the cost of waking up, and of rounding. What tasks ran
 * is counted in nanoseconds (/proc/schedstat), but only when a CPU changes from a task to another
 * or to idle, and without interrupts that find the CPU idle. So busy time counts for a CPU whose
 * tasks run for 10 ms or more at a time, and where more of it is left than wake-ups and sampling
 * explain. The time of tasks counts for others, however busy: arms then differ in no unit.
 */
#ifndef IDLED_TASK_TIME_H
#define IDLED_TASK_TIME_H

#include <glib.h>
#include <stdbool.h>

#include "model/snapshot.h"

/* What one CPU did since boot. */
typedef struct CpuTasks {
        uint64_t run_nsec; /* that tasks ran, up to the last change */
        uint64_t switches; /* changes to a task; those to idle do not count */
} CpuTasks;

/* The latest two readings, and what happened in between. */
typedef struct TaskTime {
        int n_cpus;
        CpuTasks *last, *before; /* by CPU number; zeros while a CPU is offline */
        bool read;               /* `last` was */
        bool known;              /* the kernel counts it, and did at both ends */
        float *share;            /* of the interval that the CPU ran tasks; as busy if not known */
        double cpus;             /* sum of `share` */
        double switches_per_sec; /* of all CPUs; 0: not known */
} TaskTime;

TaskTime *task_time_new(int n_cpus);
void task_time_free(TaskTime *time);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TaskTime, task_time_free)

/* Reads again. `snapshot` is of the interval since the last call, and ends now. Wakes no CPU. The
 * kernel writes about a kilobyte for each CPU: for the ends of blocks, not for each tick. */
void task_time_read(TaskTime *time, int root, const Snapshot *snapshot);

#endif
