/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Topologies of trees with holes and garbage. Whatever is read, the groups must nest and every
 * index must be in range.
 */
#include "sense/topology-read.h"
#include "topology-sound.h"

#define FILES_MAX 8

/* Files below sys/devices/system, in whose names * stands for the numbers of CPUs, which have
 * these texts; "-": no file. What is read of them: packages, dies, clusters, cores, nodes, and the
 * capacities of all CPUs. */
static const struct {
        const char *name;
        const char *groups, *capacities;
        const char *files[FILES_MAX][2];
} tree_cases[] = {
        { "possible alone", "0-1 0-1 0-1 0|1 0-1", "1024 1024",
          .files = { { "cpu/possible", "0-1" } } },
        { "present alone", "0-1 0-1 0-1 0|1 0-1", "1024 1024",
          .files = { { "cpu/present", "0-1" } } },
        { "directories alone", "0,2 0,2 0,2 0|2 0,2", "1024 1024 1024",
          .files = { { "cpu/cpu*/online", "1|-|1" },
                     { "cpu/cpufreq/x", "" },
                     { "cpu/cpu99999/online", "1" },
                     { "cpu/cpux/online", "" } } },
        { "online is garbage", "0-1 0-1 0-1 0|1 0-1", "1024 1024",
          .files = { { "cpu/possible", "0-1" }, { "cpu/online", "0-" } } },
        { "online is enormous", "0-1 0-1 0-1 0|1 0-1", "1024 1024",
          .files = { { "cpu/possible", "0-1" }, { "cpu/online", "0-99999999999" } } },
        { "online is empty", "0-1 0-1 0-1 0|1 0-1", "1024 1024",
          .files = { { "cpu/possible", "0-1" }, { "cpu/online", "\n" } } },
        { "more online than possible", "0-1 0-1 0-1 0|1 0-1", "1024 1024",
          .files = { { "cpu/possible", "0" }, { "cpu/online", "0-1" } } },
        { "lists of no meaning", "0 0 0 0 0", "1024",
          .files = { { "cpu/possible", "0" },
                     { "cpu/isolated", "x" },
                     { "cpu/nohz_full", "(null)\n" } } },
        { "old names", "0,2|1,3 0,2|1,3 0,2|1,3 0,2|1|3 0-3", "1024 1024 1024 1024",
          .files = { { "cpu/online", "0-3" },
                     { "cpu/cpu*/topology/thread_siblings_list", "0,2|-|0,2" },
                     { "cpu/cpu*/topology/core_siblings_list", "0,2|1,3|0,2|1,3" } } },
        { "ids alone, the same in both packages", "0-1|2-3 0-1|2-3 0-1|2-3 0-1|2|3 0-3",
          "1024 1024 1024 1024",
          .files = { { "cpu/online", "0-3" },
                     { "cpu/cpu*/topology/physical_package_id", "0|0|7|7" },
                     { "cpu/cpu*/topology/core_id", "3|3|3|4" } } },
        { "ids are garbage", "0-1 0-1 0-1 0|1 0-1", "1024 1024",
          .files = { { "cpu/online", "0-1" },
                     { "cpu/cpu*/topology/physical_package_id", "-1|99999999999999999999" },
                     { "cpu/cpu*/topology/core_id", "|0x1" } } },
        { "list without the CPU itself", "0-1 0-1 0-1 0|1 0-1", "1024 1024",
          .files = { { "cpu/online", "0-1" }, { "cpu/cpu*/topology/core_cpus_list", "1|1" } } },
        { "core that lies in two dies", "0-1 0|1 0|1 0|1 0-1", "1024 1024",
          .files = { { "cpu/online", "0-1" },
                     { "cpu/cpu*/topology/core_cpus_list", "0-1|0-1" },
                     { "cpu/cpu*/topology/die_id", "0|1" } } },
        { "levels in another order than indexes", "0-3 0-3 0-1|2-3 0|1|2|3 0-3",
          "1024 1024 1024 1024",
          .files = { { "cpu/online", "0-3" },
                     { "cpu/cpu*/cache/index0/level", "3|3" },
                     { "cpu/cpu*/cache/index0/shared_cpu_list", "0-1|0-1" },
                     { "cpu/cpu*/cache/index1/level", "1|1" },
                     { "cpu/cpu*/cache/index1/shared_cpu_list", "0|1" } } },
        { "kernel's cluster before level 2", "0-2 0-2 0-1|2 0|1|2 0-2", "1024 1024 1024",
          .files = { { "cpu/online", "0-2" },
                     { "cpu/cpu*/topology/cluster_cpus_list", "0-1|0-1" },
                     { "cpu/cpu0/cache/index2/shared_cpu_list", "0" },
                     { "cpu/cpu2/cache/index1/shared_cpu_list", "0-2" } } },
        { "cluster larger than the cache", "0-3 0-3 0-1|2-3 0|1|2|3 0-3", "1024 1024 1024 1024",
          .files = { { "cpu/online", "0-3" },
                     { "cpu/cpu*/topology/cluster_id", "0|0|0|0" },
                     { "cpu/cpu*/cache/index0/shared_cpu_list", "0-1|0-1|2-3|2-3" } } },
        { "nodes across cores, twice claimed, beyond", "0-2 0-2 0-2 0|1|2 0|1|2", "1024 1024 1024",
          .files = { { "cpu/online", "0-2" },
                     { "node/node4/cpulist", "0-1" },
                     { "node/node2/cpulist", "1,500" },
                     { "node/node9/cpulist", "garbage" },
                     { "node/nodex/cpulist", "2" },
                     { "node/online", "2,4" } } },
        { "capacity", "0-1 0-1 0-1 0|1 0-1", "256 1024",
          .files = { { "cpu/online", "0-1" },
                     { "cpu/cpu*/cpu_capacity", "250|1000" },
                     { "cpu/cpu*/acpi_cppc/highest_perf", "9|9" } } },
        { "capacity of one CPU: the next source serves all", "0-1 0-1 0-1 0|1 0-1", "1024 512",
          .files = { { "cpu/online", "0-1" },
                     { "cpu/cpu0/cpu_capacity", "250" },
                     { "cpu/cpu*/acpi_cppc/highest_perf", "10|5" } } },
        { "capacity zero, CPPC garbage, frequency", "0-1 0-1 0-1 0|1 0-1", "256 1024",
          .files = { { "cpu/online", "0-1" },
                     { "cpu/cpu*/cpu_capacity", "0|1024" },
                     { "cpu/cpu*/acpi_cppc/highest_perf", "x|5" },
                     { "cpu/cpu*/cpufreq/cpuinfo_max_freq", "1000000|4000000" } } },
        { "frequency enormous: kinds of cores", "0-1 0-1 0-1 0|1 0-1", "1024 640",
          .files = { { "cpu/online", "0-1" },
                     { "cpu/cpu*/cpufreq/cpuinfo_max_freq", "18446744073709551615|4000000" },
                     { "../cpu_atom/cpus", "1" },
                     { "../cpu_core/cpus", "0" } } },
        { "three kinds of cores, two of them small", "0-2 0-2 0-2 0|1|2 0-2", "1024 640 640",
          .files = { { "cpu/online", "0-2" },
                     { "../cpu_atom/cpus", "1" },
                     { "../cpu_lowpower/cpus", "2" },
                     { "../cpu_core/cpus", "0" } } },
        { "a CPU of no kind, a CPU of both", "0-2 0-2 0-2 0|1|2 0-2", "1024 1024 1024",
          .files = { { "cpu/online", "0-2" },
                     { "../cpu_atom/cpus", "1" },
                     { "../cpu_core/cpus", "0-1" } } },
        { "tiny and huge", "0-1 0-1 0-1 0|1 0-1", "1 1024",
          .files = { { "cpu/online", "0-1" },
                     { "cpu/cpu*/acpi_cppc/highest_perf", "1|4294967295" } } },
};

