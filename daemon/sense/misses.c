/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Misses: how often an idle state was too deep (above), too shallow (below), or refused (rejected).
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

typedef struct CpuMisses {
        int directory; /* cpuN/cpuidle, -1 while not open */
        IdleCounters last;
} CpuMisses;

typedef struct Misses {
        int root, n_cpus;
        CpuMisses *cpus; /* by number */
} Misses;

static void misses_close(void *state)
{
        Misses *misses = state;

        for (int i = 0; i < misses->n_cpus; i++)
                fd_close(&misses->cpus[i].directory);
        g_free(misses->cpus);
        g_free(misses);
}

static int directory_open(int root, int cpu)
{
        char path[64];
        int fd;

        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cpuidle", cpu);
        fd = openat(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static int misses_open(int root, const Topology *topology, void **ret_state)
{
        int error = -ENOENT;
        Misses *misses;

        CPUSET_FOREACH(cpu, &topology->online) {
                _fd_ int directory = directory_open(root, cpu);

                if (directory < 0) {
                        error = directory;
                        continue;
                }
                if (faccessat(directory, "state0/above", F_OK, 0) < 0)
                        continue;
                misses = g_new(Misses, 1);
                *misses = (Misses){
                        .root = root,
                        .n_cpus = topology->n_cpus,
                        .cpus = g_new0(CpuMisses, topology->n_cpus),
                };
                for (int i = 0; i < misses->n_cpus; i++)
                        misses->cpus[i].directory = -1;
                *ret_state = misses;
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
static int cpu_read(int root, int number, CpuMisses *cpu, const IdleCounters *idle)
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

static int misses_read(void *state, Counters *counters)
{
        Misses *misses = state;
        int n = MIN(misses->n_cpus, counters->n_cpus);

        if (!(counters->have & SENSE_RESIDENCY))
                return -ENODATA;
        for (int i = 0; i < n; i++) {
                IdleCounters *idle = &counters->idle[i];
                CpuMisses *cpu = &misses->cpus[i];

                if (idle->n_states <= 0 || cpu_read(misses->root, i, cpu, idle) < 0) {
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

const Sensor sensor_misses = {
        .name = "misses",
        .provides = SENSE_MISSES,
        .open = misses_open,
        .read = misses_read,
        .close = misses_close,
};
