/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who depends on CPUs: made-up /proc trees, and a real child with an affinity. */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "affinity-scan.h"
#include "base/private-text.h"
#include "machine.h"
#include "table.h"

#define TASKS_MAX 6

enum { USER, KERNEL, ENDED };

typedef struct Task {
        int pid, tid;
        const char *name, *cpus, *mems;
        int kind, threads;
} Task;

/* 8 CPUs in cores of 2, nodes 0-3 and 4-7; CPU 7 is offline. */
static const struct {
        const char *name;
        const char *sets;     /* each with a blank behind it */
        const char *owner;    /* of the first set */
        const char *nodes;    /* NULL: none */
        const char *confined; /* NULL: no task */
        Task tasks[TASKS_MAX];
} cases[] = {
        { "no task", "" },
        { "unrestricted", "", .tasks = { { 1, 1, "init", "0-7", "0-1", USER, 1 } } },
        { "all that are online", "", .tasks = { { 1, 1, "init", "0-6", "0-1", USER, 1 } } },
        { "more than exist", "", .tasks = { { 1, 1, "init", "0-63", "0-63", USER, 1 } } },
        { "one CPU", "3 ", .owner = "process 9 (dpdk)",
          .tasks = { { 9, 9, "dpdk", "3", "0-1", USER, 1 } } },
        { "a few CPUs", "1,4-5 ", .owner = "process 9 (a b)",
          .tasks = { { 9, 9, "a b", "1,4-5", "0-1", USER, 1 } } },
        { "kernel thread", "", .tasks = { { 9, 9, "migration/3", "3", "0-1", KERNEL, 1 } } },
        { "ending", "", .tasks = { { 9, 9, "zombie", "3", "0-1", ENDED, 1 } } },
        { "vanished", "2 ", .owner = "process 10 (x)",
          .tasks = { { 9, 9, NULL, NULL, NULL, USER, 1 }, { 10, 10, "x", "2", "0-1", USER, 1 } } },
        { "same set twice", "3 ",
          .tasks = { { 9, 9, "a", "3", "0-1", USER, 1 }, { 10, 10, "b", "3", "0-1", USER, 1 } } },
        { "same but for an offline CPU", "3 ",
          .tasks = { { 9, 9, "a", "3", "0-1", USER, 1 }, { 10, 10, "b", "3,7", "0-1", USER, 1 } } },
        { "only an offline CPU", "", .tasks = { { 9, 9, "a", "7", "0-1", USER, 1 } } },
        { "a thread", "5 ", .owner = "thread 12 (worker) of process 9",
          .tasks = { { 9, 9, "main", "0-7", "0-1", USER, 2 },
                     { 9, 12, "worker", "5", "0-1", USER, 2 } } },
        { "thread of an ended leader", "5 ", .owner = "thread 12 (worker) of process 9",
          .tasks = { { 9, 9, "main", "0-7", "0-1", ENDED, 2 },
                     { 9, 12, "worker", "5", "0-1", USER, 2 } } },
        { "confined by us", "", .confined = "0-3",
          .tasks = { { 9, 9, "a", "0-3", "0-1", USER, 1 } } },
        { "confined by us, offline CPU", "", .confined = "4-7",
          .tasks = { { 9, 9, "a", "4-6", "0-1", USER, 1 } } },
        { "pinned within our confinement", "2 ", .owner = "process 9 (a)", .confined = "0-3",
          .tasks = { { 9, 9, "a", "2", "0-1", USER, 1 } } },
        { "pinned beyond our confinement", "0-4 ", .owner = "process 9 (a)", .confined = "0-3",
          .tasks = { { 9, 9, "a", "0-4", "0-1", USER, 1 } } },
        { "confined to one CPU", "", .confined = "0",
          .tasks = { { 9, 9, "a", "0", "0-1", USER, 1 } } },
        { "node", "", .nodes = "1", .tasks = { { 9, 9, "a", "0-7", "1", USER, 1 } } },
        { "node of a kernel thread", "", .tasks = { { 9, 9, "a", "0-7", "1", KERNEL, 1 } } },
        { "both nodes by two tasks", "", .nodes = "0-1",
          .tasks = { { 9, 9, "a", "0-7", "1", USER, 1 }, { 10, 10, "a", "0-7", "0", USER, 1 } } },
        { "garbage", "",
          .tasks = { { 9, 9, "a", "1-", "x", USER, 1 },
                     { 10, 10, "b", "", "", USER, 1 },
                     { 11, 11, "c", "99999999999", "-1", USER, 99999 } } },
        { "name with an escape", "3 ", .owner = "process 9 (\\x1b[31mred)",
          .tasks = { { 9, 9, "\033[31mred", "3", "0-1", USER, 1 } } },
        { "empty name", "3 ", .owner = "process 9 ()",
          .tasks = { { 9, 9, "", "3", "0-1", USER, 1 } } },
        { "name that looks like a line", "3 ", .owner = "process 9 (x\\nThreads:\\x099)",
          .tasks = { { 9, 9, "x\\nThreads:\t9", "3", "0-1", USER, 1 } } },
};

