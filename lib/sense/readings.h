/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The latest two readings of the machine and their difference. Each purpose keeps its own, so that
 * no reader shortens another one's interval.
 */
#ifndef IDLED_READINGS_H
#define IDLED_READINGS_H

#include "sense/sensor.h"

typedef struct Readings {
        Counters *previous, *current; /* time_usec 0: not read yet */
        Snapshot *seen;               /* from one to the other; after the first no interval */
} Readings;

void readings_init(Readings *readings, int n_cpus);
void readings_done(Readings *readings);

/* Reads again. Negative errno, as counters_read(): everything stays as it was. */
int readings_read(Readings *readings, Sensors *sensors, unsigned senses);

/* Forgets what was read: the next reading is the first. */
void readings_forget(Readings *readings);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Readings, readings_done)

#endif
