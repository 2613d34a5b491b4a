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
        return seen_topology(manager->seen);
}

const Sensors *manager_sensors(const Manager *manager)
{
        return seen_sensors(manager->seen);
}

const Snapshot *manager_snapshot(const Manager *manager)
{
        return seen_snapshot(manager->seen);
}

const Plan *manager_plan(const Manager *manager)
{
        return done_plan(manager->done);
}

const CpuSet *manager_parked(const Manager *manager)
{
        return seen_parked(manager->seen);
}

const ActivePolicy *manager_policy(const Manager *manager, unsigned i)
{
        return decided_policy(manager->decided, i);
}

const ActuatorSet *manager_actuators(const Manager *manager)
{
        return done_actuators(manager->done);
}

const Knobs *manager_knobs(const Manager *manager)
{
        return done_knobs(manager->done);
}

const History *manager_history(const Manager *manager)
{
        return decided_history(manager->decided);
}

Holds *manager_holds(const Manager *manager)
{
        return asked_holds(manager->asked);
}

const Contracts *manager_contracts(const Manager *manager)
{
        return asked_contracts(manager->asked);
}

Pauses *manager_pauses(const Manager *manager)
{
        return asked_pauses(manager->asked);
}

const Trial *manager_trial(const Manager *manager)
{
        return asked_trial(manager->asked);
}

const ActiveProfile *manager_profile(const Manager *manager)
{
        return asked_profile(manager->asked);
}

bool manager_has_decided(const Manager *manager)
{
        if (decided_is_asking(manager->decided))
                return false;
        return manager_plan(manager)->settled || tick_timer_interval(manager->timer) == 0 ||
               !cpuset_is_subset(&seen_topology(manager->seen)->online,
                                 &manager_plan(manager)->allowed);
}

Observers *manager_observers(const Manager *manager)
{
        return seen_observers(manager->seen);
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
        return asked_apps(manager->asked);
}

const Watching *manager_watching(const Manager *manager)
{
        return seen_watching(manager->seen);
}

bool manager_serves_holds(const Manager *manager)
{
        return decided_who(manager->decided, WISHES_BY_HOLDS) != NULL;
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
        const Pause *pause = pauses_nth(asked_pauses(manager->asked), 0);

        if (pause)
                return g_strdup_printf("paused by %s: %s", pause->owner, pause->reason);
        if (manager->ground.setup.dry_run)
                return g_strdup("this is a dry run");
        return g_strdup(asked_profile(manager->asked)->problem);
}
