/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two readings and their difference. */
#include "sense/readings.h"

void readings_init(Readings *readings, int n_cpus)
{
        *readings = (Readings){ counters_new(n_cpus), counters_new(n_cpus), snapshot_new(n_cpus) };
}

void readings_done(Readings *readings)
{
        counters_free(readings->previous);
        counters_free(readings->current);
        snapshot_free(readings->seen);
}

int readings_read(Readings *readings, Sensors *sensors, unsigned senses)
{
        Counters *next = readings->previous;
        int r = counters_read(sensors, senses, next);

        if (r < 0)
                return r;
        readings->previous = readings->current;
        readings->current = next;
        snapshot_compute(readings->previous->time_usec ? readings->previous : NULL, next,
                         readings->seen);
        return 0;
}

void readings_forget(Readings *readings)
{
        readings->current->time_usec = 0;
}
