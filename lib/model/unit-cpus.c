/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of units and their CPUs.
 *
 * CPUAffinity= and AllowedCPUs= of one unit both hold for its process, so it needs a CPU that is in
 * both. If no CPU is, it cannot start whatever idled does, and each set counts alone. A process
 * whose memory is bound to NUMA nodes may run anywhere, but far from its memory: one CPU of these
 * nodes stays active for it, as for the tasks that sense/affinities.c finds.
 */
#include "model/unit-cpus.h"

#include "base/cpuset-text.h"

struct UnitTable {
        GHashTable *units; /* name -> UnitCpus */
};

UnitTable *unit_table_new(void)
{
        UnitTable *table = g_new0(UnitTable, 1);

        table->units = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return table;
}

void unit_table_free(UnitTable *table)
{
        if (!table)
                return;
        g_hash_table_unref(table->units);
        g_free(table);
}

const UnitCpus *unit_table_find(const UnitTable *table, const char *unit)
{
        return g_hash_table_lookup(table->units, unit);
}

static bool is_equal(const UnitCpus *a, const UnitCpus *b)
{
        return cpuset_equal(&a->affinity, &b->affinity) && cpuset_equal(&a->allowed, &b->allowed) &&
               cpuset_equal(&a->nodes, &b->nodes) && a->numa_affinity == b->numa_affinity &&
               a->numa_bound == b->numa_bound && a->oneshot == b->oneshot;
}

bool unit_table_set(UnitTable *table, const char *unit, const UnitCpus *cpus)
{
        const UnitCpus *known = unit_table_find(table, unit);

        if (!cpus)
                return g_hash_table_remove(table->units, unit);
        if (known && is_equal(known, cpus))
                return false;
        g_hash_table_replace(table->units, g_strdup(unit), g_memdup2(cpus, sizeof(*cpus)));
        return true;
}

void unit_table_clear(UnitTable *table)
{
        g_hash_table_remove_all(table->units);
}

/* The CPUs of the nodes with these numbers. */
static CpuSet cpus_of_nodes(const Topology *topology, const CpuSet *nodes)
{
        CpuSet cpus = { 0 };

        for (int cpu = 0; cpu < topology->n_cpus; cpu++) {
                int node = topology->cpus[cpu].node;

                if (node >= 0 && cpuset_has(nodes, topology->node_ids[node]))
                        cpuset_add(&cpus, cpu);
        }
        return cpus;
}

static void add(Affinities *affinities, const char *unit, const char *key, const CpuSet *named,
                const CpuSet *cpus)
{
        g_autofree char *text = cpuset_format(named);

        if (!cpuset_is_empty(cpus))
                affinities_add(affinities, cpus, g_strdup_printf("%s (%s=%s)", unit, key, text));
}

static void add_unit(Affinities *affinities, const char *unit, const UnitCpus *cpus,
                     const Topology *topology)
{
        CpuSet of_nodes = cpus_of_nodes(topology, &cpus->nodes);
        CpuSet affinity = cpus->numa_affinity ? of_nodes : cpus->affinity, both = affinity;

        cpuset_and(&both, &cpus->allowed);
        if (cpuset_is_empty(&both)) {
                add(affinities, unit, "AllowedCPUs", &cpus->allowed, &cpus->allowed);
                both = affinity;
        }
        if (cpus->numa_affinity)
                add(affinities, unit, "NUMAMask", &cpus->nodes, &both);
        else
                add(affinities, unit, "CPUAffinity", &cpus->affinity, &both);
        if (cpus->numa_bound)
                add(affinities, unit, "NUMAMask", &cpus->nodes, &of_nodes);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
        return g_strcmp0(a, b);
}

Affinities *unit_table_affinities(const UnitTable *table, const Topology *topology)
{
        g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(table->units), compare_names);
        Affinities *affinities = g_new0(Affinities, 1);

        for (const GList *i = names; i; i = i->next)
                add_unit(affinities, i->data, unit_table_find(table, i->data), topology);
        return affinities;
}
