/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Children of a process that a rule begins to mean, and all processes at once: at the start, and
 * after events were lost.
 *
 * A process may have children by then: their forks were not heard of, or were nobody's business.
 * They are looked at, and theirs if they are followed, one after the other: how deep a family is,
 * and so how deep a recursion would be, others choose.
 *
 * What a process inherited from who started it is found by its parent, as far as that is still
 * there: first all are looked at for themselves, then children of those that are followed are,
 * until there is none more.
 */
#include "base/file.h"
#include "base/number.h"
#include "core/apps-parts.h"

void apps_look(Apps *apps, pid_t pid)
{
        g_autoptr(GArray) parents = NULL;
        g_autoptr(GArray) children = NULL;

        if (!apps_look_at(apps, pid))
                return;
        parents = g_array_new(FALSE, FALSE, sizeof(pid_t));
        children = g_array_new(FALSE, FALSE, sizeof(pid_t));
        g_array_append_val(parents, pid);
        for (guint i = 0; i < parents->len; i++) {
                pid_t parent = g_array_index(parents, pid_t, i);

                g_array_set_size(children, 0);
                process_children_read(apps->proc, parent, children);
                for (guint j = 0; j < children->len; j++) {
                        pid_t child = g_array_index(children, pid_t, j);

                        apps_inherit(apps, parent, child);
                        apps_look_at(apps, child);
                        if (g_hash_table_contains(apps->followed, GINT_TO_POINTER(child)))
                                g_array_append_val(parents, child);
                }
        }
}

typedef struct Process {
        pid_t pid, parent;
} Process;

static void look_for_parents(Apps *apps, GArray *processes)
{
        guint before;

        for (guint i = 0; i < processes->len; i++) {
                Process *process = &g_array_index(processes, Process, i);

                process_facts_init(apps->facts, process->pid);
                if (process_facts_read(apps->proc, PROCESS_FACT_STATUS, apps->facts) >= 0)
                        process->parent = apps->facts->parent;
        }
        do {
                before = g_hash_table_size(apps->followed);
                for (guint i = 0; i < processes->len; i++) {
                        const Process *process = &g_array_index(processes, Process, i);

                        if (process->parent > 0)
                                apps_inherit(apps, process->parent, process->pid);
                }
        } while (g_hash_table_size(apps->followed) > before);
}

void apps_scan(Apps *apps)
{
        g_autoptr(GArray) processes = g_array_new(FALSE, TRUE, sizeof(Process));
        _dir_ DIR *dir = dir_open(apps->proc, ".");
        struct dirent *entry;
        uint64_t pid;

        apps->scanned_usec = (uint64_t)g_get_monotonic_time();
        apps->full = false;
        while (dir && (entry = readdir(dir)))
                if (u64_parse(entry->d_name, &pid) >= 0 && pid > 0 && pid <= INT32_MAX) {
                        Process process = { .pid = (pid_t)pid };

                        apps_look(apps, process.pid);
                        g_array_append_val(processes, process);
                }
        if (apps->any_children)
                look_for_parents(apps, processes);
}