static char *status_text(const Task *task)
{
        return g_strdup_printf("Name:\t%s\nUmask:\t0022\nTgid:\t%d\n"
                               "Uid:\t1000\t0\t0\t0\n%sThreads:\t%d\n"
                               "Cpus_allowed:\tff\nCpus_allowed_list:\t%s\n"
                               "Mems_allowed:\t3\nMems_allowed_list:\t%s\n"
                               "voluntary_ctxt_switches:\t0\n",
                               task->name, task->pid,
                               task->kind == USER ? "VmPeak:\t9 kB\nVmSize:\t9 kB\n" : "",
                               task->threads, task->cpus, task->mems);
}

static void put_task(const Tree *tree, const Task *task)
{
        g_autofree char *own = g_strdup_printf("proc/%d/task/%d/status", task->pid, task->tid);
        g_autofree char *leader = g_strdup_printf("proc/%d/status", task->pid);
        g_autofree char *empty = g_strdup_printf("proc/%d/task/%d/stat", task->pid, task->tid);
        g_autofree char *text = status_text(task);

        tree_put(tree, empty, "");
        if (!task->name)
                return;
        tree_put(tree, own, text);
        if (task->pid == task->tid)
                tree_put(tree, leader, text);
}

TEST_EACH(trees, cases)
{
        g_auto(Tree) tree = tree_make();
        g_autoptr(Topology) topology = machine_make(8, 2, 4, "0-6", "");
        g_autoptr(GString) sets = g_string_new(NULL);
        g_autofree char *nodes = NULL;
        CpuSet confined = set_of(c->confined ? c->confined : ""), bound = { 0 };
        Affinities *affinities = NULL;

        tree_put(&tree, "proc/self/status", "Name:\tno number\n");
        tree_put(&tree, "sys/devices/system/node/has_memory", "0-1\n");
        for (int i = 0; i < TASKS_MAX && c->tasks[i].pid; i++)
                put_task(&tree, &c->tasks[i]);
        ck_assert_int_eq(
                affinities_read(tree.root, topology, c->confined ? &confined : NULL, &affinities),
                0);

        for (int i = 0; i < affinities->n_sets; i++) {
                g_autofree char *text = cpuset_format(&affinities->sets[i]);

                g_string_append_printf(sets, "%s ", text);
                ck_assert_ptr_nonnull(affinities->owners[i]);
        }
        for (int i = 0; i < affinities->n_nodes; i++)
                cpuset_add(&bound, affinities->nodes[i]);
        nodes = cpuset_format(&bound);
        ck_case(c->name, g_str_equal(sets->str, c->sets), "sets %s", sets->str);
        ck_case(c->name, g_str_equal(nodes, c->nodes ?: ""), "nodes %s", nodes);
        if (c->owner) {
                g_autofree char *owner = private_text_for(affinities->owners[0], 1000);
                g_autofree char *other = private_text_for(affinities->owners[0], 1001);

                ck_case(c->name, g_str_equal(owner, c->owner), "%s", owner);
                ck_case(c->name, g_str_equal(other, "a process"), "%s", other);
        }
        affinities_free(affinities);
}

/* The kernel's files about nodes, and the nodes that a task is bound to according to them. */
static const struct {
        const char *has_memory, *online; /* NULL: no such file */
        const char *mems, *bound;
} node_cases[] = {
        { "0-1", "0-1", "0-1", "" },   { "0-1", "0-2", "0-1", "" }, { "0-2", "0-2", "0-1", "0-1" },
        { NULL, "0-2", "0-1", "0-1" }, { NULL, NULL, "0-1", "" },   { NULL, NULL, "0", "0" },
        { "(null)", "", "1", "1" },
};

TEST_EACH(memory_nodes, node_cases)
{
        g_auto(Tree) tree = tree_make();
        Task task = { 9, 9, "a", "0-7", c->mems, USER, 1 };
        g_autoptr(Topology) topology = machine_make(8, 2, 4, "0-7", "");
        g_autoptr(Affinities) affinities = NULL;
        CpuSet bound = { 0 };

        if (c->has_memory)
                tree_put(&tree, "sys/devices/system/node/has_memory", c->has_memory);
        if (c->online)
                tree_put(&tree, "sys/devices/system/node/online", c->online);
        put_task(&tree, &task);
        ck_assert_int_eq(affinities_read(tree.root, topology, NULL, &affinities), 0);
        for (int i = 0; i < affinities->n_nodes; i++) {
                cpuset_add(&bound, affinities->nodes[i]);
                g_autofree char *owner = private_text_for(affinities->node_owners[i], 0);

                ck_assert_str_eq(owner, "process 9 (a)");
        }
        g_autofree char *text = cpuset_format(&bound);

        ck_assert_str_eq(text, c->bound);
}

