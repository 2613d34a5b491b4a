/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Topologies: of described machines, of the recorded ones where they are at hand, of trees with
 * holes and garbage. Whatever is read, the groups must nest and every index must be in range.
 */
#include <errno.h>
#include <ftw.h>
#include <glib/gstdio.h>

#include "machine.h"
#include "sense/topology-read.h"
#include "table.h"

/* What topology.h promises of every topology. */
static void assert_sound(const char *name, const Topology *t)
{
        g_autofree int *die_of = g_malloc(sizeof(int) * (t->n_clusters + 1));
        g_autofree int *package_of = g_malloc(sizeof(int) * (t->n_dies + 1));
        int cores = 0, clusters = 0, dies = 0, packages = 0, nodes = 0, threads = 0, fastest = 0;

        ck_case(name, cpuset_is_subset(&t->online, &t->possible), "online but not possible");
        ck_case(name, cpuset_has(&t->possible, t->n_cpus - 1), "n_cpus %d", t->n_cpus);
        ck_case(name, cpuset_next(&t->possible, t->n_cpus - 1) < 0, "n_cpus %d", t->n_cpus);
        for (int cpu = 0; cpu < t->n_cpus; cpu++) {
                const TopologyCpu *c = &t->cpus[cpu];
                const TopologyCore *core;

                ck_case(name, c->capacity >= 1 && c->capacity <= CAPACITY_SCALE, "capacity");
                if (!cpuset_has(&t->online, cpu)) {
                        ck_case(name,
                                c->core == -1 && c->cluster == -1 && c->die == -1 &&
                                        c->package == -1 && c->node == -1,
                                "CPU %d is offline", cpu);
                        continue;
                }
                /* In the order of the lowest CPU: a new group is the next number. */
                ck_case(name, c->core >= 0 && c->core <= cores, "core of %d", cpu);
                ck_case(name, c->cluster >= 0 && c->cluster <= clusters, "cluster of %d", cpu);
                ck_case(name, c->die >= 0 && c->die <= dies, "die of %d", cpu);
                ck_case(name, c->package >= 0 && c->package <= packages, "package of %d", cpu);
                ck_case(name, c->node >= 0 && c->node <= nodes, "node of %d", cpu);
                cores += c->core == cores;
                nodes += c->node == nodes;
                packages += c->package == packages;
                if (c->die == dies)
                        package_of[dies++] = c->package;
                if (c->cluster == clusters)
                        die_of[clusters++] = c->die;
                ck_case(name, package_of[c->die] == c->package, "die of %d in two packages", cpu);
                ck_case(name, die_of[c->cluster] == c->die, "cluster of %d in two dies", cpu);

                core = &t->cores[c->core];
                ck_case(name,
                        core->cluster == c->cluster && core->die == c->die &&
                                core->package == c->package,
                        "core of %d in two clusters", cpu);
                ck_case(name, c->thread < core->n_threads, "thread of %d", cpu);
                ck_case(name, t->core_cpus[core->first + c->thread] == cpu, "core's CPUs");
                ck_case(name, core->capacity >= c->capacity, "core's capacity");
                fastest = MAX(fastest, c->capacity);
                threads++;
        }
        ck_assert_int_eq(fastest, CAPACITY_SCALE);
        ck_assert_int_eq(threads, cpuset_count(&t->online));
        ck_assert_int_eq(cores, t->n_cores);
        ck_assert_int_eq(clusters, t->n_clusters);
        ck_assert_int_eq(dies, t->n_dies);
        ck_assert_int_eq(packages, t->n_packages);
        ck_assert_int_eq(nodes, t->n_nodes);
}

typedef struct Expected {
        const char *name;
        int n_cpus, packages, dies, clusters, cores, threads; /* threads of the largest core */
        const char *nodes;                                    /* the kernel's numbers */
        const char *capacities;
        bool recorded;
        const char *online, *isolated, *nohz_full; /* NULL: all, none, none */
} Expected;

