/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cadence of ticks. A daemon that saves energy must not spend it on finding out that there is
 * nothing to do: while nothing changes the waits double, and what cannot wait wakes it.
 */
#include "core/cadence.h"

uint64_t cadence_stretch(const Cadence *cadence, uint64_t stretch)
{
        if (cadence->period_usec == 0)
                return 0;
        if (cadence->changed || !cadence->settled || !cadence->guarded)
                return 1;
        if (stretch == 0)
                return 1;
        return stretch >= cadence->max_stretch / 2 ? cadence->max_stretch : 2 * stretch;
}
