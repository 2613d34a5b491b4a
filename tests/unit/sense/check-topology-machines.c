/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Topologies of machines: of the described ones, of the recorded ones where they are at hand, and
 * of described ones that lose file after file.
 */
#include <glib/gstdio.h>

#include "model/kind.h"
#include "sense/topology-read.h"
#include "topology-sound.h"

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
        { "synthetic-arrow", 16, 1, 1, 4, 16, 1, "0", "502,883,1024", false },
        { "synthetic-bare", 4, 1, 1, 1, 4, 1, "0", "1024", false },
        { "synthetic-biglittle", 8, 1, 1, 2, 8, 1, "0", "325,872,1024", false },
        { "synthetic-graviton", 64, 1, 1, 1, 64, 1, "0", "1024", false },
        { "synthetic-isolated", 8, 1, 1, 1, 4, 2, "0", "1024", false, NULL, "2-3,6-7", "2-3,6-7" },
        { "synthetic-laptop", 8, 1, 1, 2, 6, 2, "0", "580,1024", false },
        { "synthetic-offline", 16, 1, 1, 1, 3, 2, "0", "1024", false, "0,2-4,6" },
        { "synthetic-raptor", 32, 1, 1, 5, 24, 2, "0", "801,1024", false },
        { "synthetic-sparse", 16, 2, 2, 2, 8, 1, "2,5", "1024", false, "0-3,8-11" },
        { "synthetic-x3d", 32, 1, 1, 2, 16, 2, "0", "929,1024", false },
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
        g_auto(Tree) tree = tree_make();
        g_autoptr(Topology) topology = NULL, again = NULL;

        describe(&tree, e->name);
        ck_assert_int_eq(topology_read(tree.root, &topology), 0);
        assert_sound(e->name, topology);
        assert_expected(e, topology);
        ck_assert_int_eq(topology_read(tree.root, &again), 0);
        ck_assert(topology_equal(topology, again));
}
END_TEST

/* The same table holds for the whole recordings, those that are at hand. */
START_TEST(recorded)
{
        const Expected *e = &machines[_i];
        g_autoptr(Topology) topology = NULL;
        g_auto(Tree) tree = tree_make();

        run(RECORDED_DIR "/unpack", e->name, tree.path);
        ck_assert_int_eq(topology_read(tree.root, &topology), 0);
        assert_sound(e->name, topology);
        assert_expected(e, topology);
}
END_TEST

static const struct {
        const char *name, *clusters, *present;
} cluster_cases[] = {
        { "adl0", "0-7|8-11|12-15" },
        { "mtl-m-2", "0-3|4-7|8-11|12-13" },
        { "lnl0", "0-3|4-7" },
        { "synthetic-laptop", "0-3|4-7" },
        { "synthetic-bare", "0-3", "0-3" },
        { "synthetic-biglittle", "0-3|4-7" },
        { "synthetic-offline", "0,2-4,6", "0-7" }, /* 8-15 may be added */
        { "dnv0", "0-1|2-3|4-5|6-7|8-9|10-11" },
        { "synthetic-2x4-numa", "0-3|4-7" },
};

START_TEST(clusters)
{
        g_auto(Tree) tree = tree_make();
        g_autoptr(Topology) topology = NULL;
        g_autofree char *text = NULL, *present = NULL;

        describe(&tree, cluster_cases[_i].name);
        ck_assert_int_eq(topology_read(tree.root, &topology), 0);
        text = GROUPS(topology, cluster);
        ck_case(cluster_cases[_i].name, g_str_equal(text, cluster_cases[_i].clusters), "%s", text);
        present = cpuset_format(&topology->present);
        if (cluster_cases[_i].present)
                ck_case(cluster_cases[_i].name, g_str_equal(present, cluster_cases[_i].present),
                        "present: %s", present);
}
END_TEST

static const struct {
        const char *name, *efficient, *fast, *cache, *island;
} kind_cases[] = {
        { "adl0", "8-15", "0-7", "", "" },
        { "mtl-m-2", "4-13", "0-3", "", "12-13" },
        { "lnl0", "4-7", "0-3", "", "" },
        { "milan0", "", "", "", "" },
        { "spr-nomwait", "", "", "", "" },
        { "synthetic-arrow", "6-15", "0-5", "", "14-15" },
        { "synthetic-bare", "", "", "", "" },
        { "synthetic-biglittle", "0-3", "4-7", "", "" },
        { "synthetic-graviton", "", "", "", "" },
        { "synthetic-raptor", "16-31", "0-15", "", "" },
        { "synthetic-x3d", "", "8-15,24-31", "0-7,16-23", "" },
};

START_TEST(kinds)
{
        typeof(kind_cases[0]) *c = &kind_cases[_i];
        const char *expected[] = { c->efficient, c->fast, c->cache, c->island };
        g_auto(Tree) tree = tree_make();
        g_autoptr(Topology) topology = NULL;

        describe(&tree, c->name);
        ck_assert_int_eq(topology_read(tree.root, &topology), 0);
        for (int i = 0; kind_names[i]; i++) {
                CpuSet found = topology_of_kinds(topology, 1u << i);
                g_autofree char *text = cpuset_format(&found);

                ck_case(c->name, g_str_equal(text, expected[i]), "%s: %s", kind_names[i], text);
        }
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
        g_auto(Tree) tree = tree_make();
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
}
END_TEST

/* Adds `recorded` for the recordings that are at hand, and says how many are not. */
static void add_recorded(TCase *tcase)
{
        int absent = 0;

        for (int i = 0; i < (int)G_N_ELEMENTS(machines); i++) {
                g_autofree char *file = g_strdup_printf("%s/%s.tree.xz", RECORDED_DIR,
                                                        machines[i].name);

                if (!machines[i].recorded)
                        continue;
                if (access(file, R_OK) == 0)
                        tcase_add_loop_test(tcase, recorded, i, i + 1);
                else
                        absent++;
        }
        if (absent > 0)
                printf("left out: recorded: %d recordings are not in %s\n", absent, RECORDED_DIR);
}

int main(void)
{
        Suite *suite = suite_create("topology-machines");
        TCase *tcase = tcase_create("topology-machines");

        tcase_set_timeout(tcase, 60);
        tcase_add_loop_test(tcase, described, 0, G_N_ELEMENTS(machines));
        add_recorded(tcase);
        tcase_add_loop_test(tcase, clusters, 0, G_N_ELEMENTS(cluster_cases));
        tcase_add_loop_test(tcase, kinds, 0, G_N_ELEMENTS(kind_cases));
        tcase_add_loop_test(tcase, damage, 0, 3);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
