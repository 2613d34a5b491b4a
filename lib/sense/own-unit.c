/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finding the unit that a process has for itself.
 *
 * What is set for a unit affects all processes in it, so one that asks for its own unit must not
 * share it: a login session, a service that runs jobs of several users, a user's service manager.
 * All processes of the unit are compared, and the cgroups below it are searched, too.
 */
#include "sense/own-unit.h"

#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "sense/process-facts.h"

#define UNIFIED "sys/fs/cgroup"

/* A unit with more processes, or more generations of them, is not searched. */
#define PROCESSES_MAX   1024
#define GENERATIONS_MAX 64
#define DEPTH_MAX       8

typedef struct Search {
        int root, proc;
        pid_t pid;
        unsigned n; /* processes seen */
} Search;

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
        return g_str_has_suffix(unit, ".service") || g_str_has_suffix(unit, ".scope")
                       ? g_steal_pointer(&unit)
                       : NULL;
}

static bool descends(const Search *search, pid_t pid)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);

        for (int i = 0; i < GENERATIONS_MAX && pid > 1; i++) {
                if (pid == search->pid)
                        return true;
                process_facts_init(facts, pid);
                if (process_facts_read(search->proc, PROCESS_FACT_STATUS, facts) < 0)
                        return false;
                pid = facts->parent;
        }
        return false;
}

/* True if all processes of the cgroup at `path`, without those of groups below, descend. */
static bool all_descend(Search *search, const char *path)
{
        g_autofree char *file = g_strconcat(path, "/cgroup.procs", NULL), *text = NULL;
        g_auto(GStrv) lines = NULL;

        if (file_read(search->root, file, &text) < 0)
                return false;
        lines = g_strsplit(g_strchomp(text), "\n", -1);
        for (char **line = lines; *line && **line; line++) {
                int pid;

                if (++search->n > PROCESSES_MAX || int_parse(*line, &pid) < 0 ||
                    !descends(search, pid))
                        return false;
        }
        return true;
}

static bool is_own(Search *search, const char *path, int depth)
{
        _dir_ DIR *dir = dir_open(search->root, path);
        struct dirent *entry;

        if (!dir || depth > DEPTH_MAX || !all_descend(search, path))
                return false;
        while ((entry = readdir(dir))) {
                g_autofree char *below = g_build_filename(path, entry->d_name, NULL);

                if (entry->d_type == DT_DIR && *entry->d_name != '.' &&
                    !is_own(search, below, depth + 1))
                        return false;
        }
        return true;
}

char *own_unit_read(int root, pid_t pid)
{
        _fd_ int proc = openat(root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        Search search = { root, proc, pid, 0 };
        g_autofree char *unit = NULL, *path = NULL;

        process_facts_init(facts, pid);
        if (proc < 0 || process_facts_read(proc, PROCESS_FACT_CGROUPS, facts) < 0)
                return NULL;
        unit = unit_of(facts->unit_cgroup);
        if (!unit)
                return NULL;
        path = g_strconcat(UNIFIED, unit, NULL);
        return is_own(&search, path, 0) && search.n > 0 ? g_steal_pointer(&unit) : NULL;
}
