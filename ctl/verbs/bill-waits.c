/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waiting as the kernel counts it for each task, added up for units.
 */
#include "bill-waits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "model/cgroup-unit.h"
#include "sense/process-facts.h"

/* The next entry that is a number; 0 at the end. */
static int next_number(DIR *dir)
{
        const struct dirent *entry;

        while ((entry = readdir(dir)))
                if (g_ascii_isdigit(entry->d_name[0]))
                        return atoi(entry->d_name);
        return 0;
}

/* The unit and the cgroup of a process. False if it is gone. */
static bool read_unit(int proc, int pid, UnitWaits *unit)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        g_autofree char *cgroup = NULL, *name = NULL;

        process_facts_init(facts, pid);
        if (process_facts_read(proc, PROCESS_FACT_CGROUPS, facts) < 0)
                return false;
        cgroup = cgroup_unit_path(*facts->unit_cgroup ? facts->unit_cgroup : "/");
        name = cgroup_unit_name(cgroup);
        unit->cgroup = g_intern_string(cgroup);
        unit->unit = g_intern_string(name);
        return true;
}

static void read_process(int proc, int pid, GHashTable *tasks)
{
        char path[64], text[96];
        UnitWaits task;
        _dir_ DIR *threads = NULL;
        int tid;

        snprintf(path, sizeof(path), "%d/task", pid);
        threads = read_unit(proc, pid, &task) ? dir_open(proc, path) : NULL;
        while (threads && (tid = next_number(threads)) > 0) {
                snprintf(path, sizeof(path), "%d/task/%d/schedstat", pid, tid);
                if (file_read_value(proc, path, text, sizeof(text)) >= 0 &&
                    sscanf(text, "%*u %" SCNu64 " %" SCNu64, &task.wait_ns, &task.slices) == 2)
                        g_hash_table_insert(tasks, GINT_TO_POINTER(tid),
                                            g_memdup2(&task, sizeof(task)));
        }
}

GHashTable *waits_read(int root)
{
        GHashTable *tasks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        _fd_ int proc = openat(root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        _dir_ DIR *processes = dir_open(proc, ".");
        int pid;

        while (processes && (pid = next_number(processes)) > 0)
                read_process(proc, pid, tasks);
        return tasks;
}

const char **waits_units(GHashTable *tasks)
{
        GPtrArray *names = g_ptr_array_new();
        GHashTableIter iter;
        gpointer task;

        g_hash_table_iter_init(&iter, tasks);
        while (g_hash_table_iter_next(&iter, NULL, &task)) {
                g_ptr_array_add(names, (gpointer)((UnitWaits *)task)->unit);
                g_ptr_array_add(names, (gpointer)((UnitWaits *)task)->cgroup);
        }
        g_ptr_array_add(names, NULL);
        return (const char **)g_ptr_array_free(names, FALSE);
}

/* Adds to the row of the task's unit. */
static void add(GArray *units, const UnitWaits *task, uint64_t wait_ns, uint64_t slices)
{
        UnitWaits row = { task->unit, task->cgroup, wait_ns, slices };

        for (unsigned i = 0; i < units->len; i++) {
                UnitWaits *known = &g_array_index(units, UnitWaits, i);

                if (known->cgroup == task->cgroup) {
                        known->wait_ns += wait_ns;
                        known->slices += slices;
                        return;
                }
        }
        g_array_append_val(units, row);
}

GArray *waits_between(GHashTable *before, GHashTable *after)
{
        GArray *units = g_array_new(FALSE, FALSE, sizeof(UnitWaits));
        GHashTableIter iter;
        gpointer tid, value;

        g_hash_table_iter_init(&iter, after);
        while (g_hash_table_iter_next(&iter, &tid, &value)) {
                const UnitWaits *task = value, *old = g_hash_table_lookup(before, tid);
                UnitWaits none = { 0 };

                if (!old || old->slices > task->slices || old->wait_ns > task->wait_ns)
                        old = &none; /* it is new */
                if (task->slices > old->slices)
                        add(units, task, task->wait_ns - old->wait_ns, task->slices - old->slices);
        }
        return units;
}
