/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cpusets of cgroups: what their lists say, and what is noticed of changes. */
#include "machine.h"
#include "sense/cpusets.h"
#include "sense/kubelet.h"
#include "table.h"

#define TOP "sys/fs/cgroup/"

static Tree tree;

static void setup(void)
{
        tree = tree_make();
        tree_put(&tree, TOP "cgroup.controllers", "cpuset cpu\n");
        tree_put(&tree, TOP "a.slice/cpuset.cpus", "0-1\n");
        tree_put(&tree, TOP "a.slice/b.service/payload/cpuset.cpus", "3\n");
        tree_put(&tree, TOP "a.slice/empty/cpuset.cpus", "\n");
        tree_put(&tree, TOP "a.slice/all/cpuset.cpus", "0-7\n");
        tree_put(&tree, TOP "a.slice/garbage/cpuset.cpus", "x\n");
        tree_put(&tree, TOP "a.slice/offline/cpuset.cpus", "7\n");
        tree_put(&tree, TOP "idledpark.slice/cpuset.cpus", "2-3\n");
}

static void teardown(void)
{
        tree_done(&tree);
}

TEST(lists)
{
        static const char *const ours[] = { "/idledpark.slice", "/a.slice", NULL };
        g_autoptr(Topology) topology = machine_make(4, 1, 2, "0-3", "");
        g_autoptr(Affinities) affinities = g_new0(Affinities, 1);

        cpusets_read(tree.root, topology, ours, affinities);
        ck_assert_int_eq(affinities->n_sets, 1);
        ck_assert_str_eq(affinities->owners[0],
                         "cgroup /a.slice/b.service/payload (cpuset.cpus=3)");
}

TEST(slice_of_another)
{
        g_autoptr(Topology) topology = machine_make(4, 1, 2, "0-3", "");
        g_autoptr(Affinities) affinities = g_new0(Affinities, 1);

        cpusets_read(tree.root, topology, (const char *const[]){ NULL }, affinities);
        ck_assert_int_eq(affinities->n_sets, 3);
}

static const struct {
        const char *path, *cpus;
        bool permits;
} permitted[] = {
        { "/a.slice/b.service/payload", "2-3", true },
        { "/a.slice/b.service/payload", "2", false },
        { "/a.slice/b.service/payload", "0", false },
        { "/a.slice/b.service/gone", "7", true }, /* a.slice's list is ours */
        { "/a.slice/empty", "3", true },
        { "/a.slice/garbage", "3", true },
        { "/idledpark.slice", "0", false }, /* and this one is not */
        { "/", "0", true },
        { "", "0", true },
};

TEST_EACH(permits, permitted)
{
        static const char *const ours[] = { "/a.slice", NULL };
        CpuSet cpus = set_of(c->cpus);

        ck_case(c->path, cpusets_permit(tree.root, ours, c->path, &cpus) == c->permits, "%s",
                c->cpus);
}

static const struct {
        const char *name, *state, *cpus, *container; /* NULL: none */
        int error;
} kubelets[] = {
        { "exclusive",
          "{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1\",\"entries\":{\"5f\":{\"app\":\"2-"
          "3\"}},"
          "\"checksum\":12}",
          "2-3", "app (exclusive CPUs 2-3)" },
        { "two pods, and one of offline CPUs",
          "{\"entries\":{\"a\":{\"x\":\"1\",\"y\":\"7\"},\"b\":{\"x\":\"3\"}}}", "1,3",
          "x (exclusive CPUs 1)" },
        { "the first format", "{\"entries\": {\"c0ffee\" : \"2\"}}", "2",
          "c0ffee (exclusive CPUs 2)" },
        { "none", "{\"policyName\":\"none\",\"defaultCpuSet\":\"0-3\",\"checksum\":1}", "", NULL },
        { "braces and quotation marks in names",
          "{\"x}\":\"}\",\"entries\":{\"a{\\\"\":{\"}\":\"0\"}},\"after\":{\"z\":\"3\"}}", "0",
          "} (exclusive CPUs 0)" },
        { "empty sets", "{\"entries\":{\"a\":{\"x\":\"\"}}}\n", "", NULL },
        { "a word", "{\"entries\":{\"a\":{\"x\":\"all\"}}}", "0-3", NULL, -EBADMSG },
        { "a list that is too long", "{\"entries\":{\"a\":{\"x\":\"0-9999\"}}}", "0-3", NULL,
          -EBADMSG },
        { "truncated", "{\"entries\":{\"a\":{\"x\":\"1\",\"y\":\"3", "0-3", "x (exclusive CPUs 1)",
          -EBADMSG },
        { "truncated between strings", "{\"entries\":{\"a\":{\"x\":\"1\"", "0-3",
          "x (exclusive CPUs 1)", -EBADMSG },
        { "a truncated escape", "{\"entries\":{\"a\\", "0-3", NULL, -EBADMSG },
        { "empty", "", "0-3", NULL, -EBADMSG },
};

