/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What to do when CPUs or drivers changed.
 */
#include <errno.h>

#include "base/log.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"
#include "sense/frequency-read.h"
#include "sense/topology-read.h"

static bool driver_changed(const Manager *manager)
{
        char driver[32];

        frequency_read_driver(manager->setup.root, manager->topology, driver);
        return !g_str_equal(driver, manager->frequency ? manager->frequency[0].driver : "");
}

/* The first CPU's only: those of the others come from the same driver. */
static bool states_changed(const Manager *manager)
{
        int cpu = cpuset_next(&manager->topology->online, -1);
        g_autofree IdleTable *now = g_new0(IdleTable, 1);

        now->n_states = idle_states_read(manager->setup.root, cpu, now->states);
        if (!manager->idle)
                return now->n_states > 0;
        return memcmp(now, &manager->idle[cpu], sizeof(*now)) != 0;
}

bool manager_recheck_facts(Manager *manager)
{
        if (!manager_wishes_cpus(manager) || (!driver_changed(manager) && !states_changed(manager)))
                return false;
        log_info("The cpufreq or cpuidle driver has changed");
        manager_read_facts(manager);
        manager_open_absent(manager);
        manager_changed(manager, CHANGE_MISSING);
        if (driver_changed(manager) || states_changed(manager))
                return false; /* they are changing still */
        manager->stale = true;
        return true;
}

bool manager_rescan(Manager *manager)
{
        Topology *topology;
        int r;

        r = topology_read(manager->setup.root, &topology);
        if (r < 0) {
                log_error_errno(r, "Failed to read the topology again: %m");
                return false;
        }
        /* A partition of ours is none of the administrator's. */
        cpuset_subtract(&topology->isolated, &manager->parked);
        if (topology->n_cpus != manager->topology->n_cpus ||
            topology_equal(topology, manager->topology)) {
                topology_free(topology);
                return false;
        }
        manager_interrupt_evaluation(manager, DROP_HOTPLUG);
        CPUSET_FOREACH(cpu, &topology->online)
                if (!cpuset_has(&manager->topology->online, cpu))
                        cpuset_add(&manager->returned, cpu);
        topology_free(manager->topology);
        manager->topology = topology;
        manager_read_facts(manager);
        sensors_rescan(manager->sensors, topology);
        manager_choose_source(manager, manager->config);
        manager->stale = true;
        manager_changed(manager, CHANGE_TOPOLOGY);
        return true;
}