TEST(no_proc)
{
        g_auto(Tree) tree = tree_make();
        g_autoptr(Topology) topology = machine_make(2, 1, 2, "0-1", "");
        Affinities *affinities = (Affinities *)0x1;

        ck_assert_int_eq(affinities_read(tree.root, topology, NULL, &affinities), -ENOENT);
        ck_assert_ptr_eq(affinities, (Affinities *)0x1);
}

/* Longer than any buffer that one begins with: many groups, many CPUs. */
TEST(long_status)
{
        g_auto(Tree) tree = tree_make();
        g_autoptr(Topology) topology = machine_make(8, 2, 4, "0-7", "");
        g_autofree char *owner = NULL, *groups = g_strnfill(100000, '7'), *text = NULL;
        g_autoptr(Affinities) affinities = NULL;

        text = g_strdup_printf("Name:\tbig\nGroups:\t%s\nVmSize:\t1 kB\nThreads:\t1\n"
                               "Cpus_allowed_list:\t6\nMems_allowed_list:\t0\n",
                               groups);
        tree_put(&tree, "proc/5/status", text);
        ck_assert_int_eq(affinities_read(tree.root, topology, NULL, &affinities), 0);
        ck_assert_int_eq(affinities->n_sets, 1);
        ck_assert_int_eq(cpuset_next(&affinities->sets[0], -1), 6);
        owner = private_text_for(affinities->owners[0], 0);
        ck_assert_str_eq(owner, "process 5 (big)");
}

/* In steps of any size the same is found, and no step looks at more tasks than it may. */
TEST_RANGE(steps, 1, 9)
{
        g_auto(Tree) tree = tree_make();
        g_autoptr(Topology) topology = machine_make(8, 2, 4, "0-7", "");
        g_autoptr(Affinities) affinities = NULL;
        AffinityScan *scan;
        int n = 1;

        for (int pid = 1; pid <= 20; pid++)
                for (int tid = pid * 100; tid < pid * 100 + 5; tid++) {
                        g_autofree char *text = g_strdup_printf(
                                "Name:\tx\nVmSize:\t1 kB\nThreads:\t5\n"
                                "Cpus_allowed_list:\t%d\nMems_allowed_list:\t0\n",
                                pid == 20 && tid == 2004 ? 6 : pid % 3);
                        g_autofree char *file = g_strdup_printf("proc/%d/task/%d/status", pid * 100,
                                                                tid);
                        g_autofree char *first = g_strdup_printf("proc/%d/status", pid * 100);

                        tree_put(&tree, file, text);
                        tree_put(&tree, first, text);
                }
        ck_assert_int_eq(affinity_scan_new(tree.root, topology, NULL, &scan), 0);
        while (affinity_scan_step(scan, (unsigned)_i))
                n++;
        ck_assert_int_ge(n, 100 / _i);
        affinities = affinity_scan_end(scan);
        ck_assert_int_eq(affinities->n_sets, 4);
        ck_assert_int_eq(affinity_scan_new(tree.root, topology, NULL, &scan), 0);
        affinity_scan_step(scan, (unsigned)_i);
        affinity_scan_free(scan); /* in the middle */
}

/* A child of ours with an affinity of one CPU is found in the kernel's own /proc. */
TEST(live)
{
        cpu_set_t all, one;
        CpuSet online = { 0 };
        g_autoptr(Topology) topology = NULL;
        g_autoptr(Affinities) affinities = NULL;
        _fd_ int root = root_open("/");
        int chosen = -1, n = 0;
        bool found = false;
        pid_t child;

        ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
                if (CPU_ISSET(cpu, &all)) {
                        cpuset_add(&online, cpu);
                        chosen = cpu;
                        n++;
                }
        if (n < 2) {
                case_skip("live", "one CPU alone is no restriction");
                return;
        }
        g_autofree char *list = cpuset_format(&online);

        topology = machine_make(chosen + 1, 1, chosen + 1, list, "");
        CPU_ZERO(&one);
        CPU_SET(chosen, &one);
        child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
                for (;;)
                        pause();
        ck_assert_int_eq(sched_setaffinity(child, sizeof(one), &one), 0);
        ck_assert_int_eq(affinities_read(root, topology, NULL, &affinities), 0);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        for (int i = 0; i < affinities->n_sets; i++)
                found |= cpuset_count(&affinities->sets[i]) == 1 &&
                         cpuset_has(&affinities->sets[i], chosen);
        ck_assert(found);
}

UNIT("affinities")