/* A set for each CPU, so that all of them stay active. */
TEST_EACH(kubelet, kubelets)
{
        g_autofree char *owner = g_strdup_printf("the kubelet's container %s", c->container);
        g_autoptr(Topology) topology = machine_make(4, 1, 2, "0-3", "");
        g_autoptr(Affinities) affinities = g_new0(Affinities, 1);
        CpuSet expected = set_of(c->cpus), found = { 0 };

        tree_put(&tree, "var/lib/kubelet/cpu_manager_state", c->state);
        ck_assert_int_eq(kubelet_read(tree.root, topology, affinities), c->error);
        for (int i = 0; i < affinities->n_sets; i++) {
                ck_case(c->name, cpuset_count(&affinities->sets[i]) == 1, "set %d", i);
                cpuset_or(&found, &affinities->sets[i]);
        }
        ck_case(c->name, cpuset_equal(&found, &expected), "%d sets", affinities->n_sets);
        if (c->container)
                ck_assert_str_eq(affinities->owners[0], owner);
}

/* What is there instead of the file is neither waited for nor followed, and any CPU may be given
 * away. A directory without the file is none. */
TEST_RANGE(kubelet_is_no_file, 0, 4)
{
        static const char path[] = "var/lib/kubelet/cpu_manager_state";
        g_autoptr(Topology) topology = machine_make(4, 1, 2, "0-3", "");
        g_autoptr(Affinities) affinities = g_new0(Affinities, 1);

        tree_put(&tree, "var/lib/kubelet/other", kubelets[0].state);
        if (_i == 0)
                ck_assert_int_eq(mkfifoat(tree.root, path, 0600), 0);
        else if (_i == 1)
                ck_assert_int_eq(symlinkat("other", tree.root, path), 0);
        else if (_i == 2)
                ck_assert_int_eq(mkdirat(tree.root, path, 0755), 0);
        ck_assert_int_eq(kubelet_read(tree.root, topology, affinities) < 0, _i < 3);
        ck_assert_int_eq(affinities->n_sets, _i < 3 ? 4 : 0);
}

/* More than idled reads. */
TEST(kubelet_is_large)
{
        g_autofree char *blanks = g_strnfill(2 << 20, ' ');
        g_autoptr(Topology) topology = machine_make(4, 1, 2, "0-3", "");
        g_autoptr(Affinities) affinities = g_new0(Affinities, 1);

        tree_put(&tree, "var/lib/kubelet/cpu_manager_state", blanks);
        ck_assert_int_eq(kubelet_read(tree.root, topology, affinities), -EFBIG);
        ck_assert_int_eq(affinities->n_sets, 4);
}

TEST(kubelet_that_comes)
{
        g_autoptr(CpusetWatch) watch = NULL;

        ck_assert_int_eq(cpuset_watch_new(tree.root, &watch), 0);
        tree_put(&tree, "var/lib/kubelet/config.yaml", "");
        cpuset_watch_retry(watch);
        ck_assert(!cpuset_watch_read(watch, NULL, NULL));
        tree_put(&tree, "var/lib/kubelet/.123", "{}");
        ck_assert(!cpuset_watch_read(watch, NULL, NULL));
        ck_assert_int_eq(renameat(tree.root, "var/lib/kubelet/.123", tree.root,
                                  "var/lib/kubelet/cpu_manager_state"),
                         0);
        ck_assert(cpuset_watch_read(watch, NULL, NULL));
}

static void change_list(void)
{
        file_write(tree.root, TOP "a.slice/b.service/payload/cpuset.cpus", "2");
}

