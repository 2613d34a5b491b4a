/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finding the unit that a process has for itself, and the processes of a unit.
 *
 * What is set for a unit affects all processes in it, so one that asks for its own unit must not
 * share it: a login session, a service that runs jobs of several users, a user's service manager.
 * All processes of the unit are compared, and the cgroups below it are searched, too.
 */
#include "sense/own-unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "sense/process-facts.h"
#include "sense/scan.h"

#define UNIFIED "sys/fs/cgroup"

/* A unit that has more processes and groups is not searched to its end. */
#define READS_MAX 1024

typedef struct Search {
        int root, proc;
        GHashTable *descend; /* processes that are known to */
        unsigned reads;
        int error; /* a lack of descriptors; 0: none */
} Search;

/* False. A read failed: that idled or the system lacks descriptors says nothing about the unit. */
static bool fails(Search *search, int r)
{
        if (r == -EMFILE || r == -ENFILE)
                search->error = r;
        return false;
}

/* The path up to the first group that is no slice; NULL: there is none, or it is no unit that can
 * have processes of one kind. */
static char *unit_of(const char *cgroup)
{
        const char *name = cgroup, *end;
        g_autofree char *unit = NULL;

        do {
                if (*name != '/')
                        return NULL;
                end = name + 1 + strcspn(name + 1, "/");
                g_free(unit);
                unit = g_strndup(cgroup, (size_t)(end - cgroup));
                name = end;
        } while (g_str_has_suffix(unit, ".slice"));
        if (g_str_has_prefix(strrchr(unit, '/'), "/user@"))
                return NULL;
        return g_str_has_suffix(unit, ".service") || g_str_has_suffix(unit, ".scope")
                       ? g_steal_pointer(&unit)
                       : NULL;
}

static bool descends(Search *search, pid_t pid)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        g_autoptr(GHashTable) line = g_hash_table_new(NULL, NULL);
        GHashTableIter iter;
        gpointer known;
        int r;

        while (!g_hash_table_contains(search->descend, GINT_TO_POINTER(pid))) {
                process_facts_init(facts, pid);
                if (pid <= 1 || ++search->reads > READS_MAX)
                        return false;
                r = process_facts_read(search->proc, PROCESS_FACT_STATUS, facts);
                if (r < 0)
                        return fails(search, r);
                g_hash_table_add(line, GINT_TO_POINTER(pid));
                pid = facts->parent;
        }
        g_hash_table_iter_init(&iter, line);
        while (g_hash_table_iter_next(&iter, &known, NULL))
                g_hash_table_add(search->descend, known);
        return true;
}

int unit_cgroups_open(int root)
{
        static const char *const paths[] = { "sys/fs/cgroup", "sys/fs/cgroup/unified",
                                             "sys/fs/cgroup/systemd" };

        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
                int fd = openat(root, paths[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

                if (fd >= 0 && faccessat(fd, "cgroup.procs", F_OK, 0) == 0)
                        return fd;
                fd_close(&fd);
        }
        return -1;
}

/* Appends the processes of one group and the paths of the groups in it. */
static int read_group(int cgroups, const char *path, GArray *pids, GPtrArray *paths)
{
        g_autofree char *file = g_strconcat(path, "/cgroup.procs", NULL), *text = NULL;
        _dir_ DIR *dir = dir_open(cgroups, path);
        int r = dir ? file_read(cgroups, file, &text) : -errno;
        struct dirent *entry;
        uint64_t number;

        for (const char *at = text; at && scan_u64(&at, &number); at += *at == '\n') {
                pid_t pid = number <= INT32_MAX ? (pid_t)number : 0;

                g_array_append_val(pids, pid);
        }
        while (dir && paths->len <= READS_MAX && (entry = readdir(dir)))
                if (entry->d_type == DT_DIR && *entry->d_name != '.')
                        g_ptr_array_add(paths, g_build_filename(path, entry->d_name, NULL));
        return r;
}

int unit_processes_read(int cgroups, const char *unit, GArray *pids)
{
        g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
        int error = 0;

        g_ptr_array_add(paths, g_strdup(unit[1] ? unit + 1 : "."));
        for (guint i = 0; i < paths->len; i++) {
                int r = read_group(cgroups, paths->pdata[i], pids, paths);

                if (paths->len + pids->len > READS_MAX)
                        return -E2BIG;
                if (r == -EMFILE || r == -ENFILE || error == 0)
                        error = r;
        }
        return error;
}

/* True if all processes of the unit descend. */
static bool is_own(Search *search, const char *unit)
{
        _fd_ int cgroups = openat(search->root, UNIFIED, O_PATH | O_DIRECTORY | O_CLOEXEC);
        g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
        int r = cgroups < 0 ? -errno : unit_processes_read(cgroups, unit, pids);

        if (r < 0)
                return fails(search, r);
        for (guint i = 0; i < pids->len; i++)
                if (!descends(search, g_array_index(pids, pid_t, i)))
                        return false;
        return pids->len > 0;
}

int own_unit_read(int root, pid_t pid, char **ret_unit)
{
        _fd_ int proc = openat(root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        g_autoptr(GHashTable) descend = g_hash_table_new(NULL, NULL);
        Search search = { root, proc, descend, 0, 0 };
        g_autofree char *unit = NULL;
        int r = proc < 0 ? -errno : 0;

        *ret_unit = NULL;
        process_facts_init(facts, pid);
        if (r >= 0)
                r = process_facts_read(proc, PROCESS_FACT_CGROUPS, facts);
        if (r < 0) {
                fails(&search, r);
                return search.error;
        }
        unit = unit_of(facts->unit_cgroup);
        if (!unit)
                return 0;
        g_hash_table_add(descend, GINT_TO_POINTER(pid));
        if (is_own(&search, unit))
                *ret_unit = g_steal_pointer(&unit);
        return search.error;
}
