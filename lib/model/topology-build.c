/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Building a topology: from facts of single CPUs to groups that nest.
 *
 * Groups are found from the largest to the smallest. A CPU's group is named by the pair of its
 * parent group and a number that the kernel gives; every new pair is the next group. So groups nest
 * whatever the numbers are, and are numbered in the order of their lowest CPU.
 *
 * Clusters come last, because they are made of whole cores. For every core two numbers name
 * candidates: the kernel's cluster and the last-level cache. A candidate that has only
 * this one core in the die does not count. If two remain, the one with fewer cores is used; if
 * none, the die. The cores are counted over the whole die, but the choice is made core by core. So
 * a cache that P-cores (whose kernel cluster is one core each) share with E-core modules (four
 * cores) is split as desired: each module is a cluster, and the P-cores are one.
 */
#include "model/topology-build.h"

#include "model/kind.h"

/* Where a cluster's number is from; part of its name, because the numbers of two sources may agree.
 */
enum { FROM_DIE, FROM_CACHE, FROM_CLUSTER, N_FROM };

/* Numbers for pairs, in the order in which they come. */
typedef struct Numbering {
        GHashTable *table; /* gint64 -> number + 1 */
        int n;
} Numbering;

static void numbering_done(Numbering *numbering)
{
        g_hash_table_unref(numbering->table);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Numbering, numbering_done)

static Numbering numbering_make(void)
{
        return (Numbering){ .table = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                                           NULL) };
}

/* The number of the pair, a new one if it is the first time. */
static int16_t number_of(Numbering *numbering, int parent, int value)
{
        gint64 pair = (gint64)((uint64_t)parent << 32 | (uint32_t)value);
        gpointer found = g_hash_table_lookup(numbering->table, &pair);

        if (found)
                return (int16_t)(GPOINTER_TO_INT(found) - 1);
        g_hash_table_insert(numbering->table, g_memdup2(&pair, sizeof(pair)),
                            GINT_TO_POINTER(++numbering->n));
        return (int16_t)(numbering->n - 1);
}

/* One number of a CPU's facts, by its offset in CpuFacts. */
static int fact(const CpuFacts *facts, int cpu, size_t offset)
{
        return *(const int *)((const char *)&facts[cpu] + offset);
}

static int count_known(const Topology *t, const CpuFacts *facts, size_t offset)
{
        int n = 0;

        CPUSET_FOREACH(cpu, &t->online)
                n += fact(facts, cpu, offset) >= 0;
        return n;
}

/* Which of two facts to know a group by: the one that more CPUs have, the first if as many do. */
static size_t better_known(const Topology *t, const CpuFacts *facts, size_t first, size_t second)
{
        return count_known(t, facts, second) > count_known(t, facts, first) ? second : first;
}