static const Expected machines[] = {
        { "adl0", 16, 1, 1, 3, 12, 2, "0", "580,1024", true },
        { "bdwep0", 88, 2, 2, 4, 44, 2, "0-3", "1024", true },
        { "cfl-u", 8, 1, 1, 1, 4, 2, "0", "1024", true },
        { "cwf0", 576, 2, 2, 144, 576, 1, "0-5", "1024", true },
        { "dell-9360-kbl", 4, 1, 1, 1, 2, 2, "0", "1024", true },
        { "dnv0", 12, 1, 1, 6, 12, 1, "0", "1024", true },
        { "genoa0", 128, 2, 16, 16, 64, 2, "0-1", "1024", true },
        { "gnr3", 256, 2, 2, 2, 128, 2, "0-3", "1024", true },
        { "hswep0", 56, 2, 2, 2, 28, 2, "0-1", "1024", true },
        { "icx2s0", 144, 2, 2, 2, 72, 2, "0-1", "1024", true },
        { "ivbep1", 48, 2, 2, 2, 24, 2, "0-1", "1024", true },
        { "knl0", 272, 1, 1, 34, 68, 4, "0", "1024", true },
        { "lnl0", 8, 1, 1, 2, 8, 1, "0", "689,1024", true },
        { "milan0", 128, 2, 2, 16, 64, 2, "0-1", "1024", true },
        { "mtl-m-2", 14, 1, 1, 4, 12, 2, "0", "358,649,1024", true },
        { "skld0", 16, 1, 1, 1, 8, 2, "0", "1024", true },
        { "snr0", 24, 1, 1, 6, 24, 1, "0", "1024", true },
        { "spr-nomwait", 120, 1, 1, 1, 60, 2, "0", "981,1003,1024", true },
        { "spr1", 320, 4, 4, 4, 160, 2, "0-3", "1024", true },
        { "srf8", 128, 2, 2, 32, 128, 1, "0-1", "1024", true },
        { "synthetic-1cpu", 1, 1, 1, 1, 1, 1, "0", "1024", false },
        { "synthetic-2x4-numa", 8, 2, 2, 2, 8, 1, "0-1", "1024", false },
        { "synthetic-bare", 4, 1, 1, 1, 4, 1, "0", "1024", false },
        { "synthetic-biglittle", 8, 1, 1, 2, 8, 1, "0", "325,872,1024", false },
        { "synthetic-isolated", 8, 1, 1, 1, 4, 2, "0", "1024", false, NULL, "2-3,6-7", "2-3,6-7" },
        { "synthetic-laptop", 8, 1, 1, 2, 6, 2, "0", "580,1024", false },
        { "synthetic-offline", 16, 1, 1, 1, 3, 2, "0", "1024", false, "0,2-4,6" },
        { "synthetic-sparse", 16, 2, 2, 2, 8, 1, "2,5", "1024", false, "0-3,8-11" },
};

static void assert_expected(const Expected *e, const Topology *t)
{
        CpuSet nodes = { 0 }, capacities = { 0 }, all = { 0 };
        CpuSet isolated = set_of(e->isolated ? e->isolated : "");
        CpuSet nohz_full = set_of(e->nohz_full ? e->nohz_full : "");
        CpuSet expected_nodes = set_of(e->nodes), expected_capacities = set_of(e->capacities);
        int threads = 0;

        cpuset_add_range(&all, 0, e->n_cpus - 1);
        if (e->online)
                all = set_of(e->online);
        for (int node = 0; node < t->n_nodes; node++)
                cpuset_add(&nodes, t->node_ids[node]);
        for (int core = 0; core < t->n_cores; core++)
                threads = MAX(threads, t->cores[core].n_threads);
        CPUSET_FOREACH(cpu, &t->online)
                cpuset_add(&capacities, t->cpus[cpu].capacity);
        ck_case(e->name, t->n_cpus == e->n_cpus, "%d CPUs", t->n_cpus);
        ck_case(e->name, t->n_packages == e->packages, "%d packages", t->n_packages);
        ck_case(e->name, t->n_dies == e->dies, "%d dies", t->n_dies);
        ck_case(e->name, t->n_clusters == e->clusters, "%d clusters", t->n_clusters);
        ck_case(e->name, t->n_cores == e->cores, "%d cores", t->n_cores);
        ck_case(e->name, threads == e->threads, "%d threads a core", threads);
        ck_case(e->name, cpuset_equal(&nodes, &expected_nodes), "nodes");
        ck_case(e->name, cpuset_equal(&capacities, &expected_capacities), "capacities");
        ck_case(e->name, cpuset_equal(&t->online, &all), "online");
        ck_case(e->name, cpuset_equal(&t->isolated, &isolated), "isolated");
        ck_case(e->name, cpuset_equal(&t->nohz_full, &nohz_full), "nohz_full");
}

