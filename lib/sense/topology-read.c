/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the topology: sysfs's cpu and node trees into one CpuFacts per CPU.
 *
 * Every file may be missing: it came with a later kernel, or the platform does not provide it.
 * Names have changed (thread_siblings_list became core_cpus_list in 5.0, core_siblings_list became
 * package_cpus_list), clusters came in 5.16. On x86 the kernel's clusters are CPUs that share the
 * level-2 cache, so that cache is used where the kernel has no clusters. A list that does not
 * contain its own CPU, and an invalid number, count as missing.
 *
 * Capacities are comparable only within one source, so one source provides all CPUs or none. If no
 * source does, all are equal.
 */
#include "sense/topology-read.h"

#include <errno.h>
#include <stdio.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/number.h"

#define CPU_TREE  "sys/devices/system/cpu"
#define NODE_TREE "sys/devices/system/node"

/* What the capacity of Intel's E-cores is taken to be where nothing better than "this is one" is
 * known: the mean of highest_perf of E- to P-cores on Alder, Meteor and Lunar Lake, 34/60, 38/60
 * and 35/52. */
#define ATOM_CAPACITY 640

/* Larger values are garbage: scheduler units, CPPC's abstract scale (32 bits), 1 THz, a cache. */
#define CPU_CAPACITY_MAX 65536u
#define CPPC_PERF_MAX    UINT32_MAX
#define FREQ_KHZ_MAX     1000000000u
#define CACHE_LEVEL_MAX  8

/* A list of CPUs; the error of reading or parsing it. */
static int list_read(int root, const char *path, CpuSet *ret_set)
{
        g_autofree char *text = NULL;
        int r;

        r = file_read(root, path, &text);
        if (r < 0)
                return r;
        return cpuset_parse(text, ret_set);
}

/* The numbers N of all entries "PREFIXN" of a directory. */
static int numbers_read(int root, const char *path, const char *prefix, CpuSet *ret_numbers)
{
        _dir_ DIR *dir = dir_open(root, path);
        CpuSet numbers = { 0 };
        int number;

        if (!dir)
                return -errno;
        for (struct dirent *entry; (entry = readdir(dir));)
                if (g_str_has_prefix(entry->d_name, prefix) &&
                    int_parse(entry->d_name + strlen(prefix), &number) >= 0)
                        cpuset_add(&numbers, number);
        *ret_numbers = numbers;
        return 0;
}

/* The CPUs that are or may become online; both from the best source there is. */
static int sets_read(int root, CpuSet *ret_possible, CpuSet *ret_online)
{
        CpuSet possible = { 0 }, online = { 0 };
        int r = 0;

        if (list_read(root, CPU_TREE "/possible", &possible) < 0 || cpuset_is_empty(&possible))
                list_read(root, CPU_TREE "/present", &possible);
        if (cpuset_is_empty(&possible))
                r = numbers_read(root, CPU_TREE, "cpu", &possible);
        if (list_read(root, CPU_TREE "/online", &online) < 0 || cpuset_is_empty(&online))
                online = possible;
        if (cpuset_is_empty(&online))
                return r < 0 ? r : -ENOENT;
        cpuset_or(&possible, &online);
        *ret_possible = possible;
        *ret_online = online;
        return 0;
}

/* Virtual machines have far more possible CPUs than present ones. */
static void present_read(int root, Topology *topology)
{
        CpuSet present = { 0 };

        if (list_read(root, CPU_TREE "/present", &present) < 0 || cpuset_is_empty(&present))
                return;
        cpuset_and(&topology->present, &present);
        cpuset_or(&topology->present, &topology->online);
}

/* A path below one CPU's directory. */
typedef struct CpuPath {
        char text[128];
} CpuPath;

static CpuPath cpu_path(int cpu, const char *file)
{
        CpuPath path;

        snprintf(path.text, sizeof(path.text), CPU_TREE "/cpu%d/%s", cpu, file);
        return path;
}