#define KNOWN_BY(t, facts, group)                                                                  \
        better_known((t), (facts), offsetof(CpuFacts, group##_first),                              \
                     offsetof(CpuFacts, group##_id))

static void find_packages_and_dies(Topology *t, const CpuFacts *facts)
{
        g_auto(Numbering) packages = numbering_make(), dies = numbering_make();
        size_t package = KNOWN_BY(t, facts, package), die = KNOWN_BY(t, facts, die);

        CPUSET_FOREACH(cpu, &t->online) {
                TopologyCpu *c = &t->cpus[cpu];

                c->package = number_of(&packages, 0, fact(facts, cpu, package));
                c->die = number_of(&dies, c->package, fact(facts, cpu, die));
        }
        t->n_packages = packages.n;
        t->n_dies = dies.n;
}

static void find_nodes(Topology *t, const CpuFacts *facts)
{
        g_auto(Numbering) nodes = numbering_make();

        t->node_ids = g_new0(int, t->n_cpus);
        CPUSET_FOREACH(cpu, &t->online) {
                int id = MAX(facts[cpu].node, 0);

                t->cpus[cpu].node = number_of(&nodes, 0, id);
                t->node_ids[t->cpus[cpu].node] = id;
        }
        t->n_nodes = nodes.n;
}

static void find_capacities(Topology *t, const CpuFacts *facts)
{
        uint64_t largest = 0;

        CPUSET_FOREACH(cpu, &t->online)
                largest = MAX(largest, facts[cpu].capacity);
        for (int cpu = 0; cpu < t->n_cpus; cpu++) {
                uint64_t own = facts[cpu].capacity;
                double share = own && own < largest ? (double)own / (double)largest : 1;

                t->cpus[cpu].capacity = (uint16_t)MAX(share * CAPACITY_SCALE + 0.5, 1);
        }
}

/* Gives every core its entry and its run of `core_cpus`. */
static void fill_cores(Topology *t)
{
        uint32_t next = 0;

        t->cores = g_new0(TopologyCore, t->n_cores);
        t->core_cpus = g_new0(int, cpuset_count(&t->online));
        CPUSET_FOREACH(cpu, &t->online)
                t->cores[t->cpus[cpu].core].n_threads++;
        for (int core = 0; core < t->n_cores; core++) {
                t->cores[core].first = next;
                next += t->cores[core].n_threads;
                t->cores[core].n_threads = 0;
        }
        CPUSET_FOREACH(cpu, &t->online) {
                TopologyCpu *c = &t->cpus[cpu];
                TopologyCore *core = &t->cores[c->core];

                c->thread = (int16_t)core->n_threads++;
                t->core_cpus[core->first + c->thread] = cpu;
                core->die = c->die;
                core->package = c->package;
                core->node = t->cpus[t->core_cpus[core->first]].node;
                core->capacity = MAX(core->capacity, c->capacity);
        }
}

static void find_cores(Topology *t, const CpuFacts *facts)
{
        g_auto(Numbering) cores = numbering_make();
        size_t core = KNOWN_BY(t, facts, core);

        CPUSET_FOREACH(cpu, &t->online) {
                int value = fact(facts, cpu, core);

                /* -2 - cpu: a name of its own, which no fact has. */
                t->cpus[cpu].core = number_of(&cores, t->cpus[cpu].die,
                                              value < 0 ? -2 - cpu : value);
        }
        t->n_cores = cores.n;
        fill_cores(t);
}

/* For every core how many cores of its die have the same number in the fact at `offset`; 0 if the
 * core has none. */
static int *count_sharers(const Topology *t, const CpuFacts *facts, size_t offset)
{
        g_auto(Numbering) groups = numbering_make();
        g_autofree int *sizes = g_new0(int, t->n_cores), *group = g_new0(int, t->n_cores);
        int *sharers = g_new0(int, t->n_cores);

        for (int core = 0; core < t->n_cores; core++) {
                int value = fact(facts, t->core_cpus[t->cores[core].first], offset);

                group[core] = value < 0 ? -1 : number_of(&groups, t->cores[core].die, value);
                if (group[core] >= 0)
                        sizes[group[core]]++;
        }
        for (int core = 0; core < t->n_cores; core++)
                if (group[core] >= 0)
                        sharers[core] = sizes[group[core]];
        return sharers;
}

static void find_clusters(Topology *t, const CpuFacts *facts)
{
        size_t cluster = KNOWN_BY(t, facts, cluster), cache = offsetof(CpuFacts, cache_id);
        g_auto(Numbering) clusters = numbering_make();
        g_autofree int *by_cluster = count_sharers(t, facts, cluster);
        g_autofree int *by_cache = count_sharers(t, facts, cache);

        for (int i = 0; i < t->n_cores; i++) {
                TopologyCore *core = &t->cores[i];
                int first = t->core_cpus[core->first], from = FROM_DIE, value = 0;

                if (by_cache[i] > 1) {
                        from = FROM_CACHE;
                        value = fact(facts, first, cache);
                }
                if (by_cluster[i] > 1 && (from == FROM_DIE || by_cluster[i] < by_cache[i])) {
                        from = FROM_CLUSTER;
                        value = fact(facts, first, cluster);
                }
                core->cluster = number_of(&clusters, core->die * N_FROM + from, value);
                for (int j = 0; j < core->n_threads; j++)
                        t->cpus[t->core_cpus[core->first + j]].cluster = core->cluster;
        }
        t->n_clusters = clusters.n;
}

static void copy_sets(Topology *t, const CpuSet *possible, const CpuSet *online,
                      const CpuSet *isolated, const CpuSet *nohz_full)
{
        CpuSet all = { 0 };

        cpuset_add_range(&all, 0, t->n_cpus - 1);
        t->online = *online;
        cpuset_and(&t->online, &all);
        t->possible = *possible;
        cpuset_and(&t->possible, &all);
        cpuset_or(&t->possible, &t->online);
        t->present = t->possible;
        if (isolated)
                t->isolated = *isolated;
        cpuset_and(&t->isolated, &t->possible);
        if (nohz_full)
                t->nohz_full = *nohz_full;
        cpuset_and(&t->nohz_full, &t->possible);
}

Topology *topology_build(int n_cpus, const CpuFacts *facts, const CpuSet *possible,
                         const CpuSet *online, const CpuSet *isolated, const CpuSet *nohz_full)
{
        Topology *t = g_new0(Topology, 1);

        t->n_cpus = CLAMP(n_cpus, 0, CPUSET_MAX);
        t->cpus = g_new0(TopologyCpu, t->n_cpus);
        for (int cpu = 0; cpu < t->n_cpus; cpu++)
                t->cpus[cpu] = (TopologyCpu){ -1, -1, -1, -1, -1, 0, CAPACITY_SCALE, 0 };
        copy_sets(t, possible, online, isolated, nohz_full);
        find_packages_and_dies(t, facts);
        find_nodes(t, facts);
        find_capacities(t, facts);
        find_cores(t, facts);
        find_clusters(t, facts);
        kinds_find(t, facts);
        return t;
}

void topology_free(Topology *topology)
{
        if (!topology)
                return;
        g_free(topology->cpus);
        g_free(topology->cores);
        g_free(topology->core_cpus);
        g_free(topology->node_ids);
        g_free(topology);
}

bool topology_equal(const Topology *a, const Topology *b)
{
        if (a->n_cpus != b->n_cpus || !cpuset_equal(&a->possible, &b->possible) ||
            !cpuset_equal(&a->present, &b->present) || !cpuset_equal(&a->online, &b->online) ||
            !cpuset_equal(&a->isolated, &b->isolated) ||
            !cpuset_equal(&a->nohz_full, &b->nohz_full) || a->n_nodes != b->n_nodes)
                return false;
        /* Cores and their CPUs follow from what each CPU is in. */
        return memcmp(a->cpus, b->cpus, sizeof(*a->cpus) * a->n_cpus) == 0 &&
               memcmp(a->node_ids, b->node_ids, sizeof(*a->node_ids) * a->n_nodes) == 0;
}

int topology_count_cores(const Topology *topology, const CpuSet *cpus)
{
        int n = 0;

        for (int core = 0; core < topology->n_cores; core++) {
                CpuSet own = { 0 };

                topology_add_core(topology, core, &own);
                n += cpuset_intersects(&own, cpus);
        }
        return n;
}
