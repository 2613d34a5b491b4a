/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known of the machine.
 */
#include "manager/machine.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "act/tune/tuning.h"
#include "base/file.h"
#include "base/log.h"
#include "model/topology-build.h"
#include "sense/frequency-read.h"
#include "sense/sensor.h"
#include "sense/topology-read.h"

int machine_init(MachineFacts *machine, int root)
{
        *machine = (MachineFacts){ .root = root };
        return topology_read(root, &machine->topology);
}

static void drop_facts(MachineFacts *machine)
{
        g_clear_pointer(&machine->idle, g_free);
        frequency_free(machine->frequency, machine->n_frequency);
        g_clear_pointer(&machine->reach, g_free);
        machine->frequency = NULL;
        machine->n_frequency = 0;
}

void machine_done(MachineFacts *machine)
{
        drop_facts(machine);
        topology_free(machine->topology);
}

int machine_rescan(MachineFacts *machine, const CpuSet *parked, CpuSet *ret_came)
{
        Topology *topology;
        int r = topology_read(machine->root, &topology);

        if (r < 0)
                return r;
        /* A partition of ours is none of the administrator's. */
        cpuset_subtract(&topology->isolated, parked);
        if (topology->n_cpus != machine->topology->n_cpus ||
            topology_equal(topology, machine->topology)) {
                topology_free(topology);
                return 0;
        }
        *ret_came = topology->online;
        cpuset_subtract(ret_came, &machine->topology->online);
        topology_free(machine->topology);
        machine->topology = topology;
        return 1;
}

/* The idle states of all online CPUs; a CPU that is offline has none. NULL if no CPU has any. */
static IdleTable *read_idle(const MachineFacts *machine)
{
        const Topology *topology = machine->topology;
        g_autofree IdleTable *tables = g_new0(IdleTable, (gsize)topology->n_cpus);
        bool any = false;

        CPUSET_FOREACH(cpu, &topology->online) {
                tables[cpu].n_states = idle_states_read(machine->root, cpu, tables[cpu].states);
                any |= tables[cpu].n_states > 0;
        }
        return any ? g_steal_pointer(&tables) : NULL;
}

void machine_read_facts(MachineFacts *machine, bool needed)
{
        int r;

        drop_facts(machine);
        machine->needed = needed;
        if (!needed)
                return;
        machine->idle = read_idle(machine);
        r = frequency_read(machine->root, machine->topology, &machine->frequency,
                           &machine->n_frequency);
        machine->reach = g_new0(FreqReach, (gsize)machine->n_frequency);
        if (r < 0 && r != -ENOENT)
                log_error_errno(r, "Failed to read what cpufreq offers: %m");
}

ActFacts machine_facts(const MachineFacts *machine, const GPtrArray *unit_kinds)
{
        return (ActFacts){
                .topology = machine->topology,
                .idle = machine->idle,
                .frequency = machine->frequency,
                .n_frequency = machine->n_frequency,
                .unit_kinds = unit_kinds,
        };
}

static bool driver_changed(const MachineFacts *machine)
{
        char driver[32];

        frequency_read_driver(machine->root, machine->topology, driver);
        return !g_str_equal(driver, machine->frequency ? machine->frequency[0].driver : "");
}

/* The first CPU's only: those of the others come from the same driver. */
static bool states_changed(const MachineFacts *machine)
{
        int cpu = cpuset_next(&machine->topology->online, -1);
        g_autofree IdleTable *now = g_new0(IdleTable, 1);

        now->n_states = idle_states_read(machine->root, cpu, now->states);
        if (!machine->idle)
                return now->n_states > 0;
        return memcmp(now, &machine->idle[cpu], sizeof(*now)) != 0;
}

bool machine_drivers_changed(const MachineFacts *machine)
{
        return driver_changed(machine) || states_changed(machine);
}

/* True if a file of the CPUs' has this number. */
static bool is_set(const MachineFacts *machine, const char *name, uint64_t expected)
{
        g_autofree char *path = g_strconcat(TUNE_DIR, name, NULL);
        uint64_t value;

        return file_read_u64(machine->root, path, &value) >= 0 && value == expected;
}

static bool is_boost_off(const MachineFacts *machine, int policy)
{
        g_autofree char *own = g_strdup_printf("cpufreq/policy%d/boost", policy);

        return is_set(machine, "intel_pstate/no_turbo", 1) || is_set(machine, "cpufreq/boost", 0) ||
               is_set(machine, own, 0);
}

const FreqReach *machine_reach(const MachineFacts *machine, int i, uint64_t turn)
{
        const FreqPolicy *policy = &machine->frequency[i];
        g_autofree char *path = NULL;
        FreqReach *reach = &machine->reach[i];

        if (reach->turn == turn + 1)
                return reach;
        path = g_strdup_printf(TUNE_DIR "cpufreq/policy%d/scaling_max_freq", policy->number);
        *reach = (FreqReach){ .turn = turn + 1, .khz = UINT64_MAX };
        file_read_u64(machine->root, path, &reach->khz);
        reach->boost_off = policy->has_boost && policy->base_khz &&
                           is_boost_off(machine, policy->number);
        return reach;
}