/* The whole number in a file below the CPU, -1 if there is none. */
static int id_read(int root, int cpu, const char *file)
{
        CpuPath path = cpu_path(cpu, file);
        char text[32];
        int id;

        if (file_read_value(root, path.text, text, sizeof(text)) < 0 || int_parse(text, &id) < 0)
                return -1;
        return MAX(id, -1);
}

/* The lowest CPU of a list below the CPU, -1 if there is none or the CPU itself is not in it. */
static int first_read(int root, int cpu, const char *file)
{
        CpuPath path = cpu_path(cpu, file);
        CpuSet set;

        if (list_read(root, path.text, &set) < 0 || !cpuset_has(&set, cpu))
                return -1;
        return cpuset_next(&set, -1);
}

static int first_read_either(int root, int cpu, const char *file, const char *old_file)
{
        int first = first_read(root, cpu, file);

        return first < 0 ? first_read(root, cpu, old_file) : first;
}

/* The size of a cache in KiB, "32768K"; 0 if it is not known. */
static uint32_t cache_size_read(int root, int cpu, int index)
{
        char file[64], text[32], *end;
        uint64_t kib;

        snprintf(file, sizeof(file), "cache/index%d/size", index);
        if (file_read_value(root, cpu_path(cpu, file).text, text, sizeof(text)) < 2)
                return 0;
        end = text + strlen(text) - 1;
        if (*end != 'K')
                return 0;
        *end = '\0';
        return u64_parse(text, &kib) < 0 || kib > UINT32_MAX ? 0 : (uint32_t)kib;
}

/* The last-level cache, and the lowest CPU that shares the level-2 cache with this one. A cache
 * that does not say its level is taken to be at its index: data, instructions, then one index a
 * level. */
static void caches_read(int root, int cpu, CpuFacts *facts, int *ret_second)
{
        int last_level = -1, second = -1;

        for (int index = 0, missing = 0; missing < 2; index++) {
                char file[64];
                int first, level;

                snprintf(file, sizeof(file), "cache/index%d/shared_cpu_list", index);
                first = first_read(root, cpu, file);
                missing = first < 0 ? missing + 1 : 0;
                if (first < 0)
                        continue;
                snprintf(file, sizeof(file), "cache/index%d/level", index);
                level = id_read(root, cpu, file);
                if (level < 0 || level > CACHE_LEVEL_MAX)
                        level = MAX(index, 1);
                if (level == 2)
                        second = first;
                if (level >= last_level) {
                        last_level = level;
                        facts->cache_id = first;
                        facts->cache_level = level;
                        facts->cache_kib = cache_size_read(root, cpu, index);
                }
        }
        *ret_second = second;
}

static void cpu_read(int root, int cpu, CpuFacts *facts)
{
        int second;

        facts->package_id = id_read(root, cpu, "topology/physical_package_id");
        facts->die_id = id_read(root, cpu, "topology/die_id");
        facts->core_id = id_read(root, cpu, "topology/core_id");
        facts->cluster_id = id_read(root, cpu, "topology/cluster_id");
        facts->core_first = first_read_either(root, cpu, "topology/core_cpus_list",
                                              "topology/thread_siblings_list");
        facts->package_first = first_read_either(root, cpu, "topology/package_cpus_list",
                                                 "topology/core_siblings_list");
        facts->die_first = first_read(root, cpu, "topology/die_cpus_list");
        facts->cluster_first = first_read(root, cpu, "topology/cluster_cpus_list");
        caches_read(root, cpu, facts, &second);
        if (facts->cluster_first < 0)
                facts->cluster_first = second;
}