static void run(const char *program, const char *first, const char *second)
{
        char *argv[] = { (char *)program, (char *)first, (char *)second, NULL };
        g_autofree char *said = NULL;
        int status = 0;

        ck_assert(g_spawn_sync(NULL, argv, NULL, 0, NULL, NULL, NULL, &said, &status, NULL));
        ck_case(first, g_spawn_check_wait_status(status, NULL), "%s", said);
}

/* A tree of the description NAME.machine; it replaces the empty directory of `tree`. */
static void describe(const Tree *tree, const char *name)
{
        g_autofree char *file = g_strdup_printf("%s/%s.machine", MACHINES_DIR, name);

        run(MACHINES_DIR "/build", file, tree->path);
}

START_TEST(described)
{
        const Expected *e = &machines[_i];
        Tree tree = tree_make();
        g_autoptr(Topology) topology = NULL, again = NULL;

        describe(&tree, e->name);
        ck_assert_int_eq(topology_read(tree.root, &topology), 0);
        assert_sound(e->name, topology);
        assert_expected(e, topology);
        ck_assert_int_eq(topology_read(tree.root, &again), 0);
        ck_assert(topology_equal(topology, again));
        tree_done(&tree);
}
END_TEST

/* The same table holds for the whole recordings. Skipped without them. */
START_TEST(recorded)
{
        const Expected *e = &machines[_i];
        g_autofree char *file = g_strdup_printf("%s/%s.tree.xz", RECORDED_DIR, e->name);
        g_autoptr(Topology) topology = NULL;
        Tree tree;

        if (!e->recorded || access(file, R_OK) < 0)
                return;
        tree = tree_make();
        run(RECORDED_DIR "/unpack", e->name, tree.path);
        ck_assert_int_eq(topology_read(tree.root, &topology), 0);
        assert_sound(e->name, topology);
        assert_expected(e, topology);
        tree_done(&tree);
}
END_TEST

/* The CPUs of each group in turn, as "0-1|2-3". `offset` is that of its number in TopologyCpu. */
static char *groups_format(const Topology *t, int n_groups, size_t offset)
{
        GString *text = g_string_new(NULL);

        for (int group = 0; group < n_groups; group++) {
                g_autofree char *list = NULL;
                CpuSet set = { 0 };

                for (int cpu = 0; cpu < t->n_cpus; cpu++)
                        if (*(const int16_t *)((const char *)&t->cpus[cpu] + offset) == group)
                                cpuset_add(&set, cpu);
                list = cpuset_format(&set);
                g_string_append_printf(text, "%s%s", group ? "|" : "", list);
        }
        return g_string_free(text, FALSE);
}

#define GROUPS(t, group) groups_format((t), (t)->n_##group##s, offsetof(TopologyCpu, group))

