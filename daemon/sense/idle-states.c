/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the idle states of a CPU are: static facts, read once.
 */
#include "sense/sensor.h"

#include <glib.h>
#include <stdio.h>

#include "base/file.h"

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
