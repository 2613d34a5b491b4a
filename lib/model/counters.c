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

/* What /proc/stat cannot see, in microseconds. */
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

/*
 * Residency: one CPU's interval split among its idle states.
 *
 * cpuidle adds a sleep to its state's `time` and `usage` when the CPU wakes, all at once. Sampled
 * every 0.1 s, a CPU that sleeps for half a second at a time shows 0, 0, 0, 0 and then 500 %.
 * /proc/stat counts a sleep while it lasts. So the two say different things about an interval, and
 * each is right about one of them: /proc/stat how long the CPU was idle in it, cpuidle in which
 * states. How long decides, and the states are made to fit:
 *
 * 1. cpuidle saw less than /proc/stat: the rest is a sleep in progress. Its state is known only
 *    when it ends. The best guess is the deepest state that a sleep ended in within the interval;
 *    without any, the guess made before (it is probably the same sleep); else the deepest state.
 *    States that are off, or that a latency limit forbids, are no guess: a sleep that ended in one
 *    began before. The row says which state was guessed.
 * 2. cpuidle saw more: one sleep began before the interval, and that part was counted then. It is
 *    taken off the state guessed before if that has so much, else off the state with the longest
 *    time, which must be the sleeper's: only one sleep can reach across the interval's beginning.
 * 3. What is still too much, or differs by less than /proc/stat's resolution, is scaled away.
 *
 * Therefore a row always adds up to 1, and over many intervals to what /proc/stat counted: no sleep
 * is credited twice.
 */
static uint32_t progress_u32(uint64_t previous, uint64_t current)
{
        return (uint32_t)MIN(progress(previous, current), UINT32_MAX);
}

/* Fills the counts of the row; false if the two readings are not of the same states. */
static bool count_entries(const IdleCounters *previous, const IdleCounters *current,
                          bool statistics, Residency *row)
{
        if (previous->n_states != row->n_states)
                return false;
        for (int s = 0; s < row->n_states; s++) {
                row->entered[s] = progress_u32(previous->usage[s], current->usage[s]);
                if (!statistics)
                        continue;
                row->above[s] = progress_u32(previous->above[s], current->above[s]);
                row->below[s] = progress_u32(previous->below[s], current->below[s]);
                row->rejected[s] = progress_u32(previous->rejected[s], current->rejected[s]);
        }
        return true;
}

/* The state that a sleep in progress is credited to. */
static int guess_state(const Residency *row, int n_barred, int guessed_before)
{
        int deepest = MAX(row->n_states - 1 - n_barred, 0);

        for (int s = deepest; s >= 0; s--)
                if (row->entered[s])
                        return s;
        if (guessed_before >= 0 && guessed_before <= deepest)
                return guessed_before;
        return deepest;
}

/* Takes what was slept before the interval off the state that it was slept in. */
static void take_off(double *usec, int n_states, double excess, int guessed_before)
{
        int sleeper = 0;

        for (int s = 1; s < n_states; s++)
                if (usec[s] > usec[sleeper])
                        sleeper = s;
        if (guessed_before >= 0 && guessed_before < n_states && usec[guessed_before] >= excess)
                sleeper = guessed_before;
        usec[sleeper] = MAX(usec[sleeper] - excess, 0);
}

static double sum(const double *values, int n)
{
        double total = 0;

        for (int i = 0; i < n; i++)
                total += values[i];
        return total;
}

/* Splits `idle`, the share of the interval (0 .. 1) that the CPU was idle according to /proc/stat,
 * among the states by what the counters say; the rest is `busy`. `statistics`: the counters above,
 * below and rejected were read too. `residency` holds the row of the interval before, whose
 * estimate is remembered, or zeroes. `interval_usec` is not 0. */
static void residency_compute(const IdleCounters *previous, const IdleCounters *current,
                              double idle, uint64_t interval_usec, bool statistics,
                              Residency *residency)
{
        int guessed_before = residency->n_states > 0 ? residency->estimated : -1;
        double idle_usec = idle * (double)interval_usec, usec[IDLE_STATES_MAX] = { 0 }, seen;
        Residency row = { .n_states = CLAMP(current->n_states, 0, IDLE_STATES_MAX),
                          .busy = (float)(1 - idle),
                          .estimated = -1 };

        if (count_entries(previous, current, statistics, &row))
                for (int s = 0; s < row.n_states; s++)
                        usec[s] = progress(previous->time_usec[s], current->time_usec[s]);

        seen = sum(usec, row.n_states);
        if (row.n_states > 0 && seen < idle_usec) {
                row.estimated = (int8_t)guess_state(&row, current->n_barred, guessed_before);
                usec[row.estimated] += idle_usec - seen;
        } else if (seen > idle_usec + RESOLUTION_USEC) {
                take_off(usec, row.n_states, seen - idle_usec, guessed_before);
        }
        seen = sum(usec, row.n_states);
        for (int s = 0; s < row.n_states; s++)
                row.share[s] = seen > 0 ? (float)(usec[s] / seen * idle) : 0;
        *residency = row;
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
