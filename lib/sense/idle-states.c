/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the idle states of a CPU are: static facts, read once. And which of them it may enter now.
 */
#include "sense/sensor.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "sense/scan.h"

/* The kernel's value for no limit of all CPUs (PM_QOS_CPU_LATENCY_DEFAULT_VALUE). */
#define GLOBAL_NONE_US (2000 * 1000 * 1000)

/* A number of one state; 0 if the kernel does not give a sane one. */
static uint32_t read_us(int root, int cpu, int state, const char *file)
{
        char path[96];
        uint64_t value;

        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cpuidle/state%d/%s", cpu, state,
                 file);
        return file_read_u64(root, path, &value) < 0 || value > UINT32_MAX ? 0 : (uint32_t)value;
}

int idle_states_read(int root, int cpu, IdleState *ret_states)
{
        int n;

        for (n = 0; n < IDLE_STATES_MAX; n++) {
                IdleState info = { 0 };
                char path[96];

                snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cpuidle/state%d/name",
                         cpu, n);
                if (file_read_value(root, path, info.name, sizeof(info.name)) < 0)
                        break;
                info.exit_latency_us = read_us(root, cpu, n, "latency");
                info.target_residency_us = read_us(root, cpu, n, "residency");
                ret_states[n] = info;
        }
        return n;
}

IdleTable *idle_tables_read(int root, int n_cpus)
{
        IdleTable *tables = g_new0(IdleTable, (gsize)n_cpus);

        for (int cpu = 0; cpu < n_cpus; cpu++)
                tables[cpu].n_states = idle_states_read(root, cpu, tables[cpu].states);
        return tables;
}

int idle_directory_open(int root, int cpu)
{
        char path[64];
        int fd;

        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cpuidle", cpu);
        fd = openat(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int idle_file_open(int directory, int state, const char *file)
{
        char path[32];
        int fd;

        snprintf(path, sizeof(path), "state%d/%s", state, file);
        fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int idle_counter_read(int directory, int fd, int state, const char *file, uint64_t *value)
{
        _fd_ int opened = fd < 0 ? idle_file_open(directory, state, file) : -1;
        char buffer[32];
        const char *text = buffer;
        uint64_t number;
        int n;

        if (fd < 0 && opened < 0)
                return opened;
        n = fd_read_at_start(fd < 0 ? opened : fd, buffer, sizeof(buffer));
        if (n < 0)
                return n;
        if (scan_u64(&text, &number) && *text == '\n')
                *value = number;
        return 0;
}

bool idle_state_enabled(int root, int cpu, int state)
{
        char path[96];
        uint64_t disabled;

        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cpuidle/state%d/disable", cpu,
                 state);
        return file_read_u64(root, path, &disabled) < 0 || disabled == 0;
}

int idle_global_open(int root)
{
        int fd = openat(root, "dev/cpu_dma_latency", O_RDONLY | O_NOCTTY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

int64_t idle_global_limit(int fd)
{
        int32_t us;

        if (fd < 0 || pread(fd, &us, sizeof(us), 0) != sizeof(us))
                return -1;
        return us < 0 || us >= GLOBAL_NONE_US ? -1 : us;
}

int64_t idle_limit_stricter(int64_t a, int64_t b)
{
        return a < 0 ? b : b < 0 ? a : MIN(a, b);
}

/* "n/a" is no latency at all, and "0" is no limit. */
int64_t idle_limit_parse(const char *text)
{
        uint64_t limit = 0;

        if (strcmp(text, "n/a") == 0)
                return 0;
        return u64_parse(text, &limit) < 0 || limit == 0 || limit > INT32_MAX ? -1 : (int64_t)limit;
}

static int64_t own_limit(int root, int cpu)
{
        char path[96], text[24];

        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us",
                 cpu);
        return file_read_value(root, path, text, sizeof(text)) < 0 ? -1 : idle_limit_parse(text);
}

int64_t idle_latency_limit(int root, int cpu)
{
        _fd_ int global = idle_global_open(root);

        return idle_limit_stricter(own_limit(root, cpu), idle_global_limit(global));
}

uint16_t idle_states_permitted(int root, int cpu, const IdleTable *table)
{
        int64_t limit_us = idle_latency_limit(root, cpu);
        uint16_t mask = table->n_states > 0;

        for (int s = 1; s < table->n_states; s++)
                if (idle_state_enabled(root, cpu, s) &&
                    (limit_us < 0 || table->states[s].exit_latency_us <= limit_us))
                        mask |= (uint16_t)(1u << s);
        return mask;
}
