/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Children of a process that a rule begins to match, and all processes: at the start, and after
 * events were lost.
 *
 * A process may have children by then, because their forks were not reported, or did not matter.
 * idled checks them, and the children of those that it follows, one after the other: processes
 * choose how deep a family is, and so how deep a recursion would be.
 *
 * Processes also choose how many they are, and one that overflows the socket makes idled check them
 * all. So except at the start, when nothing waits, idled checks a batch at a time and serves other
 * events in between. The kernel lists processes by number, from that after the last one on. A
 * process that gets a smaller number meanwhile is reported by an event; if events are lost again,
 * idled starts over.
 *
 * A process that inherited a rule from its parent is found by its parent, as far as that is still
 * there: first all are checked for themselves, then as children of their parents, then children of
 * those that are followed are followed, from the top to the bottom. By then a number may belong to
 * another process, so its parent is read once more.
 */
#include "base/file.h"
#include "base/number.h"
#include "apps/apps-parts.h"

void apps_check(Apps *apps, pid_t pid)
{
        g_autoptr(GArray) parents = NULL;
        g_autoptr(GArray) children = NULL;

        if (!apps_check_one(apps, pid))
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
                        apps_check_one(apps, child);
                        if (g_hash_table_contains(apps->followed, GINT_TO_POINTER(child)))
                                g_array_append_val(parents, child);
                }
        }
}

typedef struct Process {
        pid_t pid, parent;
} Process;

struct Scan {
        DIR *dir;      /* NULL: all were seen */
        GArray *list;  /* of Process */
        guint n_asked; /* of these for their parents */
        bool again;    /* once more after this */
};

void scan_free(Scan *scan)
{
        if (!scan)
                return;
        if (scan->dir)
                closedir(scan->dir);
        g_array_unref(scan->list);
        g_free(scan);
}

static pid_t parent_of(Apps *apps, pid_t pid)
{
        process_facts_init(apps->facts, pid);
        return process_facts_read(apps->proc, PROCESS_FACT_STATUS, apps->facts) < 0
                       ? 0
                       : apps->facts->parent;
}

/* Looks at some; the list ends where the directory does. */
static void check_some(Apps *apps, Scan *scan)
{
        struct dirent *entry = NULL;
        uint64_t pid;

        for (int n = 0; scan->dir && n < SCAN_AT_ONCE && (entry = readdir(scan->dir));)
                if (u64_parse(entry->d_name, &pid) >= 0 && pid > 0 && pid <= INT32_MAX) {
                        Process process = { .pid = (pid_t)pid };

                        n++;
                        apps_check(apps, process.pid);
                        g_array_append_val(scan->list, process);
                }
        if (entry)
                return;
        if (scan->dir)
                closedir(scan->dir);
        scan->dir = NULL;
}

static void ask_some(Apps *apps, Scan *scan)
{
        guint end = MIN(scan->n_asked + SCAN_AT_ONCE, scan->list->len);

        for (; scan->n_asked < end; scan->n_asked++) {
                Process *process = &g_array_index(scan->list, Process, scan->n_asked);

                process->parent = parent_of(apps, process->pid);
        }
}

/* The children of each process: pid -> GArray of pid_t. */
static GHashTable *families(const Scan *scan)
{
        GHashTable *children = g_hash_table_new_full(NULL, NULL, NULL,
                                                     (GDestroyNotify)g_array_unref);

        for (guint i = 0; i < scan->list->len; i++) {
                const Process *process = &g_array_index(scan->list, Process, i);
                gpointer key = GINT_TO_POINTER(process->parent);
                GArray *list = g_hash_table_lookup(children, key);

                if (process->parent <= 0)
                        continue;
                if (!list) {
                        list = g_array_new(FALSE, FALSE, sizeof(pid_t));
                        g_hash_table_insert(children, key, list);
                }
                g_array_append_val(list, process->pid);
        }
        return children;
}

static GArray *followed_pids(const Apps *apps)
{
        GArray *pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
        GHashTableIter iter;
        gpointer key;

        g_hash_table_iter_init(&iter, apps->followed);
        while (g_hash_table_iter_next(&iter, &key, NULL)) {
                pid_t pid = GPOINTER_TO_INT(key);

                g_array_append_val(pids, pid);
        }
        return pids;
}

static void inherit_all(Apps *apps, const Scan *scan)
{
        g_autoptr(GHashTable) children = families(scan);
        g_autoptr(GArray) parents = followed_pids(apps);
        g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

        for (guint i = 0; i < parents->len; i++) {
                pid_t parent = g_array_index(parents, pid_t, i);
                const GArray *list = g_hash_table_lookup(children, GINT_TO_POINTER(parent));

                if (!g_hash_table_add(seen, GINT_TO_POINTER(parent)))
                        continue;
                for (guint j = 0; list && j < list->len; j++) {
                        pid_t child = g_array_index(list, pid_t, j);

                        if (parent_of(apps, child) != parent)
                                continue;
                        apps_inherit(apps, parent, child);
                        if (apps_follows_of(apps, child))
                                g_array_append_val(parents, child);
                }
        }
}

/* True if there is more to do. */
static bool go_on(Apps *apps, Scan *scan)
{
        if (scan->dir)
                check_some(apps, scan);
        else if (scan->n_asked < scan->list->len && apps->any_children)
                ask_some(apps, scan);
        if (scan->dir || (apps->any_children && scan->n_asked < scan->list->len))
                return true;
        if (apps->any_children)
                inherit_all(apps, scan);
        return false;
}

static Scan *scan_new(Apps *apps)
{
        Scan *scan = g_new0(Scan, 1);

        apps->scanned_usec = (uint64_t)g_get_monotonic_time();
        apps->full = false;
        scan->dir = dir_open(apps->proc, ".");
        scan->list = g_array_new(FALSE, TRUE, sizeof(Process));
        return scan;
}

void apps_scan(Apps *apps)
{
        Scan *scan = scan_new(apps);

        while (go_on(apps, scan))
                continue;
        scan_free(scan);
}

static int on_scan(sd_event_source *source, void *userdata)
{
        Apps *apps = userdata;
        bool again;

        if (go_on(apps, apps->scan))
                return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        again = apps->scan->again;
        g_clear_pointer(&apps->scan, scan_free);
        if (again)
                apps->calls->rescan(apps);
        return 0;
}

int apps_scan_begin(Apps *apps)
{
        int r = 0;

        if (apps->scan) {
                apps->scan->again = true;
                return 0;
        }
        if (!apps->scanning)
                r = sd_event_add_defer(apps->event, &apps->scanning, on_scan, apps);
        if (r >= 0)
                r = sd_event_source_set_enabled(apps->scanning, SD_EVENT_ONESHOT);
        if (r >= 0)
                apps->scan = scan_new(apps);
        return r;
}
