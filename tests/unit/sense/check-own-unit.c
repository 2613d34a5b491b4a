/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which unit a process has for itself.
 */
#include <errno.h>

#include "machine.h"
#include "sense/own-unit.h"
#include "table.h"

/* Processes 10, its child 11 and that one's child 12; 20 is none of these. */
static const struct {
        const char *name, *cgroup;
        const char *procs, *below; /* processes in the unit, and in a group below it */
        const char *unit;          /* NULL: none */
} cases[] = {
        { "a service of its own", "/system.slice/a.service", "10\n", NULL,
          "/system.slice/a.service" },
        { "a scope with children", "/user.slice/user-1.slice/a.scope", "10\n11\n12\n", NULL,
          "/user.slice/user-1.slice/a.scope" },
        { "children below", "/system.slice/a.service", "10\n", "12\n", "/system.slice/a.service" },
        { "in a group below", "/system.slice/a.service/x", "", "10\n", "/system.slice/a.service" },
        { "shared", "/system.slice/a.service", "10\n20\n", NULL, NULL },
        { "shared below", "/system.slice/a.service", "10\n", "20\n", NULL },
        { "of a process that has ended", "/system.slice/a.service", "10\n30\n", NULL, NULL },
        { "a slice is none", "/system.slice", "10\n", NULL, NULL },
        { "of a user's manager", "/user.slice/user-1.slice/user@1.service/app.slice/a.scope",
          "20\n", "10\n", NULL },
        { "a user's manager", "/user.slice/user-1.slice/user@1.service", "10\n11\n", NULL, NULL },
        { "no unit", "/docker/a", "10\n", NULL, NULL },
        { "the root", "/", "10\n", NULL, NULL },
};

static void put_process(const Tree *tree, int pid, int parent, const char *cgroup)
{
        g_autofree char *status = g_strdup_printf("proc/%d/status", pid),
                        *group = g_strdup_printf("proc/%d/cgroup", pid),
                        *facts = g_strdup_printf("Name:\tx\nPPid:\t%d\nUid:\t1\t1\t1\t1\n", parent),
                        *line = g_strdup_printf("0::%s\n", cgroup);

        tree_put(tree, status, facts);
        tree_put(tree, group, line);
}

TEST_EACH(own_unit, cases)
{
        static const char *const ends[] = { ".service", ".scope" };
        g_autofree char *unit = NULL, *procs = NULL, *below = NULL, *found = NULL;
        g_auto(Tree) tree = tree_make();
        const char *end = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(ends) && !end; i++)
                end = strstr(c->cgroup, ends[i]) ? strstr(c->cgroup, ends[i]) + strlen(ends[i])
                                                 : NULL;
        unit = end ? g_strndup(c->cgroup, (size_t)(end - c->cgroup)) : g_strdup(c->cgroup);
        procs = g_strconcat("sys/fs/cgroup", unit, "/cgroup.procs", NULL);
        below = g_strconcat("sys/fs/cgroup", unit, "/x/cgroup.procs", NULL);
        tree_put(&tree, procs, c->procs);
        if (c->below)
                tree_put(&tree, below, c->below);
        put_process(&tree, 10, 1, c->cgroup);
        put_process(&tree, 11, 10, c->cgroup);
        put_process(&tree, 12, 11, c->cgroup);
        put_process(&tree, 20, 1, c->cgroup);
        ck_assert_int_eq(own_unit_read(tree.root, 10, &found), 0);
        ck_case(c->name, g_strcmp0(found, c->unit) == 0, "%s", found ? found : "none");
}

/* Each process is the child of the one before. */
static const struct {
        const char *name;
        int n;
        bool own;
} chains[] = { { "many generations", 200, true }, { "too many to read", 1100, false } };

TEST_EACH(chain, chains)
{
        g_autoptr(GString) procs = g_string_new(NULL);
        g_autofree char *found = NULL;
        g_auto(Tree) tree = tree_make();

        for (int pid = 10; pid < 10 + c->n; pid++) {
                put_process(&tree, pid, pid > 10 ? pid - 1 : 1, "/a.service");
                g_string_append_printf(procs, "%d\n", pid);
        }
        tree_put(&tree, "sys/fs/cgroup/a.service/cgroup.procs", procs->str);
        ck_assert_int_eq(own_unit_read(tree.root, 10, &found), 0);
        ck_case(c->name, (found != NULL) == c->own, "%s", found ? found : "none");
}

/* Those of the unit's group first, and all that can be read. */
TEST(processes)
{
        static const pid_t expected[] = { 11, 10, 12 };
        g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
        g_auto(Tree) tree = tree_make();

        tree_put(&tree, "a.slice/b.service/cgroup.procs", "11\n10\n");
        tree_put(&tree, "a.slice/b.service/x/y/cgroup.procs", "12\n");
        tree_put(&tree, "a.slice/b.service/x/cgroup.procs/z", ""); /* as of a threaded group */
        tree_put(&tree, "a.slice/c.service/cgroup.procs", "20\n");
        ck_assert_int_lt(unit_processes_read(tree.root, "/a.slice/b.service", pids), 0);
        ck_assert_uint_eq(pids->len, G_N_ELEMENTS(expected));
        ck_assert_mem_eq(pids->data, expected, sizeof(expected));
        g_array_set_size(pids, 0);
        ck_assert_int_eq(unit_processes_read(tree.root, "/a.slice/c.service", pids), 0);
        ck_assert_uint_eq(pids->len, 1);
        ck_assert_int_eq(unit_processes_read(tree.root, "/d.service", pids), -ENOENT);
}

UNIT("own-unit")
