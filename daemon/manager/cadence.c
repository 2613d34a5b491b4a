/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cadence of ticks. A daemon that saves energy must not spend it on finding out that there is
 * nothing to do: while nothing changes the waits double, and what cannot wait wakes it.
 */
#include "manager/cadence.h"

#include "model/snapshot.h"

uint64_t cadence_stretch(const Cadence *cadence, uint64_t stretch)
{
        uint64_t most = STRETCH_MAX;

        if (cadence->period_usec == 0)
                return 0;
        if (cadence->most_usec / cadence->period_usec < most)
                most = cadence->most_usec / cadence->period_usec;
        if (cadence->changed || !cadence->settled || stretch == 0 || most == 0)
                return 1;
        return stretch >= most / 2 ? most : 2 * stretch;
}

uint64_t cadence_wake(uint64_t interval_usec, uint64_t wake_at_usec, uint64_t now_usec,
                      bool *ret_exact)
{
        uint64_t rest = wake_at_usec > now_usec + READING_USEC ? wake_at_usec - now_usec
                                                               : READING_USEC;

        *ret_exact = wake_at_usec &&
                     (interval_usec == 0 || rest <= interval_usec + interval_usec / 4);
        if (*ret_exact)
                return rest;
        return interval_usec;
}

bool quiet_note(Quiet *quiet, uint64_t end_usec, uint64_t interval_usec, double busy)
{
        if (busy >= QUIET_CPUS)
                quiet->since_usec = 0;
        else if (quiet->since_usec == 0 && interval_usec > 0)
                quiet->since_usec = end_usec - interval_usec;
        return quiet->since_usec > 0 && end_usec - quiet->since_usec >= QUIET_AFTER_USEC;
}
