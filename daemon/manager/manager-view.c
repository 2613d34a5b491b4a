/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager as others see it.
 */
#include "manager/evaluation.h"
#include "manager/manager-parts.h"

void manager_set_listener(Manager *manager, ManagerListener listener, void *userdata)
{
        manager->on_change = listener;
        manager->userdata = userdata;
}

const ManagerSetup *manager_setup(const Manager *manager)
{
        return &manager->ground.setup;
}

const Config *manager_config(const Manager *manager)
{
        return manager->ground.config;
}

const Topology *manager_topology(const Manager *manager)
{
        return manager->seen->machine.topology;
}

const Sensors *manager_sensors(const Manager *manager)
{
        return manager->seen->sensors;
}

const Snapshot *manager_snapshot(const Manager *manager)
{
        return manager->seen->readings.seen;
}

const Plan *manager_plan(const Manager *manager)
{
        return &manager->done->plan;
}

const CpuSet *manager_parked(const Manager *manager)
{
        return &manager->seen->parked;
}

const ActivePolicy *manager_policy(const Manager *manager, unsigned i)
{
        return i < manager->decided->policies->len
                       ? &g_array_index(manager->decided->policies, ActivePolicy, i)
                       : NULL;
}

const ActuatorSet *manager_actuators(const Manager *manager)
{
        return manager->done->actuators;
}

const Knobs *manager_knobs(const Manager *manager)
{
        return manager->done->knobs;
}

const History *manager_history(const Manager *manager)
{
        return manager->decided->history;
}

Holds *manager_holds(const Manager *manager)
{
        return manager->asked->holds;
}

const Contracts *manager_contracts(const Manager *manager)
{
        return manager->asked->contracts;
}

Pauses *manager_pauses(const Manager *manager)
{
        return manager->asked->pauses;
}

const Trial *manager_trial(const Manager *manager)
{
        return manager->asked->trial;
}

const ActiveProfile *manager_profile(const Manager *manager)
{
        return &manager->asked->profile;
}

bool manager_has_decided(const Manager *manager)
{
        if (manager->decided->asking)
                return false;
        return manager->done->plan.settled || tick_timer_interval(manager->timer) == 0 ||
               !cpuset_is_subset(&manager->seen->machine.topology->online,
                                 &manager->done->plan.allowed);
}

Observers *manager_observers(const Manager *manager)
{
        return manager->seen->observers;
}

const TickTimer *manager_timer(const Manager *manager)
{
        return manager->timer;
}

const LoadWatch *manager_load_watch(const Manager *manager)
{
        return manager->seen->load_watch;
}

const Apps *manager_apps(const Manager *manager)
{
        return manager->asked->apps;
}

const char *manager_terminals_unwatched(const Manager *manager)
{
        return watching_terminals_unwatched(manager->seen->watching);
}

const char *manager_cpusets_unwatched(const Manager *manager)
{
        return watching_cpusets_unwatched(manager->seen->watching);
}

const Refusals *manager_refusals(const Manager *manager)
{
        return watching_refusals(manager->seen->watching);
}

bool manager_serves_holds(const Manager *manager)
{
        return decided_serves_holds(manager->decided);
}

CpuWish manager_limits(const Manager *manager, int cpu)
{
        return done_limits(manager->done, cpu);
}

EnergySource manager_energy_source(const Manager *manager)
{
        return evaluation_source(manager->decided);
}

char *manager_obstacle(const Manager *manager)
{
        return done_obstacle(manager->done);
}

const char *manager_unconfined(const Manager *manager)
{
        return done_unconfined(manager->done);
}

char *manager_profile_inhibited(const Manager *manager)
{
        const Pause *pause = pauses_nth(manager->asked->pauses, 0);

        if (pause)
                return g_strdup_printf("paused by %s: %s", pause->owner, pause->reason);
        if (manager->ground.setup.dry_run)
                return g_strdup("this is a dry run");
        return g_strdup(manager->asked->profile.problem);
}
