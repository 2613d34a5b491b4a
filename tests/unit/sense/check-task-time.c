/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Time of tasks by the scheduler's clock: what two readings of one second each make of it. */
#include "model/counters.h"
#include "sense.h"
#include "sense/task-time.h"
#include "table.h"

#define HEAD "version 15\ntimestamp 4294937295\n"
/* A line as the kernel writes it, with that of a scheduling domain. */
#define CPU(n, nsec, switches)                                                                     \
        "cpu" #n " 0 0 0 0 0 0 " #nsec " 77 " #switches "\ndomain0 3 1 2 3 4 5 6 7 8 9 10\n"

static const struct {
        const char *name, *before, *after;
        float busy[2]; /* by /proc/stat */
        double shares[2], switches;
        bool unknown;
} cases[] = {
        { "short runs", HEAD CPU(0, 1000000, 100) CPU(1, 0, 50),
          HEAD CPU(0, 61000000, 300) CPU(1, 5000000, 60), .busy = { 0.07f, 0.01f },
          .shares = { 0.06, 0.005 }, .switches = 210 },
        { "a task that runs on", HEAD CPU(0, 1000000, 100) CPU(1, 0, 50),
          HEAD CPU(0, 2000000, 101) CPU(1, 0, 50), .busy = { 1 }, .shares = { 1 }, .switches = 1 },
        { "a task that ran before", HEAD CPU(0, 1000000, 100) CPU(1, 0, 50),
          HEAD CPU(0, 3000000000, 103) CPU(1, 0, 50), .busy = { 0.1f }, .shares = { 0.1 },
          .switches = 3 },
        { "a task that ran before, with short ones", HEAD CPU(0, 1000000, 100) CPU(1, 0, 50),
          HEAD CPU(0, 3000000000, 200) CPU(1, 0, 50), .busy = { 0.1f }, .shares = { 0.11 },
          .switches = 100 },
        { "a task that runs on, for a part of the time", HEAD CPU(0, 1000000, 100) CPU(1, 0, 50),
          HEAD CPU(0, 2000000, 105) CPU(1, 0, 50), .busy = { 0.3f }, .shares = { 0.3 },
          .switches = 5 },
        { "a busy CPU with short runs", HEAD CPU(0, 1000000, 100) CPU(1, 0, 50),
          HEAD CPU(0, 601000000, 5100) CPU(1, 0, 50), .busy = { 0.7f }, .shares = { 0.6 },
          .switches = 5000 },
        { "interrupts of a CPU without tasks", HEAD CPU(0, 1000000, 100) CPU(1, 0, 50),
          HEAD CPU(0, 3000000, 200) CPU(1, 0, 50), .busy = { 0.4f }, .shares = { 0.4 },
          .switches = 100 },
        { "a CPU that was offline", HEAD CPU(0, 1000000, 100),
          HEAD CPU(0, 51000000, 200) CPU(1, 9000000, 1), .busy = { 0.06f, 0.02f },
          .shares = { 0.05, 0.02 }, .switches = 100 },
        { "a CPU that goes offline", HEAD CPU(0, 1000000, 100) CPU(1, 9000000, 9),
          HEAD CPU(0, 51000000, 200), .busy = { 0.06f, 0.02f }, .shares = { 0.05, 0.02 },
          .switches = 100 },
        { "no file", NULL, NULL, .busy = { 0.3f, 0.1f }, .shares = { 0.3, 0.1 }, .unknown = true },
        { "only at the end", NULL, HEAD CPU(0, 61000000, 300), .busy = { 0.3f, 0.1f },
          .shares = { 0.3, 0.1 }, .unknown = true },
        { "an old version", "version 14\ncpu0 1 2 3 4 5 6 7\n", "version 14\ncpu0 1 2 3 4 5 6 7\n",
          .busy = { 0.3f, 0.1f }, .shares = { 0.3, 0.1 }, .unknown = true },
        { "garbage", "cpu0\ncpu\n\n", "cpuX 1\n", .busy = { 0.3f, 0.1f }, .shares = { 0.3, 0.1 },
          .unknown = true },
        { "a line that was cut", HEAD CPU(0, 1000000, 100), HEAD "cpu0 0 0 0 0 0 0 61000000 77",
          .busy = { 0.3f, 0.1f }, .shares = { 0.3, 0.1 }, .unknown = true },
        { "a CPU that is too many", HEAD CPU(0, 1000000, 100) CPU(7, 1, 1),
          HEAD CPU(0, 61000000, 300) CPU(7, 99, 99) CPU(99999999999, 1, 1),
          .busy = { 0.07f, 0.01f }, .shares = { 0.06, 0.01 }, .switches = 200 },
};

TEST_EACH(between, cases)
{
        g_auto(Tree) tree = tree_make();
        g_autoptr(TaskTime) tasks = task_time_new(2);
        g_autoptr(Snapshot) snapshot = snapshot_new(2);

        if (c->before)
                tree_put(&tree, "proc/schedstat", c->before);
        task_time_read(tasks, tree.root, snapshot); /* over no time */
        ck_case(c->name, !tasks->known, "known after one reading");
        snapshot->interval_usec = 1000000;
        memcpy(snapshot->busy, c->busy, sizeof(c->busy));
        if (c->after)
                tree_put(&tree, "proc/schedstat", c->after);
        task_time_read(tasks, tree.root, snapshot);
        ck_case(c->name, tasks->known == !c->unknown, "known: %d", tasks->known);
        for (int cpu = 0; cpu < 2; cpu++)
                ck_case(c->name, fabs((double)tasks->share[cpu] - c->shares[cpu]) < 1e-6,
                        "CPU %d: %g", cpu, (double)tasks->share[cpu]);
        ck_case(c->name, fabs(tasks->cpus - c->shares[0] - c->shares[1]) < 1e-6, "sum %g",
                tasks->cpus);
        ck_case(c->name, fabs(tasks->switches_per_sec - c->switches) < 1e-6, "%g switches",
                tasks->switches_per_sec);
}

UNIT("task-time")
