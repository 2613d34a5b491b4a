/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cost of shallow sleeps, from a second of this machine.
 */
#include "doctor-cost.h"

#include <math.h>

#include "cli/watch.h"

#define SAMPLE_USEC 1000000

struct DoctorCost {
        int root;
        const Prices *prices;
        bool tried;
        Watch *watch; /* with one interval; NULL: not yet, or the CPUs cannot be read */
};

DoctorCost *doctor_cost_new(int root, const Prices *prices)
{
        DoctorCost *cost = g_new0(DoctorCost, 1);

        cost->root = root;
        cost->prices = prices;
        return cost;
}

void doctor_cost_free(DoctorCost *cost)
{
        if (!cost)
                return;
        watch_free(cost->watch);
        g_free(cost);
}

static bool sample(DoctorCost *cost)
{
        if (cost->tried || !cost->prices)
                return cost->watch;
        cost->tried = true;
        if (watch_new(cost->root, &cost->watch) < 0)
                return false;
        if (watch_begin(cost->watch, SENSE_RESIDENCY, false) == 0) {
                g_usleep(SAMPLE_USEC);
                if (watch_sample(cost->watch, SENSE_RESIDENCY, false) == 0)
                        return true;
        }
        g_clear_pointer(&cost->watch, watch_free);
        return false;
}

/* The cheapest of the CPU's own states, those included that are switched off. */
static double cheapest(const DoctorCost *cost, int cpu)
{
        IdleState states[IDLE_STATES_MAX];
        int n = idle_states_read(cost->root, cpu, states);
        double lowest = NAN;

        for (int s = 0; s < n; s++)
                lowest = fmin(lowest, price_find(cost->prices, cpu, states[s].name));
        return lowest;
}

/* What the CPU's sleeps cost above a state of `lowest` watts. NaN: not known. */
static double excess(const DoctorCost *cost, int cpu, double lowest, const char *idle)
{
        const Snapshot *seen = cost->watch->seen;
        const Residency *row = seen->residency ? &seen->residency[cpu] : NULL;
        IdleTable table = { 0 };
        uint16_t permitted;
        double watts = 0;
        int deepest = 0;

        if (!cpuset_has(&seen->cpus, cpu))
                return NAN;
        table.n_states = idle_states_read(cost->root, cpu, table.states);
        if (!row || table.n_states <= 0 || row->n_states != table.n_states) {
                double more = price_find(cost->prices, cpu, idle) - lowest;

                return more < 0 ? 0 : (1 - (double)seen->busy[cpu]) * more;
        }
        /* A sleep that goes on may be credited to a state that the CPU may not enter: the kernel's
         * counters have it only when it ends. */
        permitted = idle_states_permitted(cost->root, cpu, &table);
        for (int s = 0; s < table.n_states; s++)
                deepest = permitted >> s & 1 ? s : deepest;
        for (int s = 0; s < table.n_states; s++) {
                const char *state = table.states[MIN(s, deepest)].name;
                double more = price_find(cost->prices, cpu, state) - lowest;

                if (row->share[s] > 0 && !(more < 0))
                        watts += (double)row->share[s] * more;
        }
        return watts;
}

double doctor_cost_known(DoctorCost *cost, const CpuSet *cpus)
{
        double watts = 0;

        if (!sample(cost))
                return NAN;
        CPUSET_FOREACH(cpu, cpus)
                watts += excess(cost, cpu, cheapest(cost, cpu), "C1");
        return watts;
}

double doctor_cost_hidden(DoctorCost *cost, const CpuSet *cpus, const char *idle)
{
        double watts = 0;

        if (!sample(cost))
                return NAN;
        CPUSET_FOREACH(cpu, cpus)
                watts += excess(cost, cpu, price_lowest(cost->prices, cpu), idle);
        return watts;
}
