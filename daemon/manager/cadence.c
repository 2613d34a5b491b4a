/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cadence of ticks. A daemon that saves energy must not spend it on finding out that there is
 * nothing to do: while nothing changes the waits double, and what cannot wait wakes it.
 */
#include "manager/cadence.h"

uint64_t cadence_stretch(const Cadence *cadence, uint64_t stretch)
{
        uint64_t most = cadence->max_stretch;

        if (cadence->period_usec == 0)
                return 0;
        if (cadence->most_usec / cadence->period_usec < most)
                most = cadence->most_usec / cadence->period_usec;
        if (cadence->changed || !cadence->settled || stretch == 0 || most == 0)
                return 1;
        return stretch >= most / 2 ? most : 2 * stretch;
}

bool quiet_note(Quiet *quiet, uint64_t end_usec, uint64_t interval_usec, double busy)
{
        if (busy >= QUIET_CPUS)
                quiet->since_usec = 0;
        else if (quiet->since_usec == 0 && interval_usec > 0)
                quiet->since_usec = end_usec - interval_usec;
        return quiet->since_usec > 0 && end_usec - quiet->since_usec >= QUIET_AFTER_USEC;
}
