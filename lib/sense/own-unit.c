/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finding the unit that a process has for itself.
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
#include "base/number.h"
#include "sense/process-facts.h"

#define UNIFIED "sys/fs/cgroup"

/* A unit that needs more reads of processes and groups, or is deeper, is not searched. */
#define READS_MAX 1024
#define DEPTH_MAX 8

typedef struct Search {
        int root, proc;
        GHashTable *descend; /* processes that are known to */
        unsigned reads;
        bool any;  /* a process was found */
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

/* True if all processes of the cgroup at `path`, without those of groups below, descend. */
static bool all_descend(Search *search, const char *path)
{
        g_autofree char *file = g_strconcat(path, "/cgroup.procs", NULL), *text = NULL;
        g_auto(GStrv) lines = NULL;
        int r;

        if (++search->reads > READS_MAX)
                return false;
        r = file_read(search->root, file, &text);
        if (r < 0)
                return fails(search, r);
        lines = g_strsplit(g_strchomp(text), "\n", -1);
        for (char **line = lines; *line && **line; line++) {
                int pid;

                search->any = true;
                if (int_parse(*line, &pid) < 0 || !descends(search, pid))
                        return false;
        }
        return true;
}

static bool is_own(Search *search, const char *path, int depth)
{
        _dir_ DIR *dir = dir_open(search->root, path);
        struct dirent *entry;

        if (!dir)
                return fails(search, -errno);
        if (depth > DEPTH_MAX || !all_descend(search, path))
                return false;
        while ((entry = readdir(dir))) {
                g_autofree char *below = g_build_filename(path, entry->d_name, NULL);

                if (entry->d_type == DT_DIR && *entry->d_name != '.' &&
                    !is_own(search, below, depth + 1))
                        return false;
        }
        return true;
}

int own_unit_read(int root, pid_t pid, char **ret_unit)
{
        _fd_ int proc = openat(root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        g_autoptr(GHashTable) descend = g_hash_table_new(NULL, NULL);
        Search search = { root, proc, descend, 0, false, 0 };
        g_autofree char *unit = NULL, *path = NULL;
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
        path = g_strconcat(UNIFIED, unit, NULL);
        g_hash_table_add(descend, GINT_TO_POINTER(pid));
        if (is_own(&search, path, 0) && search.any)
                *ret_unit = g_steal_pointer(&unit);
        return search.error;
}
