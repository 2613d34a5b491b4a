/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Work by busy time and clocks, or by context switches. */
#include "sense/work-meter.h"

#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "model/pack.h"

#define READ_USEC  UINT64_C(10000000)
#define BUSY_LEAST 0.01 /* of a core: others are not asked for their clock */

double cpufreq_khz(int root, int cpu, const char *file)
{
        char path[96];
        uint64_t khz;

        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, file);
        return file_read_u64(root, path, &khz) == 0 && khz > 0 ? (double)khz : NAN;
}

/* The clock of `cpu` as a share of its highest, above 0, at most 1; NaN where cpufreq does not say.
 * Ask for CPUs that are busy: the clock of an idle one is old. The kernel has it from the latest
 * timer tick; before Linux 5.18 it interrupts the CPU unless that is idle. */
static double clock_share(int root, int cpu)
{
        double share = cpufreq_khz(root, cpu, "scaling_cur_freq") /
                       cpufreq_khz(root, cpu, "cpuinfo_max_freq");

        return share > 1 ? 1 : share;
}

bool work_meter_choose(WorkMeter *meter, int root, const Topology *topology)
{
        WorkUnit before = meter->unit;

        meter->unit = WORK_SWITCHES;
        CPUSET_FOREACH(cpu, &topology->online)
                if (isfinite(clock_share(root, cpu))) {
                        meter->unit = WORK_BUSY;
                        break;
                }
        return meter->unit != before;
}

static int first_cpu(const Topology *topology, int core)
{
        return topology->core_cpus[topology->cores[core].first];
}

static double busy_of(const Topology *topology, const CpuSet *cpus, const float *busy, int core)
{
        return core_work(topology, &topology->cores[core], cpus, busy);
}

/* The mean of clocks begins again. */
static void begin_clocks(WorkMeter *meter)
{
        for (int cpu = 0; cpu < CPUSET_MAX; cpu++) {
                CoreClock *clock = &meter->clocks[cpu];

                if (clock->n > 0)
                        *clock = (CoreClock){ .last = clock->sum / (float)clock->n };
        }
}

void work_meter_read(WorkMeter *meter, int root, const Topology *topology, const Snapshot *snapshot,
                     bool block)
{
        uint64_t now = snapshot->time_usec;

        if (meter->unit != WORK_BUSY ||
            (!block && meter->read_usec > 0 && now < meter->read_usec + READ_USEC))
                return;
        if (!block)
                begin_clocks(meter);
        for (int i = 0; i < topology->n_cores; i++) {
                int cpu = first_cpu(topology, i);
                double busy = busy_of(topology, &snapshot->cpus, snapshot->busy, i);
                double share = busy < BUSY_LEAST ? NAN : clock_share(root, cpu);

                if (isnan(share))
                        continue;
                meter->read_usec = now;
                meter->clocks[cpu].sum += (float)share;
                meter->clocks[cpu].n++;
        }
}

static double clock_of(const CoreClock *clock)
{
        if (clock->n > 0)
                return (double)clock->sum / clock->n;
        return clock->last > 0 ? (double)clock->last : 1;
}

static double rate_of(const WorkMeter *meter, const Topology *topology, const Snapshot *snapshot,
                      const float *busy)
{
        double work = 0;

        if (meter->unit == WORK_SWITCHES)
                return snapshot->switches_per_sec / WORK_SWITCHES_EACH;
        for (int i = 0; i < topology->n_cores; i++)
                work += busy_of(topology, &snapshot->cpus, busy, i) *
                        clock_of(&meter->clocks[first_cpu(topology, i)]);
        return work;
}

double work_meter_rate(const WorkMeter *meter, const Topology *topology, const Snapshot *snapshot)
{
        return rate_of(meter, topology, snapshot, snapshot->busy);
}

void work_meter_add(WorkMeter *meter, int root, const Topology *topology, const Snapshot *snapshot,
                    const TaskTime *tasks, Block *block)
{
        double seconds = (double)snapshot->interval_usec / G_USEC_PER_SEC;

        work_meter_read(meter, root, topology, snapshot, true);
        block->seconds += seconds;
        block->load += rate_of(meter, topology, snapshot, snapshot->busy) * seconds;
        block->work += rate_of(meter, topology, snapshot, tasks->share) * seconds;
        block->delay += snapshot->have & SENSE_PRESSURE ? snapshot->pressure * seconds : NAN;
        if (meter->unit == WORK_BUSY) {
                block->cpu_seconds += tasks->cpus * seconds;
                block->switches += tasks->known ? tasks->switches_per_sec * seconds : NAN;
        }
        begin_clocks(meter);
}
