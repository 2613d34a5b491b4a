/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the demand: one pass over the CPUs, core by core.
 */
#include "ondemand/demand.h"

/* A saturated CPU may want more than it gets, which on a slow core calls for a fast one. So does
 * work on a fast core that a slow one has no room for. */
static bool wants_fast(const Pack *pack, uint16_t capacity, double busy, double up, double target)
{
        if (pack->slowest == pack->fast)
                return false;
        if (capacity < pack->fast)
                return busy >= up;
        return busy * capacity > target * pack->slowest;
}

Demand demand_read(const PolicyInput *input, const Pack *pack, const float *busy, double up,
                   double target)
{
        const Topology *topology = input->topology;
        Demand demand = { 0 };

        for (int i = 0; i < topology->n_cores; i++) {
                const TopologyCore *core = &topology->cores[i];
                double idle = 1, sum = 0, occupied;

                for (int k = 0; k < core->n_threads; k++) {
                        int cpu = topology->core_cpus[core->first + k];

                        if (!cpuset_has(&pack->cpus, cpu))
                                continue;
                        sum += busy[cpu];
                        idle *= 1 - busy[cpu];
                        if (!cpuset_has(input->allowed, cpu))
                                continue;
                        demand.active++;
                        demand.idle += 1 - busy[cpu];
                        demand.busiest = busy[cpu] > demand.busiest ? busy[cpu] : demand.busiest;
                        if (busy[cpu] >= up)
                                demand.saturated++;
                        else
                                demand.rest += busy[cpu] * core->capacity / CAPACITY_SCALE;
                        demand.fast += wants_fast(pack, core->capacity, busy[cpu], up, target);
                }
                occupied = 1 - idle;
                demand.work += core->capacity * (occupied + SMT_GAIN * (sum - occupied)) /
                               CAPACITY_SCALE;
        }
        return demand;
}

unsigned demand_runnable(const PolicyInput *input, const Pack *pack)
{
        double elsewhere = 0;

        CPUSET_FOREACH(cpu, &input->topology->online)
                if (!cpuset_has(&pack->cpus, cpu) || !cpuset_has(input->allowed, cpu))
                        elsewhere += input->snapshot->busy[cpu];
        return input->snapshot->running > elsewhere + 0.5
                       ? (unsigned)(input->snapshot->running - elsewhere + 0.5)
                       : 0;
}
