/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the demand: one pass over the CPUs, core by core.
 */
#include "ondemand/demand.h"

#include <math.h>

/* Whether the work of one active CPU calls for a core of the fastest kind. A slow core: if it is
 * saturated, because it hides how much more there is. A fast one: if a slow core would not have
 * room for its work. */
static bool wants_fast(const Pack *pack, uint16_t capacity, double busy, bool saturated,
                       double target)
{
        if (pack->slowest == pack->fast)
                return false;
        return capacity < pack->fast ? saturated : busy * capacity > target * pack->slowest;
}

static void add_active(Demand *demand, const Pack *pack, uint16_t capacity, double busy,
                       bool saturated, const DemandLimits *limits)
{
        demand->active++;
        demand->idle += 1 - busy;
        demand->load.busiest = busy > demand->load.busiest ? busy : demand->load.busiest;
        demand->full += busy >= limits->full;
        demand->saturated += saturated;
        if (!saturated)
                demand->rest += busy * capacity / CAPACITY_SCALE;
        demand->fast += wants_fast(pack, capacity, busy, saturated, limits->target);
}

/* How long the CPU that `since_usec` is of has been full. */
static uint64_t note_full(const Snapshot *snapshot, bool full, uint64_t *since_usec)
{
        if (!full)
                *since_usec = 0;
        else if (*since_usec == 0)
                *since_usec = snapshot->time_usec - snapshot->interval_usec;
        return full ? snapshot->time_usec - *since_usec : 0;
}

/* Adds the CPUs of `core`; returns the busy shares of those that are not `active`. */
static double add_core(const PolicyInput *input, const TopologyCore *core, const CpuSet *active,
                       const Pack *pack, const DemandLimits *limits, uint64_t *full_since_usec,
                       Demand *demand)
{
        const Topology *topology = input->topology;
        const Snapshot *snapshot = input->snapshot;
        double elsewhere = 0;

        for (int i = 0; i < core->n_threads; i++) {
                int cpu = topology->core_cpus[core->first + (uint32_t)i];
                double busy = snapshot->busy[cpu];
                uint64_t full_usec;

                if (!cpuset_has(active, cpu)) {
                        full_since_usec[cpu] = 0;
                        elsewhere += busy;
                        continue;
                }
                full_usec = note_full(snapshot, busy >= limits->full, &full_since_usec[cpu]);
                add_active(demand, pack, topology->cpus[cpu].capacity, busy,
                           full_usec >= limits->full_usec, limits);
        }
        demand->load.work += core_work(topology, core, &pack->cpus, snapshot->busy);
        return elsewhere;
}

Demand demand_read(const PolicyInput *input, const Pack *pack, DemandLimits limits,
                   uint64_t *full_since_usec, unsigned runnable_before)
{
        const Topology *topology = input->topology;
        CpuSet active = pack->cpus;
        double elsewhere = 0;
        Demand demand = { 0 };

        cpuset_and(&active, input->allowed);
        for (int i = 0; i < topology->n_cores; i++)
                elsewhere += add_core(input, &topology->cores[i], &active, pack, &limits,
                                      full_since_usec, &demand);
        if (input->snapshot->running > elsewhere + 0.5)
                demand.runnable = (unsigned)(input->snapshot->running - elsewhere + 0.5);
        demand.tasks = demand_tasks(&demand, runnable_before);
        return demand;
}

unsigned demand_tasks(const Demand *demand, unsigned runnable_before)
{
        double busy = demand->active - demand->idle;
        unsigned lasting = runnable_before < demand->runnable ? runnable_before : demand->runnable;

        if (demand->idle < 0.5 || lasting <= busy + 0.5)
                return demand->runnable;
        return (unsigned)ceil(busy);
}
