/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bands of load: step 2.
 */
#include "cpufreq/cpufreq-parts.h"

/* The busiest of the CPUs; false if none was read at both ends of an interval. */
static bool read_busiest(const FreqPolicy *policy, const Snapshot *snapshot, float *ret_busiest)
{
        float busiest = -1;

        if (snapshot->interval_usec == 0)
                return false;
        CPUSET_FOREACH(cpu, &policy->cpus)
                if (cpuset_has(&snapshot->cpus, cpu) && snapshot->busy[cpu] > busiest)
                        busiest = snapshot->busy[cpu];
        if (busiest < 0)
                return false;
        *ret_busiest = busiest;
        return true;
}

static int8_t band_of(float busiest, const CpufreqOptions *options)
{
        return busiest >= options->high ? BAND_HIGH
               : busiest < options->low ? BAND_LOW
                                        : BAND_MIDDLE;
}

bool band_update(Band *band, const FreqPolicy *policy, const Snapshot *snapshot,
                 const CpufreqOptions *options)
{
        int8_t kind;

        if (!read_busiest(policy, snapshot, &band->busiest))
                return false;
        kind = band_of(band->busiest, options);
        if (kind >= band->kind) {
                band->kind = kind;
                band->waiting = false;
                return true;
        }
        if (!band->waiting) {
                band->waiting = true;
                band->since_usec = snapshot->time_usec;
                band->peak = kind;
        }
        band->peak = kind > band->peak ? kind : band->peak;
        if (snapshot->time_usec - band->since_usec < options->dwell_usec)
                return false;
        band->kind = band->peak;
        band->waiting = kind < band->kind;
        band->since_usec = snapshot->time_usec;
        band->peak = kind;
        return !band->waiting;
}
