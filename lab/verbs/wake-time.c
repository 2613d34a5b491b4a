/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When the event came that ended a sleep. */
#include "wake-time.h"

#define MEAN_OF 16 /* sleeps */

static void learn(ExitLatency *latency, uint64_t shown_ns)
{
        if (!latency->is_known)
                latency->mean_ns = shown_ns;
        else if (shown_ns > latency->mean_ns)
                latency->mean_ns += (shown_ns - latency->mean_ns) / MEAN_OF;
        else
                latency->mean_ns -= (latency->mean_ns - shown_ns) / MEAN_OF;
        latency->is_known = true;
}

uint64_t wake_time_find(ExitLatency *latency, uint64_t measured_ns, uint64_t timer_ns,
                        bool by_timer)
{
        uint64_t shown_ns;

        if (!by_timer || timer_ns > measured_ns)
                return measured_ns > latency->mean_ns ? measured_ns - latency->mean_ns : 0;
        shown_ns = measured_ns - timer_ns;
        if (shown_ns > latency->listed_ns)
                shown_ns = latency->listed_ns;
        learn(latency, shown_ns);
        return measured_ns - shown_ns;
}
