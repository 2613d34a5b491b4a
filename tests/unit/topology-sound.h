/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of topologies share: that one is sound, and its groups as text.
 */
#ifndef IDLED_TESTS_TOPOLOGY_SOUND_H
#define IDLED_TESTS_TOPOLOGY_SOUND_H

#include "machine.h"
#include "table.h"

/* What topology.h promises of every topology. */
static inline void assert_sound(const char *name, const Topology *t)
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

/* The CPUs of each group in turn, as "0-1|2-3". `offset` is that of its number in TopologyCpu. */
static inline char *groups_format(const Topology *t, int n_groups, size_t offset)
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

#endif