static void nodes_read(int root, int n_cpus, CpuFacts *facts)
{
        CpuSet numbers = { 0 };

        numbers_read(root, NODE_TREE, "node", &numbers);
        CPUSET_FOREACH(node, &numbers) {
                g_autofree char *path = g_strdup_printf(NODE_TREE "/node%d/cpulist", node);
                CpuSet cpus = { 0 };

                list_read(root, path, &cpus);
                CPUSET_FOREACH(cpu, &cpus)
                        if (cpu < n_cpus && facts[cpu].node < 0)
                                facts[cpu].node = node;
        }
}

/* Fills the capacities from one file of every CPU; false if it is not good for all. */
static bool capacities_from(int root, const char *file, uint64_t max, const CpuSet *online,
                            CpuFacts *facts)
{
        CPUSET_FOREACH(cpu, online) {
                CpuPath path = cpu_path(cpu, file);
                uint64_t value;

                if (file_read_u64(root, path.text, &value) < 0 || value == 0 || value > max)
                        return false;
                facts[cpu].capacity = value;
        }
        return true;
}

/* Fills the types from the lists of the PMUs of Intel's hybrids. Some have a third one, for the
 * efficient cores of another die. */
static void types_read(int root, const CpuSet *online, CpuFacts *facts)
{
        CpuSet atom, core, low_power = { 0 };

        if (list_read(root, "sys/devices/cpu_atom/cpus", &atom) < 0 ||
            list_read(root, "sys/devices/cpu_core/cpus", &core) < 0)
                return;
        list_read(root, "sys/devices/cpu_lowpower/cpus", &low_power);
        cpuset_or(&atom, &low_power);
        CPUSET_FOREACH(cpu, online)
                if (cpuset_has(&atom, cpu) != cpuset_has(&core, cpu))
                        facts[cpu].type = cpuset_has(&atom, cpu) ? CORE_TYPE_SMALL
                                                                 : CORE_TYPE_LARGE;
}

static bool capacities_from_type(const CpuSet *online, CpuFacts *facts)
{
        CPUSET_FOREACH(cpu, online) {
                if (facts[cpu].type == CORE_TYPE_UNKNOWN)
                        return false;
                facts[cpu].capacity = facts[cpu].type == CORE_TYPE_SMALL ? ATOM_CAPACITY
                                                                         : CAPACITY_SCALE;
        }
        return true;
}

static void capacities_read(int root, const CpuSet *online, CpuFacts *facts)
{
        if (capacities_from(root, "cpu_capacity", CPU_CAPACITY_MAX, online, facts) ||
            capacities_from(root, "acpi_cppc/highest_perf", CPPC_PERF_MAX, online, facts) ||
            capacities_from(root, "cpufreq/cpuinfo_max_freq", FREQ_KHZ_MAX, online, facts) ||
            capacities_from_type(online, facts))
                return;
        CPUSET_FOREACH(cpu, online)
                facts[cpu].capacity = CAPACITY_SCALE;
}

int topology_read(int root, Topology **ret_topology)
{
        CpuSet possible, online, isolated = { 0 }, nohz_full = { 0 };
        g_autofree CpuFacts *facts = NULL;
        int n_cpus = 0, r;

        r = sets_read(root, &possible, &online);
        if (r < 0)
                return r;
        /* The latter says "(null)" where no CPU is meant; what is no list is an empty one. */
        list_read(root, CPU_TREE "/isolated", &isolated);
        list_read(root, CPU_TREE "/nohz_full", &nohz_full);

        CPUSET_FOREACH(cpu, &possible)
                n_cpus = cpu + 1;
        facts = g_new(CpuFacts, n_cpus);
        for (int cpu = 0; cpu < n_cpus; cpu++)
                facts[cpu] = (CpuFacts){ -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0 };
        CPUSET_FOREACH(cpu, &online)
                cpu_read(root, cpu, &facts[cpu]);
        nodes_read(root, n_cpus, facts);
        types_read(root, &online, facts);
        capacities_read(root, &online, facts);
        *ret_topology = topology_build(n_cpus, facts, &possible, &online, &isolated, &nohz_full);
        present_read(root, *ret_topology);
        return 0;
}
