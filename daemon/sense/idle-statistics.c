/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Idle-state statistics: how often an idle state was too deep (above), too shallow (below), or
 * refused (rejected).
 *
 * Three files per CPU and state that few ask for. They are opened for each reading, below a kept
 * directory, and only where something can have changed: `above` and `below` change with the state's
 * `usage`, which the residency sensor has just read; a refused entry is no use of that state, but
 * the CPU then tries another or is busy and sleeps later, so `rejected` is read of all states of a
 * CPU of which any was used. Kernels before 5.x do not have the files; then the counters stay 0.
 */
#include "sense/sensor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "sense/scan.h"

typedef struct CpuStatistics {
        int directory; /* cpuN/cpuidle, -1 while not open */
        IdleCounters last;
} CpuStatistics;

typedef struct IdleStatistics {
        int root, n_cpus;
        CpuStatistics *cpus; /* by number */
} IdleStatistics;

static void statistics_close(void *state)
{
        IdleStatistics *statistics = state;

        for (int i = 0; i < statistics->n_cpus; i++)
                fd_close(&statistics->cpus[i].directory);
        g_free(statistics->cpus);
        g_free(statistics);
}

static int directory_open(int root, int cpu)
{
        char path[64];
        int fd;

        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cpuidle", cpu);
        fd = openat(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static int statistics_open(int root, const Topology *topology, void **ret_state)
{
        int error = -ENOENT;
        IdleStatistics *statistics;

        CPUSET_FOREACH(cpu, &topology->online) {
                _fd_ int directory = directory_open(root, cpu);

                if (directory < 0) {
                        error = directory;
                        continue;
                }
                if (faccessat(directory, "state0/above", F_OK, 0) < 0)
                        continue;
                statistics = g_new(IdleStatistics, 1);
                *statistics = (IdleStatistics){
                        .root = root,
                        .n_cpus = topology->n_cpus,
                        .cpus = g_new0(CpuStatistics, topology->n_cpus),
                };
                for (int i = 0; i < statistics->n_cpus; i++)
                        statistics->cpus[i].directory = -1;
                *ret_state = statistics;
                return 0;
        }
        return error;
}

/* Reads one counter. What is not there or is not a number leaves the old value. */
static void counter_read(int directory, int state, const char *file, uint64_t *value)
{
        char buffer[32], path[32];
        const char *text = buffer;
        uint64_t number;
        _fd_ int fd = -1;

        snprintf(path, sizeof(path), "state%d/%s", state, file);
        fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fd_read_at_start(fd, buffer, sizeof(buffer)) < 0)
                return;
        if (scan_u64(&text, &number) && *text == '\n')
                *value = number;
}

/* Brings cpu->last up to date with the uses in `idle`. */
static int cpu_read(int root, int number, CpuStatistics *cpu, const IdleCounters *idle)
{
        IdleCounters *last = &cpu->last;
        bool first = cpu->directory < 0 || last->n_states != idle->n_states;

        if (!first && memcmp(last->usage, idle->usage, sizeof(last->usage)) == 0)
                return 0;
        if (first) {
                fd_close(&cpu->directory);
                *last = (IdleCounters){ .n_states = idle->n_states };
                cpu->directory = directory_open(root, number);
        }
        if (cpu->directory < 0)
                return cpu->directory;
        for (int s = 0; s < last->n_states; s++) {
                counter_read(cpu->directory, s, "rejected", &last->rejected[s]);
                if (!first && last->usage[s] == idle->usage[s])
                        continue;
                counter_read(cpu->directory, s, "above", &last->above[s]);
                counter_read(cpu->directory, s, "below", &last->below[s]);
        }
        memcpy(last->usage, idle->usage, sizeof(last->usage));
        return 0;
}

static int statistics_read(void *state, Counters *counters)
{
        IdleStatistics *statistics = state;
        int n = MIN(statistics->n_cpus, counters->n_cpus);

        if (!(counters->have & SENSE_RESIDENCY))
                return -ENODATA;
        for (int i = 0; i < n; i++) {
                IdleCounters *idle = &counters->idle[i];
                CpuStatistics *cpu = &statistics->cpus[i];

                if (idle->n_states <= 0 || cpu_read(statistics->root, i, cpu, idle) < 0) {
                        fd_close(&cpu->directory);
                        cpu->directory = -1;
                        continue;
                }
                memcpy(idle->above, cpu->last.above, sizeof(idle->above));
                memcpy(idle->below, cpu->last.below, sizeof(idle->below));
                memcpy(idle->rejected, cpu->last.rejected, sizeof(idle->rejected));
        }
        counters->have |= SENSE_MISSES;
        return 0;
}

const Sensor sensor_idle_statistics = {
        .name = "idle-state statistics",
        .provides = SENSE_MISSES,
        .open = statistics_open,
        .read = statistics_read,
        .close = statistics_close,
};
