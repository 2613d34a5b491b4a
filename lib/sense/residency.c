/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Residency: cpuidle's counters in sysfs, two files per CPU and state.
 *
 * This is the one sensor whose cost grows to milliseconds on large machines, so it reads only what
 * can have changed. `time` and `usage` of a state change together when the CPU wakes from it. First
 * `usage` is read, then, if it has changed, `time`. If a sleep ends in between, its usage appears
 * in the next reading: the two values of one sleep may be in different readings, but none is lost.
 * Which states it may enter is read of a CPU that woke up, from the deepest on until one is
 * permitted: a CPU that sleeps on is in the state that it entered then.
 *
 * All are read through kept descriptors. That costs a seventh of opening the file below a kept
 * directory, and a tenth of opening it below the root or through libcpupower. A kept descriptor
 * takes 4.6 kB of kernel memory once read, about 46 kB for each CPU of four states: little compared
 * with the hundreds of kilobytes that the kernel keeps for a CPU, and only spent when residencies
 * are requested. The limit of open files bounds it: half of that is left to others, and the files
 * of further CPUs are opened for each reading.
 *
 * A CPU that went offline loses its files (ENODEV). It has no states in that reading, and the next
 * reading that finds it in /proc/stat opens them again.
 */
#include "sense/sensor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/file.h"
#include "sense/scan.h"

#define CPUIDLE_PATH "sys/devices/system/cpu/cpu%d/cpuidle"
#define LIMIT_FILE   "../power/pm_qos_resume_latency_us"

typedef struct StateFds {
        int usage, time, disable; /* -1: not kept */
        uint64_t latency_us;      /* time that leaving the state takes; UINT64_MAX: not read yet */
} StateFds;

typedef struct CpuIdle {
        int directory; /* cpuN/cpuidle, -1 while not open */
        StateFds *fds; /* by state */
        int limit;     /* descriptor of LIMIT_FILE; -1: not kept */
        IdleCounters last;
} CpuIdle;

typedef struct Idle {
        int root, n_cpus;
        int budget;     /* how many more descriptors may be kept */
        CpuIdle **cpus; /* by number; NULL: never read */
} Idle;

/* How many descriptors this sensor may keep. */
static int budget_find(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return 0;
        return (int)MIN(limit.rlim_cur / 2, (rlim_t)CPUSET_MAX * IDLE_STATES_MAX * 2);
}

static void keep_close(Idle *idle, int *fd)
{
        if (*fd >= 0)
                idle->budget++;
        fd_close(fd);
        *fd = -1;
}

/* Drops what is kept of a CPU, so that the next reading opens its files again. */
static void cpu_close(Idle *idle, CpuIdle *cpu)
{
        for (int s = 0; s < cpu->last.n_states; s++) {
                keep_close(idle, &cpu->fds[s].usage);
                keep_close(idle, &cpu->fds[s].time);
                keep_close(idle, &cpu->fds[s].disable);
        }
        keep_close(idle, &cpu->limit);
        g_clear_pointer(&cpu->fds, g_free);
        keep_close(idle, &cpu->directory);
        cpu->last = (IdleCounters){ 0 };
}

static void idle_close(void *state)
{
        Idle *idle = state;

        for (int i = 0; i < idle->n_cpus; i++) {
                if (!idle->cpus[i])
                        continue;
                cpu_close(idle, idle->cpus[i]);
                g_free(idle->cpus[i]);
        }
        g_free(idle->cpus);
        g_free(idle);
}

/* How many states there are in a CPU's directory. */
static int count_states(int directory)
{
        char name[16];
        int n = 0;

        for (; n < IDLE_STATES_MAX; n++) {
                snprintf(name, sizeof(name), "state%d", n);
                if (faccessat(directory, name, F_OK, 0) < 0)
                        break;
        }
        return n;
}

static int idle_open(int root, const Topology *topology, void **ret_state)
{
        Idle *idle;
        int error = -ENOENT;

        CPUSET_FOREACH(cpu, &topology->online) {
                _fd_ int directory = idle_directory_open(root, cpu);

                if (directory < 0) {
                        error = directory;
                        continue;
                }
                if (count_states(directory) == 0)
                        continue;
                idle = g_new(Idle, 1);
                *idle = (Idle){
                        .root = root,
                        .n_cpus = topology->n_cpus,
                        .budget = budget_find(),
                        .cpus = g_new0(CpuIdle *, topology->n_cpus),
                };
                *ret_state = idle;
                return 0;
        }
        return error;
}

static int keep_open(Idle *idle, int directory, int state, const char *file)
{
        int fd;

        if (idle->budget <= 0)
                return -1;
        fd = idle_file_open(directory, state, file);
        if (fd < 0)
                return -1;
        idle->budget--;
        return fd;
}

static int limit_open(int directory)
{
        return openat(directory, LIMIT_FILE, O_RDONLY | O_CLOEXEC);
}