static const struct {
        const char *name, *clusters;
} cluster_cases[] = {
        { "adl0", "0-7|8-11|12-15" },
        { "mtl-m-2", "0-3|4-7|8-11|12-13" },
        { "lnl0", "0-3|4-7" },
        { "synthetic-laptop", "0-3|4-7" },
        { "synthetic-bare", "0-3" },
        { "synthetic-biglittle", "0-3|4-7" },
        { "synthetic-offline", "0,2-4,6" },
        { "dnv0", "0-1|2-3|4-5|6-7|8-9|10-11" },
        { "synthetic-2x4-numa", "0-3|4-7" },
};

START_TEST(clusters)
{
        Tree tree = tree_make();
        g_autoptr(Topology) topology = NULL;
        g_autofree char *text = NULL;

        describe(&tree, cluster_cases[_i].name);
        ck_assert_int_eq(topology_read(tree.root, &topology), 0);
        text = GROUPS(topology, cluster);
        ck_case(cluster_cases[_i].name, g_str_equal(text, cluster_cases[_i].clusters), "%s", text);
        tree_done(&tree);
}
END_TEST

#define FILES_MAX 16

/* Files below sys/devices/system; what is read of them: packages, dies, clusters, cores, nodes, and
 * the capacities of all CPUs. */
