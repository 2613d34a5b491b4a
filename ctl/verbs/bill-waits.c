/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waiting as the kernel counts it for each task, added up for units.
 */
#include "bill-waits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/cgroup-unit.h"
#include "sense/process-facts.h"

/* A thread. Its unit's texts are shared. */
typedef struct Task {
        const UnitWaits *of; /* unit, cgroup and process */
        uint64_t wait_ns, slices;
} Task;

struct WaitsReader {
        int proc;
        GHashTable *units; /* "CGROUP\nPROCESS": UnitWaits */
        GHashTable *tasks; /* by TID: Task */
};

static void unit_free(gpointer data)
{
        UnitWaits *unit = data;

        g_free(unit->unit);
        g_free(unit->cgroup);
        g_free(unit->process);
        g_free(unit);
}

/* The row with these texts, a new one if there is none. */
static UnitWaits *row_of(GHashTable *rows, const char *cgroup, const char *process)
{
        g_autofree char *key = g_strjoin("\n", cgroup, process, NULL);
        UnitWaits *row = g_hash_table_lookup(rows, key);

        if (row)
                return row;
        row = g_new0(UnitWaits, 1);
        row->unit = cgroup_unit_name(cgroup);
        row->cgroup = g_strdup(cgroup);
        row->process = g_strdup(process);
        g_hash_table_insert(rows, g_steal_pointer(&key), row);
        return row;
}

/* The unit and the executable of a process; NULL if it is gone. */
static const UnitWaits *unit_of(const WaitsReader *reader, int pid)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        g_autofree char *cgroup = NULL, *process = NULL;

        process_facts_init(facts, pid);
        if (process_facts_read(reader->proc, PROCESS_FACT_CGROUPS, facts) < 0)
                return NULL;
        if (process_facts_read(reader->proc, PROCESS_FACT_EXECUTABLE, facts) >= 0) {
                process = g_path_get_basename(facts->executable);
                if (g_str_has_suffix(process, " (deleted)"))
                        process[strlen(process) - strlen(" (deleted)")] = '\0';
        } else if (process_facts_read(reader->proc, PROCESS_FACT_COMM, facts) >= 0) {
                process = g_strdup(facts->comm);
        }
        cgroup = cgroup_unit_path(*facts->unit_cgroup ? facts->unit_cgroup : "/");
        return row_of(reader->units, cgroup, process ? process : "?");
}

/* The next entry that is a number; 0 at the end. */
static int next_number(DIR *dir)
{
        const struct dirent *entry;

        while ((entry = readdir(dir)))
                if (g_ascii_isdigit(entry->d_name[0]))
                        return atoi(entry->d_name);
        return 0;
}

static void read_process(const WaitsReader *reader, int pid, GHashTable *tasks)
{
        const UnitWaits *unit = unit_of(reader, pid);
        char path[64], text[96];
        _dir_ DIR *threads = NULL;
        int tid;

        snprintf(path, sizeof(path), "%d/task", pid);
        threads = unit ? dir_open(reader->proc, path) : NULL;
        while (threads && (tid = next_number(threads)) > 0) {
                Task task = { .of = unit };

                snprintf(path, sizeof(path), "%d/task/%d/schedstat", pid, tid);
                if (file_read_value(reader->proc, path, text, sizeof(text)) >= 0 &&
                    sscanf(text, "%*u %" SCNu64 " %" SCNu64, &task.wait_ns, &task.slices) == 2)
                        g_hash_table_insert(tasks, GINT_TO_POINTER(tid),
                                            g_memdup2(&task, sizeof(task)));
        }
}

static GHashTable *read_tasks(const WaitsReader *reader)
{
        GHashTable *tasks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        _dir_ DIR *processes = dir_open(reader->proc, ".");
        int pid;

        while (processes && (pid = next_number(processes)) > 0)
                read_process(reader, pid, tasks);
        return tasks;
}

WaitsReader *waits_begin(int root)
{
        WaitsReader *reader = g_new0(WaitsReader, 1);

        reader->proc = openat(root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        reader->units = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, unit_free);
        reader->tasks = read_tasks(reader);
        return reader;
}

const char **waits_units(const WaitsReader *reader)
{
        GPtrArray *names = g_ptr_array_new();
        GHashTableIter iter;
        gpointer unit;

        g_hash_table_iter_init(&iter, reader->units);
        while (g_hash_table_iter_next(&iter, NULL, &unit)) {
                g_ptr_array_add(names, ((UnitWaits *)unit)->unit);
                g_ptr_array_add(names, ((UnitWaits *)unit)->cgroup);
        }
        g_ptr_array_add(names, NULL);
        return (const char **)g_ptr_array_free(names, FALSE);
}

GPtrArray *waits_end(WaitsReader *reader, bool by_process)
{
        g_autoptr(GHashTable) now = read_tasks(reader);
        g_autoptr(GHashTable) rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        GPtrArray *units = g_ptr_array_new_with_free_func(unit_free);
        GHashTableIter iter;
        gpointer tid, value;

        g_hash_table_iter_init(&iter, now);
        while (g_hash_table_iter_next(&iter, &tid, &value)) {
                const Task *task = value, *old = g_hash_table_lookup(reader->tasks, tid);
                bool same = old && old->slices <= task->slices && old->wait_ns <= task->wait_ns;
                UnitWaits *row;

                if (task->slices == (same ? old->slices : 0))
                        continue;
                row = row_of(rows, task->of->cgroup, by_process ? task->of->process : NULL);
                if (!row->slices)
                        g_ptr_array_add(units, row);
                row->wait_ns += task->wait_ns - (same ? old->wait_ns : 0);
                row->slices += task->slices - (same ? old->slices : 0);
        }
        return units;
}

void waits_free(WaitsReader *reader)
{
        fd_close(&reader->proc);
        g_hash_table_unref(reader->tasks);
        g_hash_table_unref(reader->units);
        g_free(reader);
}
