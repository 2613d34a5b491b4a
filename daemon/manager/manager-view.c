/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager as others see it.
 */
#include "manager/manager-parts.h"
#include "model/topology-build.h"

int manager_wanted_cores(const Manager *manager)
{
        return topology_count_cores(manager->topology, &manager->plan.allowed);
}

int manager_active_cores(const Manager *manager)
{
        CpuSet active = manager->topology->online;

        cpuset_subtract(&active, &manager->parked);
        return topology_count_cores(manager->topology, &active);
}

uint64_t manager_interval_usec(const Manager *manager)
{
        return tick_timer_interval(manager->timer);
}

uint64_t manager_late_usec(const Manager *manager)
{
        return tick_timer_late(manager->timer);
}

int manager_trigger_error(const Manager *manager)
{
        return load_watch_trigger_error(manager->load_watch);
}

int manager_forks_error(const Manager *manager)
{
        int r = load_watch_trigger_error(manager->load_watch);

        return r < 0 ? load_watch_forks_error(manager->load_watch) : 0;
}
