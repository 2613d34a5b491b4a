/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The work of a core: one thread, two threads, capacities, and shares that are not known. */
#include "model/pack.h"
#include "table.h"

static const struct {
        const char *name;
        uint16_t n_threads, capacity;
        float busy[2];
        const char *cpus; /* which of the two count */
        double work;
} work_cases[] = {
        { "idle", 2, CAPACITY_SCALE, { 0, 0 }, "11", 0 },
        { "one thread", 1, CAPACITY_SCALE, { 0.5f, 1 }, "11", 0.5 },
        { "one of two", 2, CAPACITY_SCALE, { 1, 0 }, "11", 1 },
        { "both", 2, CAPACITY_SCALE, { 1, 1 }, "11", 1 + SMT_GAIN },
        { "both by half", 2, CAPACITY_SCALE, { 0.5f, 0.5f }, "11", 0.75 + SMT_GAIN * 0.25 },
        { "both, half as fast", 2, CAPACITY_SCALE / 2, { 1, 1 }, "11", (1 + SMT_GAIN) / 2 },
        { "one does not count", 2, CAPACITY_SCALE, { 1, 1 }, "10", 1 },
        { "none counts", 2, CAPACITY_SCALE, { 1, 1 }, "00", 0 },
        { "not known", 2, CAPACITY_SCALE, { -1, NAN }, "11", 0 },
        { "more than all", 1, CAPACITY_SCALE, { 1.5f, 0 }, "11", 1 },
};

TEST_EACH(work, work_cases)
{
        int core_cpus[] = { 0, 1 };
        Topology topology = { .core_cpus = core_cpus };
        TopologyCore core = { .capacity = c->capacity, .n_threads = c->n_threads };
        CpuSet cpus = { 0 };
        double found;

        for (int i = 0; i < 2; i++)
                if (c->cpus[i] == '1')
                        cpuset_add(&cpus, i);
        found = core_work(&topology, &core, &cpus, c->busy);
        ck_case(c->name, fabs(found - c->work) < 1e-6, "found %g, expected %g", found, c->work);
}

UNIT("core-work")