static const struct {
        const char *name;
        const char *files[FILES_MAX][2];
        const char *groups, *capacities;
} tree_cases[] = {
        { "possible alone", { { "cpu/possible", "0-1" } }, "0-1 0-1 0-1 0|1 0-1", "1024 1024" },
        { "present alone", { { "cpu/present", "0-1" } }, "0-1 0-1 0-1 0|1 0-1", "1024 1024" },
        { "directories alone",
          { { "cpu/cpu0/online", "1" },
            { "cpu/cpu2/online", "1" },
            { "cpu/cpufreq/x", "" },
            { "cpu/cpu99999/online", "1" },
            { "cpu/cpux/online", "" } },
          "0,2 0,2 0,2 0|2 0,2",
          "1024 1024 1024" },
        { "online is garbage",
          { { "cpu/possible", "0-1" }, { "cpu/online", "0-" } },
          "0-1 0-1 0-1 0|1 0-1",
          "1024 1024" },
        { "online is enormous",
          { { "cpu/possible", "0-1" }, { "cpu/online", "0-99999999999" } },
          "0-1 0-1 0-1 0|1 0-1",
          "1024 1024" },
        { "online is empty",
          { { "cpu/possible", "0-1" }, { "cpu/online", "\n" } },
          "0-1 0-1 0-1 0|1 0-1",
          "1024 1024" },
        { "more online than possible",
          { { "cpu/possible", "0" }, { "cpu/online", "0-1" } },
          "0-1 0-1 0-1 0|1 0-1",
          "1024 1024" },
        { "lists of no meaning",
          { { "cpu/possible", "0" }, { "cpu/isolated", "x" }, { "cpu/nohz_full", "(null)\n" } },
          "0 0 0 0 0",
          "1024" },
        { "old names",
          { { "cpu/online", "0-3" },
            { "cpu/cpu0/topology/thread_siblings_list", "0,2" },
            { "cpu/cpu2/topology/thread_siblings_list", "0,2" },
            { "cpu/cpu0/topology/core_siblings_list", "0,2" },
            { "cpu/cpu1/topology/core_siblings_list", "1,3" },
            { "cpu/cpu2/topology/core_siblings_list", "0,2" },
            { "cpu/cpu3/topology/core_siblings_list", "1,3" } },
          "0,2|1,3 0,2|1,3 0,2|1,3 0,2|1|3 0-3",
          "1024 1024 1024 1024" },
        { "ids alone, the same in both packages",
          { { "cpu/online", "0-3" },
            { "cpu/cpu0/topology/physical_package_id", "0" },
            { "cpu/cpu1/topology/physical_package_id", "0" },
            { "cpu/cpu2/topology/physical_package_id", "7" },
            { "cpu/cpu3/topology/physical_package_id", "7" },
            { "cpu/cpu0/topology/core_id", "3" },
            { "cpu/cpu1/topology/core_id", "3" },
            { "cpu/cpu2/topology/core_id", "3" },
            { "cpu/cpu3/topology/core_id", "4" } },
          "0-1|2-3 0-1|2-3 0-1|2-3 0-1|2|3 0-3",
          "1024 1024 1024 1024" },
        { "ids are garbage",
          { { "cpu/online", "0-1" },
            { "cpu/cpu0/topology/physical_package_id", "-1" },
            { "cpu/cpu1/topology/physical_package_id", "99999999999999999999" },
            { "cpu/cpu0/topology/core_id", "" },
            { "cpu/cpu1/topology/core_id", "0x1" } },
          "0-1 0-1 0-1 0|1 0-1",
          "1024 1024" },
        { "list without the CPU itself",
          { { "cpu/online", "0-1" },
            { "cpu/cpu0/topology/core_cpus_list", "1" },
            { "cpu/cpu1/topology/core_cpus_list", "1" } },
          "0-1 0-1 0-1 0|1 0-1",
          "1024 1024" },
        { "core that lies in two dies",
          { { "cpu/online", "0-1" },
            { "cpu/cpu0/topology/core_cpus_list", "0-1" },
            { "cpu/cpu1/topology/core_cpus_list", "0-1" },
            { "cpu/cpu0/topology/die_id", "0" },
            { "cpu/cpu1/topology/die_id", "1" } },
          "0-1 0|1 0|1 0|1 0-1",
          "1024 1024" },
        { "levels in another order than indexes",
          { { "cpu/online", "0-3" },
            { "cpu/cpu0/cache/index0/level", "3" },
            { "cpu/cpu0/cache/index0/shared_cpu_list", "0-1" },
            { "cpu/cpu0/cache/index1/level", "1" },
            { "cpu/cpu0/cache/index1/shared_cpu_list", "0" },
            { "cpu/cpu1/cache/index0/level", "3" },
            { "cpu/cpu1/cache/index0/shared_cpu_list", "0-1" },
            { "cpu/cpu1/cache/index1/level", "1" },
            { "cpu/cpu1/cache/index1/shared_cpu_list", "1" } },
          "0-3 0-3 0-1|2-3 0|1|2|3 0-3",
          "1024 1024 1024 1024" },
        { "kernel's cluster before level 2",
          { { "cpu/online", "0-2" },
            { "cpu/cpu0/topology/cluster_cpus_list", "0-1" },
            { "cpu/cpu1/topology/cluster_cpus_list", "0-1" },
            { "cpu/cpu0/cache/index2/shared_cpu_list", "0" },
            { "cpu/cpu2/cache/index1/shared_cpu_list", "0-2" } },
          "0-2 0-2 0-1|2 0|1|2 0-2",
          "1024 1024 1024" },
        { "cluster larger than the cache",
          { { "cpu/online", "0-3" },
            { "cpu/cpu0/topology/cluster_id", "0" },
            { "cpu/cpu1/topology/cluster_id", "0" },
            { "cpu/cpu2/topology/cluster_id", "0" },
            { "cpu/cpu3/topology/cluster_id", "0" },
            { "cpu/cpu0/cache/index0/shared_cpu_list", "0-1" },
            { "cpu/cpu1/cache/index0/shared_cpu_list", "0-1" },
            { "cpu/cpu2/cache/index0/shared_cpu_list", "2-3" },
            { "cpu/cpu3/cache/index0/shared_cpu_list", "2-3" } },
          "0-3 0-3 0-1|2-3 0|1|2|3 0-3",
          "1024 1024 1024 1024" },
        { "nodes across cores, twice claimed, beyond",
          { { "cpu/online", "0-2" },
            { "node/node4/cpulist", "0-1" },
            { "node/node2/cpulist", "1,500" },
            { "node/node9/cpulist", "garbage" },
            { "node/nodex/cpulist", "2" },
            { "node/online", "2,4" } },
          "0-2 0-2 0-2 0|1|2 0|1|2",
          "1024 1024 1024" },
        { "capacity",
          { { "cpu/online", "0-1" },
            { "cpu/cpu0/cpu_capacity", "250" },
            { "cpu/cpu1/cpu_capacity", "1000" },
            { "cpu/cpu0/acpi_cppc/highest_perf", "9" },
            { "cpu/cpu1/acpi_cppc/highest_perf", "9" } },
          "0-1 0-1 0-1 0|1 0-1",
          "256 1024" },
        { "capacity of one CPU: the next source serves all",
          { { "cpu/online", "0-1" },
            { "cpu/cpu0/cpu_capacity", "250" },
            { "cpu/cpu0/acpi_cppc/highest_perf", "10" },
            { "cpu/cpu1/acpi_cppc/highest_perf", "5" } },
          "0-1 0-1 0-1 0|1 0-1",
          "1024 512" },
        { "capacity zero, CPPC garbage, frequency",
          { { "cpu/online", "0-1" },
            { "cpu/cpu0/cpu_capacity", "0" },
            { "cpu/cpu1/cpu_capacity", "1024" },
            { "cpu/cpu0/acpi_cppc/highest_perf", "x" },
            { "cpu/cpu1/acpi_cppc/highest_perf", "5" },
            { "cpu/cpu0/cpufreq/cpuinfo_max_freq", "1000000" },
            { "cpu/cpu1/cpufreq/cpuinfo_max_freq", "4000000" } },
          "0-1 0-1 0-1 0|1 0-1",
          "256 1024" },
        { "frequency enormous: kinds of cores",
          { { "cpu/online", "0-1" },
            { "cpu/cpu0/cpufreq/cpuinfo_max_freq", "18446744073709551615" },
            { "cpu/cpu1/cpufreq/cpuinfo_max_freq", "4000000" },
            { "../cpu_atom/cpus", "1" },
            { "../cpu_core/cpus", "0" } },
          "0-1 0-1 0-1 0|1 0-1",
          "1024 640" },
        { "a CPU of no kind, a CPU of both",
          { { "cpu/online", "0-2" }, { "../cpu_atom/cpus", "1" }, { "../cpu_core/cpus", "0-1" } },
          "0-2 0-2 0-2 0|1|2 0-2",
          "1024 1024 1024" },
        { "tiny beside huge",
          { { "cpu/online", "0-1" },
            { "cpu/cpu0/acpi_cppc/highest_perf", "1" },
            { "cpu/cpu1/acpi_cppc/highest_perf", "4294967295" } },
          "0-1 0-1 0-1 0|1 0-1",
          "1 1024" },
};