/* Finds the states of CPU `number` and opens what is kept of them. */
static int cpu_open(Idle *idle, CpuIdle *cpu, int number)
{
        int directory = idle_directory_open(idle->root, number), n;

        if (directory < 0)
                return directory;
        n = count_states(directory);
        if (n == 0) {
                close(directory);
                return -ENOENT;
        }
        idle->budget--;
        cpu->directory = directory;
        cpu->last.n_states = n;
        cpu->fds = g_new0(StateFds, n);
        for (int s = 0; s < n; s++) {
                cpu->fds[s].usage = keep_open(idle, directory, s, "usage");
                cpu->fds[s].time = -1;
                cpu->fds[s].disable = -1;
                cpu->fds[s].latency_us = UINT64_MAX;
        }
        cpu->limit = idle->budget > 0 ? limit_open(directory) : -1;
        idle->budget -= cpu->limit >= 0;
        return 0;
}

/* The longest exit latency that is permitted, in us; UINT64_MAX: any. */
static uint64_t limit_read(const CpuIdle *cpu)
{
        _fd_ int fd = cpu->limit < 0 ? limit_open(cpu->directory) : -1;
        char buffer[32];
        const char *text = buffer;
        uint64_t limit;

        if (fd_read_at_start(fd >= 0 ? fd : cpu->limit, buffer, sizeof(buffer)) < 0)
                return UINT64_MAX;
        if (scan_word(&text, "n/a"))
                return 0;
        return scan_u64(&text, &limit) && limit > 0 ? limit : UINT64_MAX;
}

/* Whether the kernel must not use the state now. Opens its files and keeps them open. */
static bool read_barred(Idle *idle, CpuIdle *cpu, int state, uint64_t limit)
{
        uint64_t disabled = 0;
        StateFds *fds = &cpu->fds[state];

        if (fds->disable < 0)
                fds->disable = keep_open(idle, cpu->directory, state, "disable");
        if (idle_counter_read(cpu->directory, fds->disable, state, "disable", &disabled) == 0 &&
            disabled)
                return true;
        if (limit < UINT64_MAX && fds->latency_us == UINT64_MAX) {
                fds->latency_us = 0;
                idle_counter_read(cpu->directory, -1, state, "latency", &fds->latency_us);
        }
        return fds->latency_us != UINT64_MAX && fds->latency_us > limit;
}

static int count_barred(Idle *idle, CpuIdle *cpu)
{
        uint64_t limit = limit_read(cpu);
        int n = 0, deepest = cpu->last.n_states - 1;

        while (n < deepest && read_barred(idle, cpu, deepest - n, limit))
                n++;
        return n;
}

/* Brings cpu->last up to date. */
static int cpu_read(Idle *idle, CpuIdle *cpu, int number)
{
        bool first = cpu->directory < 0, woke = first;
        int r;

        if (first) {
                r = cpu_open(idle, cpu, number);
                if (r < 0)
                        return r;
        }
        for (int s = 0; s < cpu->last.n_states; s++) {
                uint64_t before = cpu->last.usage[s];

                r = idle_counter_read(cpu->directory, cpu->fds[s].usage, s, "usage",
                                      &cpu->last.usage[s]);
                if (r < 0)
                        return r;
                if (!first && cpu->last.usage[s] == before)
                        continue;
                woke = true;
                /* Not in the first reading: each reading needs `usage` of all states, while the
                 * `time` of many states never changes. */
                if (!first && cpu->fds[s].time < 0)
                        cpu->fds[s].time = keep_open(idle, cpu->directory, s, "time");
                r = idle_counter_read(cpu->directory, cpu->fds[s].time, s, "time",
                                      &cpu->last.time_usec[s]);
                if (r < 0)
                        return r;
        }
        if (woke)
                cpu->last.n_barred = count_barred(idle, cpu);
        return 0;
}

static int idle_read(void *state, Counters *counters)
{
        Idle *idle = state;
        int n = MIN(idle->n_cpus, counters->n_cpus);

        if (!counters->idle)
                counters->idle = g_new0(IdleCounters, counters->n_cpus);
        for (int i = 0; i < n; i++) {
                counters->idle[i].n_states = 0;
                if (!cpuset_has(&counters->cpus, i))
                        continue;
                if (!idle->cpus[i]) {
                        idle->cpus[i] = g_new0(CpuIdle, 1);
                        idle->cpus[i]->directory = idle->cpus[i]->limit = -1;
                }
                if (cpu_read(idle, idle->cpus[i], i) < 0)
                        cpu_close(idle, idle->cpus[i]);
                counters->idle[i] = idle->cpus[i]->last;
        }
        counters->have |= SENSE_RESIDENCY;
        return 0;
}

const Sensor sensor_residency = {
        .provides = SENSE_RESIDENCY,
        .open = idle_open,
        .read = idle_read,
        .close = idle_close,
};