static void change_type(void)
{
        tree_put(&tree, TOP "a.slice/cpuset.cpus.partition", "member\n");
        file_write(tree.root, TOP "a.slice/cpuset.cpus.partition", "isolated");
}

static void change_other(void)
{
        tree_put(&tree, TOP "a.slice/cgroup.procs", "1\n");
}

static void come_with_list(void)
{
        tree_put(&tree, TOP "new/deep/cpuset.cpus", "3\n");
}

static void come_without(void)
{
        mkdirat(tree.root, TOP "new", 0755);
}

static void go(void)
{
        unlinkat(tree.root, TOP "a.slice/empty/cpuset.cpus", 0);
        unlinkat(tree.root, TOP "a.slice/empty", AT_REMOVEDIR);
}

static void go_with_list(void)
{
        unlinkat(tree.root, TOP "a.slice/b.service/payload/cpuset.cpus", 0);
        unlinkat(tree.root, TOP "a.slice/b.service/payload", AT_REMOVEDIR);
}

static void nothing(void)
{
}

static const struct {
        const char *name;
        void (*change)(void);
        bool noticed;
} changes[] = {
        { "nothing", nothing, false },
        { "a list", change_list, true },
        { "a partition", change_type, true },
        { "another file", change_other, false },
        { "a cgroup with a list", come_with_list, true },
        { "a cgroup without", come_without, false },
        { "the end of a cgroup", go, false },
        { "the end of one with a list", go_with_list, true },
};

TEST_EACH(noticed, changes)
{
        g_autoptr(CpusetWatch) watch = NULL;

        ck_assert_int_eq(cpuset_watch_new(tree.root, &watch), 0);
        c->change();
        ck_case(c->name, cpuset_watch_read(watch, NULL, NULL) == c->noticed, "not %d", c->noticed);
        ck_case(c->name, !cpuset_watch_read(watch, NULL, NULL), "twice");
}

static void note_made(const char *path, void *userdata)
{
        g_string_append_printf(userdata, "%s ", path);
}

static const struct {
        const char *name, *made;
        unsigned uid;
} made_cases[] = {
        { "by an engine", "job_1", 0 }, { "a service", "x.service", 0 },
        { "a scope", "x.scope", 0 },    { "of systemd in a unit", ".control", 0 },
        { "of a user", "x", 65534 },
};

/* Cgroups that are no units count, also those in a unit: that of a container engine. */
TEST_EACH(made, made_cases)
{
        g_autofree char *path = g_strconcat(TOP "a.slice/b.service/", c->made, NULL);
        g_autofree char *expected = _i == 0 ? g_strdup("/a.slice/b.service/job_1 ") : g_strdup("");
        g_autoptr(GString) found = g_string_new(NULL);
        g_autoptr(CpusetWatch) watch = NULL;

        ck_assert_int_eq(cpuset_watch_new(tree.root, &watch), 0);
        ck_assert_int_eq(mkdirat(tree.root, path, 0755), 0);
        if (c->uid && fchownat(tree.root, path, c->uid, c->uid, 0) < 0)
                return; /* needs root */
        cpuset_watch_read(watch, note_made, found);
        ck_case(c->name, g_str_equal(found->str, expected), "found %s", found->str);
}

/* In a cgroup that came the list is written later. */
TEST(list_of_one_that_came)
{
        g_autoptr(CpusetWatch) watch = NULL;

        ck_assert_int_eq(cpuset_watch_new(tree.root, &watch), 0);
        come_without();
        ck_assert(!cpuset_watch_read(watch, NULL, NULL));
        close(openat(tree.root, TOP "new/cpuset.cpus", O_CREAT | O_WRONLY, 0600));
        ck_assert_int_eq(file_write(tree.root, TOP "new/cpuset.cpus", "3"), 0);
        ck_assert(cpuset_watch_read(watch, NULL, NULL));
}

TEST(no_unified_hierarchy)
{
        CpusetWatch *watch = NULL;

        ck_assert_int_eq(unlinkat(tree.root, TOP "cgroup.controllers", 0), 0);
        ck_assert_int_eq(cpuset_watch_new(tree.root, &watch), -ENOENT);
}

UNIT("cpusets", .setup = setup, .teardown = teardown)
