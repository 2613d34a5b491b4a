/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts about the machine that policies decide by and that change only with its CPUs or drivers.
 * They are read when a policy is there that needs them, and again when CPUs came or went.
 */
#include <errno.h>

#include "base/log.h"
#include "manager/manager-parts.h"
#include "sense/frequency-read.h"

bool manager_wishes_cpus(const Manager *manager)
{
        for (guint i = 0; i < manager->policies->len; i++)
                if (g_array_index(manager->policies, ActivePolicy, i).policy->wishes & WISHES_CPUS)
                        return true;
        return false;
}

/* The idle states of all online CPUs; a CPU that is offline has none. NULL if no CPU has any. */
static IdleTable *read_idle(const Manager *manager)
{
        const Topology *topology = manager->topology;
        g_autofree IdleTable *tables = g_new0(IdleTable, (gsize)topology->n_cpus);
        bool any = false;

        CPUSET_FOREACH(cpu, &topology->online) {
                tables[cpu].n_states = idle_states_read(manager->setup.root, cpu,
                                                        tables[cpu].states);
                any |= tables[cpu].n_states > 0;
        }
        return any ? g_steal_pointer(&tables) : NULL;
}

static void read_frequency(Manager *manager)
{
        int r = frequency_read(manager->setup.root, manager->topology, &manager->frequency,
                               &manager->n_frequency);

        manager->reach = g_new0(FreqReach, (gsize)manager->n_frequency);
        if (r < 0 && r != -ENOENT)
                log_error_errno(r, "Failed to read what cpufreq offers: %m");
}

void manager_read_facts(Manager *manager)
{
        gsize n_cpus = (gsize)manager->topology->n_cpus;

        manager_drop_facts(manager);
        if (!manager_wishes_cpus(manager))
                return;
        manager->idle = read_idle(manager);
        read_frequency(manager);
        for (int i = 0; i < 2; i++)
                if (!manager->cpu_wishes[i])
                        manager->cpu_wishes[i] = g_new0(CpuWish, n_cpus);
}

ActFacts manager_act_facts(const Manager *manager)
{
        return (ActFacts){
                .topology = manager->topology,
                .idle = manager->idle,
                .frequency = manager->frequency,
                .n_frequency = manager->n_frequency,
        };
}

void manager_drop_facts(Manager *manager)
{
        g_clear_pointer(&manager->idle, g_free);
        frequency_free(manager->frequency, manager->n_frequency);
        g_clear_pointer(&manager->reach, g_free);
        manager->frequency = NULL;
        manager->n_frequency = 0;
}
