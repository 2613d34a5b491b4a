/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Delays of wake-ups in bins: sums and quantiles.
 */
#include "model/wakeups.h"

#include <math.h>
#include <sys/param.h>

void wakeups_add(WakeupDelays *delays, uint64_t ns)
{
        uint32_t *bin = &delays->bins[wakeups_bin(ns)];

        delays->count++;
        delays->sum_ns += ns;
        delays->max_ns = MAX(delays->max_ns, ns);
        *bin += *bin < UINT32_MAX;
}

void wakeups_merge(WakeupDelays *into, const WakeupDelays *from)
{
        into->count += from->count;
        into->sum_ns += from->sum_ns;
        into->max_ns = MAX(into->max_ns, from->max_ns);
        for (unsigned i = 0; i < WAKEUPS_BINS; i++)
                into->bins[i] += (uint32_t)MIN(from->bins[i], UINT32_MAX - into->bins[i]);
        for (unsigned i = 0; i < WAKEUPS_LIMITS; i++)
                into->late[i] += (uint32_t)MIN(from->late[i], UINT32_MAX - into->late[i]);
}

uint64_t wakeups_binned(const WakeupDelays *delays)
{
        uint64_t n = 0;

        for (unsigned i = 0; i < WAKEUPS_BINS; i++)
                n += delays->bins[i];
        return n;
}

/* Limits of bin `i` in ns. None ends behind the longest delay. */
static void bin_limits(const WakeupDelays *delays, unsigned i, double *ret_low, double *ret_high)
{
        uint64_t low = wakeups_bin_begin(i), high = wakeups_bin_begin(i + 1);

        if (i == WAKEUPS_BINS - 1)
                high = MAX(delays->max_ns, low);
        else if (delays->max_ns >= low)
                high = MIN(high, delays->max_ns);
        *ret_low = (double)low;
        *ret_high = (double)high;
}

double wakeups_quantile_us(const WakeupDelays *delays, double q)
{
        double rank = q * (double)wakeups_binned(delays), before = 0, low, high, ns = NAN;

        for (unsigned i = 0; i < WAKEUPS_BINS; i++) {
                double here = delays->bins[i];

                if (!here)
                        continue;
                bin_limits(delays, i, &low, &high);
                ns = low + (high - low) * fmin(fmax((rank - before) / here, 0), 1);
                before += here;
                if (before >= rank)
                        break;
        }
        return ns / 1000;
}

void wakeups_merge_shorter(WakeupDelays *into, const WakeupDelays *from, uint64_t less_ns,
                           uint64_t least_ns)
{
        WakeupDelays shorter = { .count = from->count, .sum_ns = from->sum_ns };
        uint64_t half_ns = (uint64_t)fmax(wakeups_quantile_us(from, 0.5) * 1000, 0);
        uint64_t usual_ns = MAX(half_ns - MIN(less_ns, half_ns), least_ns);

        for (unsigned i = 0; i < WAKEUPS_BINS; i++) {
                uint64_t begin = wakeups_bin_begin(i);
                uint64_t end = i < WAKEUPS_BINS - 1 ? wakeups_bin_begin(i + 1) : from->max_ns;
                uint64_t ns = (begin + MAX(begin, end)) / 2;
                uint64_t less = MIN(2 * less_ns, ns - MIN(usual_ns, ns));
                uint32_t *bin = &shorter.bins[wakeups_bin(ns - less)];

                if (from->bins[i] == 0)
                        continue;
                shorter.sum_ns -= MIN(from->bins[i] * less, shorter.sum_ns);
                shorter.max_ns = from->max_ns - MIN(less, from->max_ns);
                *bin += MIN(from->bins[i], UINT32_MAX - *bin);
        }
        wakeups_merge(into, &shorter);
}
