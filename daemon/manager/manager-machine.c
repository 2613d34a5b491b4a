/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What to do when CPUs or drivers changed.
 */
#include "base/log.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"

bool manager_wishes_cpus(const Manager *manager)
{
        for (guint i = 0; i < manager->policies->len; i++)
                if (g_array_index(manager->policies, ActivePolicy, i).policy->wishes & WISHES_CPUS)
                        return true;
        return false;
}

void manager_read_facts(Manager *manager)
{
        bool needed = manager_wishes_cpus(manager);

        machine_read_facts(&manager->machine, needed);
        for (int i = 0; i < 2 && needed; i++)
                if (!manager->cpu_wishes[i])
                        manager->cpu_wishes[i] = g_new0(CpuWish,
                                                        (gsize)manager->machine.topology->n_cpus);
}

bool manager_recheck_facts(Manager *manager)
{
        if (!manager_wishes_cpus(manager) || !machine_drivers_changed(&manager->machine))
                return false;
        log_info("The cpufreq or cpuidle driver has changed");
        manager_read_facts(manager);
        actuator_set_open_absent(manager->actuators, manager->config);
        manager_changed(manager, CHANGE_MISSING);
        if (machine_drivers_changed(&manager->machine))
                return false; /* they are changing still */
        manager->stale = true;
        return true;
}

bool manager_rescan(Manager *manager)
{
        CpuSet came;
        int r = machine_rescan(&manager->machine, &manager->parked, &came);

        if (r < 0)
                log_error_errno(r, "Failed to read the topology again: %m");
        if (r <= 0)
                return false;
        manager_interrupt_evaluation(manager, DROP_HOTPLUG);
        cpuset_or(&manager->returned, &came);
        manager_read_facts(manager);
        sensors_rescan(manager->sensors, manager->machine.topology);
        manager_choose_source(manager, manager->config);
        manager->stale = true;
        manager_changed(manager, CHANGE_TOPOLOGY);
        return true;
}
