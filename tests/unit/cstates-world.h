/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of cstates share: a machine of four CPUs with idle states of two kinds.
 */
#ifndef IDLED_TESTS_CSTATES_WORLD_H
#define IDLED_TESTS_CSTATES_WORLD_H

#include "idle-tables.h"
#include "machine.h"
#include "table.h"
#include "world.h"

#define CLIENT "POLL:0:0 C1:2:2 C1E:10:20 C3:33:100 C6:133:400 C7s:166:500"
#define SERVER "POLL:0:0 C1:2:2 C1E:10:20 C6:133:600"
#define PHONE  "WFI:1:1 CPUSLEEP:150:500 CLUSLEEP:700:2500"
#define ACPI   "POLL:0:0 C1_ACPI:1:1 C2_ACPI:253:759 C3_ACPI:1048:3144"
#define GUEST  "POLL:0:0 haltpoll:1:2"

static const Grid four_cpus = { 1, 1, 4, 1, 0, 0, NULL };

/* A machine of four CPUs: the first two have the idle states `first`, the others `second`. */
typedef struct Machine {
        Topology *topology;
        IdleTable tables[4];
        World *world;
} Machine;

static inline Machine machine_start(const char *first, const char *second, const char *options)
{
        Machine m = { .topology = grid_build(&four_cpus) };

        for (int i = 0; i < 4; i++)
                m.tables[i] = idle_table_of(i < 2 ? first : second);
        m.world = world_new(&idled_policy, m.topology);
        world_set_all(m.world, options);
        return m;
}

static inline void machine_stop(Machine *m)
{
        world_free(m->world);
        topology_free(m->topology);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Machine, machine_stop)

static inline void decide(Machine *m, uint64_t usec)
{
        m->world->idle = m->tables;
        if (!m->world->snapshot->residency)
                world_add_residency(m->world);
        world_decide(m->world, usec);
}

static inline void expect_off(const char *name, const Machine *m, int cpu, const char *off)
{
        g_autofree char *text = idle_mask_format(&m->tables[cpu], m->world->cpus[cpu].disabled);

        ck_case(name, strcmp(text, off) == 0, "CPU %d: off \"%s\", expected \"%s\"", cpu, text,
                off);
}

static inline int explain(const Machine *m, int cpu, Reason *ret_reasons)
{
        const World *world = m->world;
        PolicyInput input = { .topology = m->topology,
                              .snapshot = world->snapshot,
                              .idle = world->idle,
                              .holds = world->holds,
                              .n_holds = world->n_holds,
                              .options = world->options };

        return idled_policy.explain(world->state, &input, cpu, ret_reasons);
}

/* The kernel's counts: `sleeps` sleeps of state `state` in a second. */
static inline void sleep_put(Machine *m, int cpu, double busy, int state, uint32_t sleeps)
{
        Residency *row;

        m->world->idle = m->tables;
        if (!m->world->snapshot->residency)
                world_add_residency(m->world);
        row = &m->world->snapshot->residency[cpu];
        memset(row->entered, 0, sizeof(row->entered));
        row->entered[state] = sleeps;
        m->world->snapshot->busy[cpu] = (float)busy;
}

#endif
