/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The difference of two readings.
 *
 * How busy a CPU was is the one figure here that is not plain subtraction. /proc/stat's two halves
 * are of unequal worth: idle time is measured by the clock and then cut to 10 ms, busy time is on
 * many kernels only sampled by the tick, so that a task which always runs between two ticks is
 * never seen. Hence idle time decides, and the busy time serves only to guess what the cutting to
 * 10 ms took away: the share idle / (idle + busy) of the interval, if that is within 10 ms of the
 * idle time counted, else the nearest value that is. A CPU without any idle time is 100 % busy, one
 * without any busy time 0 %, also when the interval is no multiple of 10 ms.
 */
#include "model/counters.h"

#include <math.h>
#include <string.h>

#include "model/residency.h"

#define RESOLUTION_USEC 10000.0

/* Flags whose meaning is a difference, so both readings must have them. */
#define DIFFERENCES (SENSE_PRESSURE | SENSE_RESIDENCY | SENSE_IDLE_STATISTICS | SENSE_ENERGY)

Counters *counters_new(int n_cpus)
{
        Counters *counters = g_new0(Counters, 1);

        counters->n_cpus = n_cpus;
        counters->times = g_new0(CpuTimes, n_cpus);
        return counters;
}

void counters_free(Counters *counters)
{
        if (!counters)
                return;
        g_free(counters->times);
        g_free(counters->idle);
        g_free(counters->energy);
        g_free(counters);
}

Snapshot *snapshot_new(int n_cpus)
{
        Snapshot *snapshot = g_new0(Snapshot, 1);

        snapshot->n_cpus = n_cpus;
        snapshot->busy = g_new0(float, n_cpus);
        snapshot->battery_level = -1;
        return snapshot;
}

void snapshot_free(Snapshot *snapshot)
{
        if (!snapshot)
                return;
        g_free(snapshot->busy);
        g_free(snapshot->residency);
        g_free(snapshot->energy);
        g_free(snapshot);
}

static double progress(uint64_t previous, uint64_t current)
{
        return current > previous ? (double)(current - previous) : 0;
}

/* The share of the interval that the CPU was idle, 0 .. 1; 1 if nothing is known. */
static double idle_share(const CpuTimes *previous, const CpuTimes *current, double interval)
{
        double idle = progress(previous->idle_usec, current->idle_usec);
        double busy = progress(previous->busy_usec, current->busy_usec);
        double share;

        /* A sum of two cut values may step back by two units; more is another CPU's life. */
        if (progress(current->idle_usec, previous->idle_usec) > 2 * RESOLUTION_USEC)
                return 1;
        if (idle + busy == 0)
                return 1;
        share = idle / (idle + busy);
        share = CLAMP(share, (idle - RESOLUTION_USEC) / interval,
                      (idle + RESOLUTION_USEC) / interval);
        return CLAMP(share, 0, 1);
}

static void compute_load(const Counters *previous, const Counters *current, Snapshot *snapshot)
{
        double interval = (double)snapshot->interval_usec;

        memset(snapshot->busy, 0, sizeof(*snapshot->busy) * (size_t)snapshot->n_cpus);
        snapshot->load = 0;
        snapshot->switches_per_sec = 0;
        if (snapshot->interval_usec == 0)
                return;
        CPUSET_FOREACH(cpu, &snapshot->cpus) {
                double busy = 1 - idle_share(&previous->times[cpu], &current->times[cpu], interval);

                snapshot->busy[cpu] = (float)busy;
                snapshot->load += busy;
        }
        snapshot->switches_per_sec = progress(previous->switches, current->switches) /
                                     (interval / 1e6);
}

static void compute_residency(const Counters *previous, const Counters *current, Snapshot *snapshot)
{
        size_t n = (size_t)snapshot->n_cpus;

        if (!previous || !(snapshot->have & SENSE_RESIDENCY)) {
                g_clear_pointer(&snapshot->residency, g_free);
                return;
        }
        if (!snapshot->residency)
                snapshot->residency = g_new0(Residency, n);
        for (int cpu = 0; cpu < snapshot->n_cpus; cpu++) {
                if (!cpuset_has(&snapshot->cpus, cpu)) {
                        snapshot->residency[cpu] = (Residency){ .estimated = -1 };
                        continue;
                }
                residency_compute(&previous->idle[cpu], &current->idle[cpu],
                                  1 - (double)snapshot->busy[cpu], snapshot->interval_usec,
                                  snapshot->have & SENSE_IDLE_STATISTICS,
                                  &snapshot->residency[cpu]);
        }
}

