/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondemand/worth-side.h"

#include <math.h>

#define SECOND 1e6 /* microseconds */

void worth_side_add(WorthSide *side, const WorthSample *interval, uint64_t now_usec)
{
        side->part.joules += interval->joules;
        side->part.usec += interval->usec;
        side->part.work += interval->work;
        if (side->part.usec < (double)WORTH_SAMPLE_USEC)
                return;
        side->samples[side->n % WORTH_SAMPLES] = side->part;
        if (++side->n == 2 * WORTH_SAMPLES)
                side->n = WORTH_SAMPLES;
        side->last_usec = now_usec;
        side->part = (WorthSample){ 0 };
}

void worth_side_interrupt(WorthSide *side)
{
        side->part = (WorthSample){ 0 };
}

WorthMean worth_side_mean(const WorthSide *side, uint64_t usec)
{
        unsigned most = side->n < WORTH_SAMPLES ? side->n : WORTH_SAMPLES, n = 0;
        double joules = 0, work = 0, watts = 0, square = 0;
        WorthMean mean = { 0 };

        while (n < most && mean.usec < (double)usec) {
                const WorthSample *sample = &side->samples[(side->n - ++n) % WORTH_SAMPLES];
                double drawn = sample->joules * SECOND / sample->usec;

                mean.usec += sample->usec;
                joules += sample->joules;
                work += sample->work;
                watts += drawn;
                square += drawn * drawn;
        }
        if (n == 0)
                return mean;
        mean.watts = joules * SECOND / mean.usec;
        mean.work = work / mean.usec;
        if (n > 1)
                mean.variance = fmax(square / n - watts / n * watts / n, 0) / (n - 1);
        return mean;
}
