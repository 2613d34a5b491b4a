/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Delays of wake-ups in bins: sums, differences and quantiles.
 */
#include "model/wakeups.h"

#include <math.h>

uint64_t wakeups_bin_begin(unsigned i)
{
        unsigned octave = i ? (i - 1) >> WAKEUPS_SUB : 0;
        unsigned sub = (i - 1) & ((1 << WAKEUPS_SUB) - 1);

        if (i == 0)
                return 0;
        return ((UINT64_C(1) << WAKEUPS_SUB) + sub) << (octave + WAKEUPS_SHIFT - WAKEUPS_SUB);
}

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
                into->bins[i] += MIN(from->bins[i], UINT32_MAX - into->bins[i]);
}

void wakeups_subtract(const WakeupDelays *later, const WakeupDelays *earlier,
                      WakeupDelays *ret_between)
{
        WakeupDelays between = *later;
        unsigned last = 0;

        if (later->count < earlier->count || later->sum_ns < earlier->sum_ns) {
                *ret_between = between;
                return;
        }
        between.count -= earlier->count;
        between.sum_ns -= earlier->sum_ns;
        for (unsigned i = 0; i < WAKEUPS_BINS; i++) {
                between.bins[i] = later->bins[i] - MIN(later->bins[i], earlier->bins[i]);
                if (between.bins[i])
                        last = i + 1;
        }
        if (later->max_ns <= earlier->max_ns)
                between.max_ns = MIN(later->max_ns, wakeups_bin_begin(last));
        *ret_between = between;
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
                ns = low + (high - low) * CLAMP((rank - before) / here, 0, 1);
                before += here;
                if (before >= rank)
                        break;
        }
        return ns / 1000;
}

double wakeups_share_above(const WakeupDelays *delays, double limit_us)
{
        double limit = limit_us * 1000, above = 0, low, high;

        for (unsigned i = 0; i < WAKEUPS_BINS; i++) {
                bin_limits(delays, i, &low, &high);
                if (limit <= low)
                        above += delays->bins[i];
                else if (limit < high)
                        above += delays->bins[i] * (high - limit) / (high - low);
        }
        return above / (double)wakeups_binned(delays);
}

void unit_wakeups_merge(UnitWakeups *into, const UnitWakeups *from)
{
        wakeups_merge(&into->all, &from->all);
        for (unsigned i = 0; i < WAKEUPS_STATES; i++)
                wakeups_merge(&into->idle[i], &from->idle[i]);
        wakeups_merge(&into->waiting, &from->waiting);
        wakeups_merge(&into->parked, &from->parked);
}

void unit_wakeups_subtract(const UnitWakeups *later, const UnitWakeups *earlier,
                           UnitWakeups *ret_between)
{
        wakeups_subtract(&later->all, &earlier->all, &ret_between->all);
        for (unsigned i = 0; i < WAKEUPS_STATES; i++)
                wakeups_subtract(&later->idle[i], &earlier->idle[i], &ret_between->idle[i]);
        wakeups_subtract(&later->waiting, &earlier->waiting, &ret_between->waiting);
        wakeups_subtract(&later->parked, &earlier->parked, &ret_between->parked);
}

void unit_wakeups_free(UnitWakeups *unit)
{
        if (!unit)
                return;
        g_free(unit->unit);
        g_free(unit->cgroup);
        g_free(unit->process);
        g_free(unit);
}
