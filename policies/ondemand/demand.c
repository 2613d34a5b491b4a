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
                       uint64_t full_usec, DemandLimits limits)
{
        bool saturated = full_usec >= limits.full_usec;

        demand->active++;
        demand->idle += 1 - busy;
        if (busy > demand->busiest)
                demand->busiest = busy;
        demand->full += busy >= limits.full;
        demand->saturated += saturated;
        if (!saturated)
                demand->rest += busy * capacity / CAPACITY_SCALE;
        demand->fast += wants_fast(pack, capacity, busy, saturated, limits.target);
}

/* Adds the CPUs of `core`; returns the busy shares of those that are not in use. */
static double add_core(const PolicyInput *input, const Pack *pack, const TopologyCore *core,
                       DemandLimits limits, const uint64_t *full_usec, Demand *demand)
{
        double elsewhere = 0;

        for (int i = 0; i < core->n_threads; i++) {
                int cpu = input->topology->core_cpus[core->first + i];
                double busy = input->snapshot->busy[cpu];

                if (cpuset_has(&pack->cpus, cpu) && cpuset_has(input->allowed, cpu))
                        add_active(demand, pack, core->capacity, busy, full_usec[cpu], limits);
                else
                        elsewhere += busy;
        }
        demand->work += core_work(input->topology, core, &pack->cpus, input->snapshot->busy);
        return elsewhere;
}

unsigned demand_tasks(const Demand *demand, unsigned runnable_before)
{
        double busy = demand->active - demand->idle;
        unsigned lasting = runnable_before < demand->runnable ? runnable_before : demand->runnable;

        if (demand->idle < 0.5 || lasting <= busy + 0.5)
                return demand->runnable;
        return (unsigned)ceil(busy);
}

void demand_read(const PolicyInput *input, const Pack *pack, DemandLimits limits,
                 const uint64_t *full_usec, unsigned runnable_before, Demand *ret_demand)
{
        const Topology *topology = input->topology;
        double elsewhere = 0;
        Demand demand = { 0 };

        for (int i = 0; i < topology->n_cores; i++)
                elsewhere += add_core(input, pack, &topology->cores[i], limits, full_usec, &demand);
        if (input->snapshot->running > elsewhere + 0.5)
                demand.runnable = (unsigned)(input->snapshot->running - elsewhere + 0.5);
        demand.tasks = demand_tasks(&demand, runnable_before);
        *ret_demand = demand;
}
