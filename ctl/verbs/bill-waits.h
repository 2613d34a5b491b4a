/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel counts of waiting without BPF: how long each task was runnable and did not run,
 * and how often it ran (/proc/PID/task/TID/schedstat).
 */
#ifndef IDLED_CTL_BILL_WAITS_H
#define IDLED_CTL_BILL_WAITS_H

#include <glib.h>
#include <stdint.h>

typedef struct UnitWaits {
        const char *unit, *cgroup; /* interned */
        uint64_t wait_ns, slices;
} UnitWaits;

/* The tasks of the machine below `root` now, by their numbers. */
GHashTable *waits_read(int root);

/* Units that tasks belong to, as names and cgroups: interned strings, with repetitions, NULL at the
 * end. */
const char **waits_units(GHashTable *tasks);

/* What the tasks of each unit waited from one reading to the next, as an array of UnitWaits without
 * those that did not run. */
GArray *waits_between(GHashTable *before, GHashTable *after);

#endif