START_TEST(trees)
{
        typeof(tree_cases[0]) *c = &tree_cases[_i];
        Tree tree = tree_make();
        g_autoptr(Topology) t = NULL;
        g_autoptr(GString) capacities = g_string_new(NULL);

        for (int i = 0; i < FILES_MAX && c->files[i][0]; i++) {
                g_autofree char *path = g_strconcat("sys/devices/system/", c->files[i][0], NULL);

                tree_put(&tree, path, c->files[i][1]);
        }
        ck_assert_int_eq(topology_read(tree.root, &t), 0);
        assert_sound(c->name, t);
        g_autofree char *packages = GROUPS(t, package), *dies = GROUPS(t, die),
                        *in_clusters = GROUPS(t, cluster), *cores = GROUPS(t, core),
                        *nodes = GROUPS(t, node),
                        *groups = g_strjoin(" ", packages, dies, in_clusters, cores, nodes, NULL);

        for (int cpu = 0; cpu < t->n_cpus; cpu++)
                g_string_append_printf(capacities, "%s%d", cpu ? " " : "", t->cpus[cpu].capacity);
        ck_case(c->name, g_str_equal(groups, c->groups), "groups %s", groups);
        ck_case(c->name, g_str_equal(capacities->str, c->capacities), "%s", capacities->str);
        tree_done(&tree);
}
END_TEST

