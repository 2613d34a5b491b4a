/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Machines for tests: made from nothing, or a temporary directory to be filled.
 */
#ifndef IDLED_TESTS_MACHINE_H
#define IDLED_TESTS_MACHINE_H

#include <inttypes.h>
#include <stdarg.h>

#include "base/file.h"
#include "model/topology-build.h"
#include "set-of.h"
#include "temporary.h"

/* A directory of the test's own, in memory where that is possible. */
typedef struct Tree {
        char *path;
        int root;
} Tree;

static inline Tree tree_make(void)
{
        Tree tree = { .path = temporary_make(NULL) };

        tree.root = root_open(tree.path);
        ck_assert_int_ge(tree.root, 0);
        return tree;
}

static inline void tree_done(Tree *tree)
{
        close(tree->root);
        temporary_remove(tree->path);
        g_free(tree->path);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Tree, tree_done)

/* Puts a file into the tree, with the directories it needs. */
static inline void tree_put(const Tree *tree, const char *path, const char *text)
{
        g_autofree char *whole = g_strconcat(tree->path, "/", path, NULL);
        g_autofree char *dir = g_path_get_dirname(whole);

        ck_assert_int_eq(g_mkdir_with_parents(dir, 0755), 0);
        ck_assert(g_file_set_contents(whole, text, -1, NULL));
}

/* A machine of one package with `threads` adjacent CPUs a core and `per_node` CPUs a NUMA node, of
 * which the CPUs of the list are online. */
static inline Topology *machine_make(int n_cpus, int threads, int per_node, const char *online,
                                     const char *isolated)
{
        g_autofree CpuFacts *facts = g_new(CpuFacts, n_cpus);
        CpuSet possible = { 0 }, on = set_of(online), aside = set_of(isolated);

        cpuset_add_range(&possible, 0, n_cpus - 1);
        for (int cpu = 0; cpu < n_cpus; cpu++)
                facts[cpu] = (CpuFacts){
                        .package_id = 0,
                        .die_id = 0,
                        .core_id = cpu / threads,
                        .cluster_id = -1,
                        .cache_id = -1,
                        .core_first = -1,
                        .cluster_first = -1,
                        .die_first = -1,
                        .package_first = -1,
                        .node = cpu / per_node,
                };
        return topology_build(n_cpus, facts, &possible, &on, &aside, NULL);
}

#endif
