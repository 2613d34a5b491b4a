/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The delays of the wake-ups of one unit's tasks.
 */
#ifndef IDLED_UNIT_WAKEUPS_H
#define IDLED_UNIT_WAKEUPS_H

#include <glib.h>

#include "model/wakeups.h"

/* The wake-ups of one unit's tasks, by what the delays were spent on. */
typedef struct UnitWakeups {
        char *unit;                         /* of systemd: its name; else the cgroup's path */
        char *cgroup;                       /* the path, from the root */
        char *process;                      /* the executable that the row is of; NULL: all */
        WakeupDelays *kinds[WAKEUPS_KINDS]; /* NULL: none */
} UnitWakeups;

/* No rows yet; the table frees them. Its values are UnitWakeups, one for each unit and executable.
 */
GHashTable *unit_wakeups_new(void);

/* Adds delays of one kind to the row of a unit, by its cgroup, and of an executable ("": of all).
 */
void unit_wakeups_add(GHashTable *rows, const char *cgroup, const char *process,
                      enum wakeup_kind kind, const WakeupDelays *delays);

/* The delays of the kinds from `first` to `last`, of all with 0 and WAKEUPS_KINDS - 1: these are
 * what a contract counts. */
void unit_wakeups_sum(const UnitWakeups *unit, unsigned first, unsigned last,
                      WakeupDelays *ret_sum);

#endif
