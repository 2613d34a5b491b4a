/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager as others see it.
 */
#include "manager/manager-parts.h"
#include "model/topology-build.h"

int manager_wanted_cores(const Manager *manager)
{
        return topology_count_cores(manager->machine.topology, &manager->plan.allowed);
}

int manager_active_cores(const Manager *manager)
{
        CpuSet active = manager->machine.topology->online;

        cpuset_subtract(&active, &manager->parked);
        return topology_count_cores(manager->machine.topology, &active);
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
        return manager->snapshot;
}

const CpuSet *manager_allowed(const Manager *manager)
{
        return &manager->plan.allowed;
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

const IdledPolicy *active_module(const ActivePolicy *active)
{
        return active->policy;
}

const Section *active_section(const ActivePolicy *active)
{
        return active->section;
}

const Wish *active_wish(const ActivePolicy *active)
{
        return &active->wish;
}

const Evaluator *active_evaluator(const ActivePolicy *active)
{
        return active->evaluator;
}

int active_figures(const ActivePolicy *active, int cpu, Figure *ret_figures)
{
        const IdledPolicy *policy = active->policy;

        return policy->figures ? MIN(policy->figures(active->state, cpu, ret_figures), FIGURES_MAX)
                               : 0;
}

const ActuatorState *manager_nth_actuator(const Manager *manager, unsigned i)
{
        return i < manager->actuators->len ? &g_array_index(manager->actuators, ActuatorState, i)
                                           : NULL;
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

const Pause *manager_nth_pause(const Manager *manager, unsigned i)
{
        const ActivePause *pause = i < manager->pauses->len ? manager->pauses->pdata[i] : NULL;

        return pause ? &pause->shown : NULL;
}

const TrialRequest *manager_trial(const Manager *manager)
{
        return manager->trial ? &manager->trial->request : NULL;
}

const char *manager_profile_reason(const Manager *manager)
{
        return manager->profile.reason ?: "";
}

const char *manager_chosen_profile(const Manager *manager)
{
        return manager->profile.chosen ?: "";
}

uint64_t manager_since_usec(const Manager *manager, int cpu)
{
        return journal_cause(manager->journal, cpu)->since_usec;
}

uint64_t manager_n_ticks(const Manager *manager)
{
        return manager->n_ticks;
}

uint64_t manager_period_usec(const Manager *manager)
{
        return manager->plan.period_usec;
}

bool manager_has_decided(const Manager *manager)
{
        if (manager->asking)
                return false;
        return manager->plan.settled || manager_interval_usec(manager) == 0 ||
               !cpuset_is_subset(&manager->machine.topology->online, &manager->plan.allowed);
}

const Snapshot *manager_observe(Manager *manager, unsigned senses)
{
        return observers_read(manager->observers, senses);
}

const CpuTotal *manager_cpu_total(const Manager *manager, int cpu)
{
        return observers_cpu(manager->observers, cpu);
}

EnergyTotal manager_energy_total(const Manager *manager, int domain)
{
        return observers_energy(manager->observers, domain);
}

double manager_pressure_usec(const Manager *manager)
{
        return observers_pressure_usec(manager->observers);
}