static void put_below(const Tree *tree, const char *name, const char *text)
{
        g_autofree char *path = g_strconcat("sys/devices/system/", name, NULL);

        tree_put(tree, path, text);
}

static void put_files(const Tree *tree, const char *name, const char *text)
{
        const char *star = strchr(name, '*');
        g_auto(GStrv) texts = g_strsplit(text, "|", -1);

        if (!star)
                put_below(tree, name, text);
        for (int cpu = 0; star && texts[cpu]; cpu++) {
                g_autofree char *path = g_strdup_printf("%.*s%d%s", (int)(star - name), name, cpu,
                                                        star + 1);

                if (!g_str_equal(texts[cpu], "-"))
                        put_below(tree, path, texts[cpu]);
        }
}

TEST_EACH(trees, tree_cases)
{
        g_auto(Tree) tree = tree_make();
        g_autoptr(Topology) t = NULL;
        g_autoptr(GString) capacities = g_string_new(NULL);

        for (int i = 0; i < FILES_MAX && c->files[i][0]; i++)
                put_files(&tree, c->files[i][0], c->files[i][1]);
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
}

TEST(no_cpus)
{
        g_auto(Tree) tree = tree_make();
        Topology *topology = (Topology *)0x1;

        ck_assert_int_eq(topology_read(tree.root, &topology), -ENOENT);
        tree_put(&tree, "sys/devices/system/cpu/possible", "none of your business");
        ck_assert_int_eq(topology_read(tree.root, &topology), -ENOENT);
        ck_assert_ptr_eq(topology, (Topology *)0x1);
}

TEST(equal)
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

UNIT("topology")