/* The energy between two readings of one domain, in microjoules; false if it cannot be true. */
static bool energy_between(const EnergyCounter *previous, const EnergyCounter *current,
                           double interval, double *ret_uj)
{
        uint64_t range = current->range_uj, uj;

        if (!previous->valid || !current->valid || previous->source != current->source ||
            previous->range_uj != range || range == 0 || previous->uj > range ||
            current->uj > range)
                return false;
        uj = current->uj >= previous->uj ? current->uj - previous->uj
                                         : range - previous->uj + current->uj;
        /* 1 W is 1 uJ per us */
        if (uj > range / 2 || (double)uj > ENERGY_WATTS_MAX * interval ||
            ENERGY_WATTS_SUSTAINED * interval > (double)range)
                return false;
        *ret_uj = (double)uj;
        return true;
}

static void compute_energy(const Counters *previous, const Counters *current, Snapshot *snapshot)
{
        double interval = (double)snapshot->interval_usec, uj;
        int n = previous && (snapshot->have & SENSE_ENERGY) ? current->n_energy : 0;

        if (n != snapshot->n_energy)
                snapshot->energy = g_renew(EnergyUse, snapshot->energy, n);
        snapshot->n_energy = n;
        for (int i = 0; i < n; i++) {
                snapshot->energy[i] = (EnergyUse){ .package = current->energy[i].package };
                if (i >= previous->n_energy ||
                    !energy_between(&previous->energy[i], &current->energy[i], interval, &uj))
                        continue;
                snapshot->energy[i].joules = uj / 1e6;
                snapshot->energy[i].watts = uj / interval;
                snapshot->energy[i].valid = true;
        }
}

static void copy_momentary(const Counters *current, Snapshot *snapshot)
{
        bool power = current->have & SENSE_POWER, loadavg = current->have & SENSE_LOADAVG;

        snapshot->time_usec = current->time_usec;
        snapshot->real_usec = current->real_usec;
        snapshot->utc_offset_sec = current->utc_offset_sec;
        snapshot->running = current->running;
        snapshot->blocked = current->blocked;
        for (int i = 0; i < 3; i++)
                snapshot->loadavg[i] = loadavg ? current->loadavg[i] : 0;
        snapshot->threads = loadavg ? current->threads : 0;
        snapshot->on_battery = power && current->on_battery;
        snapshot->battery_level = power ? current->battery_level : -1;
}

void snapshot_compute(const Counters *previous, const Counters *current, Snapshot *snapshot)
{
        copy_momentary(current, snapshot);
        snapshot->have = current->have & ~(unsigned)DIFFERENCES;
        snapshot->cpus = current->cpus;
        snapshot->interval_usec = 0;
        if (previous && current->time_usec > previous->time_usec) {
                snapshot->interval_usec = current->time_usec - previous->time_usec;
                snapshot->have |= current->have & previous->have & DIFFERENCES;
                cpuset_and(&snapshot->cpus, &previous->cpus);
        }

        compute_load(previous, current, snapshot);
        snapshot->pressure = 0;
        if (previous && (snapshot->have & SENSE_PRESSURE))
                snapshot->pressure = MIN(progress(previous->pressure_usec, current->pressure_usec) /
                                                 (double)snapshot->interval_usec,
                                         1);
        compute_residency(previous, current, snapshot);
        compute_energy(previous, current, snapshot);
}

double snapshot_package_joules(const Snapshot *snapshot)
{
        double joules = 0;
        bool any = false;

        for (int i = 0; snapshot->have & SENSE_ENERGY && i < snapshot->n_energy; i++) {
                const EnergyUse *use = &snapshot->energy[i];

                if (!use->package)
                        continue;
                any = true;
                joules += use->valid ? use->joules : NAN;
        }
        return any ? joules : NAN;
}