START_TEST(no_cpus)
{
        Tree tree = tree_make();
        Topology *topology = (Topology *)0x1;

        ck_assert_int_eq(topology_read(tree.root, &topology), -ENOENT);
        tree_put(&tree, "sys/devices/system/cpu/possible", "none of your business");
        ck_assert_int_eq(topology_read(tree.root, &topology), -ENOENT);
        ck_assert_ptr_eq(topology, (Topology *)0x1);
        tree_done(&tree);
}
END_TEST

static GPtrArray *found_files;

static int note_file(const char *path, const struct stat *status, int type, struct FTW *where)
{
        if (type == FTW_F)
                g_ptr_array_add(found_files, g_strdup(path));
        return 0;
}

static const char *const garbage[] = {
        "",     "\n",      "0",   "1",        "-1",     "0-7",        "0-8191",
        "8191", "8192",    "7-0", "0,",       "(null)", "4294967296", "18446744073709551616",
        "x",    "0-3,5-2", "3,1", "\xff\xfe", "4-7",    "2147483647",
};

/* File after file of a machine is damaged until none is whole, and nothing worse than a wrong group
 * ever comes of it. */
START_TEST(damage)
{
        static const char *const names[] = { "synthetic-laptop", "synthetic-2x4-numa", "mtl-m-2" };
        g_autoptr(GRand) rand = g_rand_new_with_seed(7 + (guint32)_i);
        Tree tree = tree_make();
        g_autofree char *cpus = NULL;

        describe(&tree, names[_i]);
        cpus = g_strconcat(tree.path, "/sys/devices/system", NULL);
        found_files = g_ptr_array_new_with_free_func(g_free);
        ck_assert_int_eq(nftw(cpus, note_file, 16, FTW_PHYS), 0);
        for (int i = 0; i < 300; i++) {
                g_autoptr(Topology) topology = NULL;
                guint file = (guint)g_rand_int_range(rand, 0, (gint32)found_files->len);
                int kind = g_rand_int_range(rand, 0, G_N_ELEMENTS(garbage) + 1);

                g_remove(found_files->pdata[file]);
                if (kind < (int)G_N_ELEMENTS(garbage))
                        ck_assert(g_file_set_contents(found_files->pdata[file], garbage[kind], -1,
                                                      NULL));
                if (topology_read(tree.root, &topology) == 0)
                        assert_sound(found_files->pdata[file], topology);
        }
        g_ptr_array_unref(found_files);
        tree_done(&tree);
}
END_TEST

START_TEST(equal)
{
        g_autoptr(Topology)
                a = machine_make(8, 2, 4, "0-7", ""),
                same = machine_make(8, 2, 4, "0-7", ""), offline = machine_make(8, 2, 4, "0-6", ""),
                isolated = machine_make(8, 2, 4, "0-7", "3"),
                larger = machine_make(9, 2, 4, "0-7", ""), nodes = machine_make(8, 2, 8, "0-7", ""),
                cores = machine_make(8, 1, 4, "0-7", "");

        ck_assert(topology_equal(a, same));
        ck_assert(!topology_equal(a, offline));
        ck_assert(!topology_equal(a, isolated));
        ck_assert(!topology_equal(a, larger));
        ck_assert(!topology_equal(a, nodes));
        ck_assert(!topology_equal(a, cores));
        same->cpus[3].capacity--;
        ck_assert(!topology_equal(a, same));
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("topology");
        TCase *tcase = tcase_create("topology");

        tcase_set_timeout(tcase, 60);
        tcase_add_loop_test(tcase, described, 0, G_N_ELEMENTS(machines));
        tcase_add_loop_test(tcase, recorded, 0, G_N_ELEMENTS(machines));
        tcase_add_loop_test(tcase, clusters, 0, G_N_ELEMENTS(cluster_cases));
        tcase_add_loop_test(tcase, trees, 0, G_N_ELEMENTS(tree_cases));
        tcase_add_loop_test(tcase, damage, 0, 3);
        tcase_add_test(tcase, no_cpus);
        tcase_add_test(tcase, equal);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
