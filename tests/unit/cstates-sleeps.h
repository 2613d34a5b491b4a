/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A model of a CPU for cstates to learn from: its governor always takes the deepest state allowed,
 * and it counts as the kernel does.
 */
#ifndef IDLED_TESTS_CSTATES_SLEEPS_H
#define IDLED_TESTS_CSTATES_SLEEPS_H

#include "cstates-world.h"

/* One CPU with its sleeps. */
typedef struct Sleeper {
        Machine *machine;
        int number;
        uint64_t correct, sleeps; /* the deepest state that fitted was entered */
} Sleeper;

/* The deepest state that the present request allows. */
static inline int allowed(const Sleeper *cpu)
{
        const IdleTable *table = &cpu->machine->tables[cpu->number];
        int32_t latency_us = cpu->machine->world->cpus[cpu->number].latency_us;

        return idle_table_deepest(table, latency_us < 0 ? UINT32_MAX : (uint32_t)latency_us);
}

/* Sleeps for `idle_us` in the deepest state allowed, and counts as drivers/cpuidle does. */
static inline void cpu_sleep(Sleeper *cpu, double idle_us)
{
        const IdleTable *table = &cpu->machine->tables[cpu->number];
        Residency *row = &cpu->machine->world->snapshot->residency[cpu->number];
        int state = allowed(cpu), ideal = 0;
        double latency = table->states[state].exit_latency_us, slept = idle_us + latency;

        row->entered[state]++;
        if (slept < table->states[state].target_residency_us)
                row->above[state] += state > 0;
        else if (state + 1 < table->n_states &&
                 slept - latency >= table->states[state + 1].target_residency_us)
                row->below[state]++;
        for (int i = 0; i < table->n_states; i++)
                if (table->states[i].target_residency_us <= idle_us)
                        ideal = i;
        cpu->sleeps++;
        cpu->correct += state == ideal;
}

/* Ends the interval: decides, and begins to count again. */
static inline void look(Machine *m, uint64_t usec)
{
        decide(m, usec);
        for (int i = 0; i < 4; i++)
                m->world->snapshot->residency[i] = (Residency){ .n_states = m->tables[i].n_states };
}

static inline Machine history_start(const char *table, const char *options)
{
        g_autofree char *all = g_strconcat("History=yes", *options ? " " : "", options, NULL);
        Machine m = machine_start(table, table, all);

        m.world->idle = m.tables;
        world_add_residency(m.world);
        return m;
}

#endif
