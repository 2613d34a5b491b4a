/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager as others see it.
 */
#include "manager/manager-parts.h"

void manager_set_listener(Manager *manager, ManagerListener listener, void *userdata)
{
        manager->on_change = listener;
        manager->userdata = userdata;
}

const ManagerSetup *manager_setup(const Manager *manager)
{
        return &manager->setup;
}

const Config *manager_config(const Manager *manager)
{
        return manager->config;
}

const Topology *manager_topology(const Manager *manager)
{
        return manager->machine.topology;
}

const Sensors *manager_sensors(const Manager *manager)
{
        return manager->sensors;
}

const Snapshot *manager_snapshot(const Manager *manager)
{
        return manager->readings.seen;
}

const Plan *manager_plan(const Manager *manager)
{
        return &manager->plan;
}

const CpuSet *manager_parked(const Manager *manager)
{
        return &manager->parked;
}

const ActivePolicy *manager_policy(const Manager *manager, unsigned i)
{
        return i < manager->policies->len ? &g_array_index(manager->policies, ActivePolicy, i)
                                          : NULL;
}

const ActuatorSet *manager_actuators(const Manager *manager)
{
        return manager->actuators;
}

const Knobs *manager_knobs(const Manager *manager)
{
        return manager->knobs;
}

const History *manager_history(const Manager *manager)
{
        return journal_history(manager->journal);
}

const Holds *manager_holds(const Manager *manager)
{
        return manager->holds;
}

const Pauses *manager_pauses(const Manager *manager)
{
        return manager->pauses;
}

const TrialRequest *manager_trial(const Manager *manager)
{
        return manager->trial ? &manager->trial->request : NULL;
}

const ActiveProfile *manager_profile(const Manager *manager)
{
        return &manager->profile;
}

bool manager_has_decided(const Manager *manager)
{
        if (manager->asking)
                return false;
        return manager->plan.settled || tick_timer_interval(manager->timer) == 0 ||
               !cpuset_is_subset(&manager->machine.topology->online, &manager->plan.allowed);
}

Observers *manager_observers(const Manager *manager)
{
        return manager->observers;
}

const TickTimer *manager_timer(const Manager *manager)
{
        return manager->timer;
}

const LoadWatch *manager_load_watch(const Manager *manager)
{
        return manager->load_watch;
}

const Apps *manager_apps(const Manager *manager)
{
        return manager->apps;
}
