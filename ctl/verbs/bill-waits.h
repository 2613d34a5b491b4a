/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel counts of waiting without BPF: how long each task was runnable and did not run,
 * and how often it ran (/proc/PID/task/TID/schedstat).
 */
#ifndef IDLED_CTL_BILL_WAITS_H
#define IDLED_CTL_BILL_WAITS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct UnitWaits {
        char *unit, *cgroup;
        char *process; /* the executable's name; NULL: all of the unit */
        uint64_t wait_ns, slices;
} UnitWaits;

typedef struct WaitsReader WaitsReader;

/* Reads the tasks of the machine below `root`. */
WaitsReader *waits_begin(int root);

/* The units that had tasks then, as names and cgroups; the reader has the strings. NULL ends it. */
const char **waits_units(const WaitsReader *reader);

/* Reads them again: what their tasks waited meanwhile, as an array of UnitWaits without those that
 * did not run; `by_process`: for each executable. */
GPtrArray *waits_end(WaitsReader *reader, bool by_process);

void waits_free(WaitsReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WaitsReader, waits_free)

#endif
