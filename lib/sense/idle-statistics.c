/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Idle-state statistics: how often an idle state was too deep (above), too shallow (below), or
 * refused (rejected).
 *
 * Three files per CPU and state, read only where something can have changed: `above` and `below`
 * change with the state's `usage`, which the residency sensor has just read; a refused entry is no
 * use of that state, but the CPU then tries another or is busy and sleeps later, so `rejected` is
 * read of all states of a CPU of which any was used. Kernels before 5.x do not have the files; then
 * the counters stay 0.
 *
 * Descriptors are kept, up to a quarter of the limit of open files. Closing a file makes the kernel
 * wait for all CPUs (RCU), which wakes some of them up for each reading. The files of further CPUs
 * are opened for each reading, below a kept directory.
 */
#include "sense/sensor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"

enum { ABOVE, BELOW, REJECTED, FILES };

static const char *const file_names[] = { "above", "below", "rejected" };

typedef struct StateFds {
        int by_file[FILES]; /* -1: not kept */
} StateFds;

typedef struct CpuStatistics {
        int directory; /* cpuN/cpuidle, -1 while not open */
        StateFds *fds; /* by state; NULL: none is kept */
        IdleCounters last;
} CpuStatistics;

typedef struct IdleStatistics {
        int root, n_cpus;
        int budget;          /* how many more descriptors may be kept */
        CpuStatistics *cpus; /* by number */
} IdleStatistics;

/* How many descriptors this sensor may keep: none where the limit is too low for all sensors. */
static int budget_find(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return 0;
        return (int)MIN(limit.rlim_cur > 64 ? limit.rlim_cur / 4 : 0,
                        (rlim_t)CPUSET_MAX * IDLE_STATES_MAX * FILES);
}

/* Drops what is kept of a CPU, so that the next reading opens its files again. */
static void cpu_close(IdleStatistics *statistics, CpuStatistics *cpu)
{
        for (int s = 0; cpu->fds && s < cpu->last.n_states; s++)
                for (int f = 0; f < FILES; f++)
                        if (cpu->fds[s].by_file[f] >= 0) {
                                close(cpu->fds[s].by_file[f]);
                                statistics->budget++;
                        }
        g_clear_pointer(&cpu->fds, g_free);
        fd_close(&cpu->directory);
        cpu->directory = -1;
}

static void statistics_close(void *state)
{
        IdleStatistics *statistics = state;

        for (int i = 0; i < statistics->n_cpus; i++)
                cpu_close(statistics, &statistics->cpus[i]);
        g_free(statistics->cpus);
        g_free(statistics);
}

static int statistics_open(int root, const Topology *topology, void **ret_state)
{
        int error = -ENOENT;
        IdleStatistics *statistics;

        CPUSET_FOREACH(cpu, &topology->online) {
                _fd_ int directory = idle_directory_open(root, cpu);

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
                        .budget = budget_find(),
                        .cpus = g_new0(CpuStatistics, topology->n_cpus),
                };
                for (int i = 0; i < statistics->n_cpus; i++)
                        statistics->cpus[i].directory = -1;
                *ret_state = statistics;
                return 0;
        }
        return error;
}

/* Opens what is kept of a CPU. */
static int cpu_open(IdleStatistics *statistics, CpuStatistics *cpu, int number, int n_states)
{
        cpu_close(statistics, cpu);
        cpu->last = (IdleCounters){ .n_states = n_states };
        cpu->directory = idle_directory_open(statistics->root, number);
        if (cpu->directory < 0)
                return cpu->directory;
        cpu->fds = g_new(StateFds, n_states);
        for (int s = 0; s < n_states; s++)
                for (int f = 0; f < FILES; f++) {
                        cpu->fds[s].by_file[f] = statistics->budget > 0
                                                         ? idle_file_open(cpu->directory, s,
                                                                          file_names[f])
                                                         : -1;
                        if (cpu->fds[s].by_file[f] >= 0)
                                statistics->budget--;
                }
        return 0;
}

static void counter_read(const CpuStatistics *cpu, int state, int file, uint64_t *value)
{
        idle_counter_read(cpu->directory, cpu->fds[state].by_file[file], state, file_names[file],
                          value);
}

/* Brings cpu->last up to date with the uses in `idle`. */
static int cpu_read(IdleStatistics *statistics, int number, CpuStatistics *cpu,
                    const IdleCounters *idle)
{
        IdleCounters *last = &cpu->last;
        bool first = cpu->directory < 0 || last->n_states != idle->n_states;

        if (!first && memcmp(last->usage, idle->usage, sizeof(last->usage)) == 0)
                return 0;
        if (first) {
                int r = cpu_open(statistics, cpu, number, idle->n_states);

                if (r < 0)
                        return r;
        }
        for (int s = 0; s < last->n_states; s++) {
                counter_read(cpu, s, REJECTED, &last->rejected[s]);
                if (!first && last->usage[s] == idle->usage[s])
                        continue;
                counter_read(cpu, s, ABOVE, &last->above[s]);
                counter_read(cpu, s, BELOW, &last->below[s]);
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

                if (idle->n_states <= 0 || cpu_read(statistics, i, cpu, idle) < 0) {
                        cpu_close(statistics, cpu);
                        continue;
                }
                memcpy(idle->above, cpu->last.above, sizeof(idle->above));
                memcpy(idle->below, cpu->last.below, sizeof(idle->below));
                memcpy(idle->rejected, cpu->last.rejected, sizeof(idle->rejected));
        }
        counters->have |= SENSE_IDLE_STATISTICS;
        return 0;
}

const Sensor sensor_idle_statistics = {
        .provides = SENSE_IDLE_STATISTICS,
        .open = statistics_open,
        .read = statistics_read,
        .close = statistics_close,
};
