/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Timer slack of the threads of background units.
 *
 * Units are found by the names of their cgroups, and their threads with them. Each thread has a
 * slack of its own. The number of one that ended may be another's, so that the time it started at
 * is part of a knob's name.
 *
 * A thread inherits the slack of the one that made it, so threads that came while a unit's slack
 * was raised have it, too. They are found when the plan is carried out again, and put on record
 * with what their unit had before; and whenever a thread gets less again, so do those of its cgroup
 * that have just what it had. Therefore threads that had another slack than their unit's first one
 * are left alone, as are those that have more than is requested, and threads of real-time classes,
 * which have none (0) from Linux 6.10 on.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "act/tune/quiet.h"
#include "base/file.h"
#include "base/number.h"

/* cgroup v2, alone or next to v1; systemd's own hierarchy of v1. */
static const char *const hierarchies[] = { "sys/fs/cgroup/unified", "sys/fs/cgroup/systemd",
                                           "sys/fs/cgroup", NULL };

#define DEPTH_MAX 32

static const char *find_hierarchy(int root)
{
        const char *const *path = hierarchies;

        while (*path && faccessat(root, *path, F_OK, 0) < 0)
                path++;
        return *path;
}

/* The start time in clock ticks, field 22; -ENOENT: there is no such thread. */
static int read_start(int root, int tid, uint64_t *ret_start)
{
        g_autofree char *text = NULL;
        char path[32];
        const char *end;

        snprintf(path, sizeof(path), "proc/%d/stat", tid);
        if (file_read(root, path, &text) < 0)
                return -ENOENT;
        end = strrchr(text, ')');
        for (int field = 2; end && field < 22; field++)
                end = strchr(end + 1, ' ');
        return end && sscanf(end, "%" G_GUINT64_FORMAT, ret_start) == 1 ? 0 : -ENOENT;
}

/* The thread of that name; -ENOENT: it ended. */
static int find_thread(const ActContext *context, const char *name, char ret_path[48])
{
        uint64_t start, now;
        int tid, end = 0;

        if (sscanf(name, "%d:%" G_GUINT64_FORMAT "%n", &tid, &start, &end) != 2 || name[end] ||
            read_start(context->root, tid, &now) < 0 || now != start)
                return -ENOENT;
        snprintf(ret_path, 48, "proc/%d/timerslack_ns", tid);
        return 0;
}

/* The kernel's error for a thread that ends meanwhile. */
static int end_as_gone(int r)
{
        return r == -ESRCH ? -ENOENT : r;
}

static int slack_read(const ActContext *context, const char *name, char **ret_value)
{
        char path[48];
        int r = find_thread(context, name, path);

        return r < 0 ? r : end_as_gone(file_read(context->root, path, ret_value));
}

/* The directory of the thread's cgroup, as a new string; NULL: not known. */
static char *group_of(int root, const char *tid)
{
        g_autofree char *path = g_strdup_printf("proc/%s/cgroup", tid), *text = NULL;
        const char *hierarchy = find_hierarchy(root), *group;

        if (!hierarchy || file_read(root, path, &text) < 0)
                return NULL;
        group = strstr(text, ":name=systemd:/") ?: strstr(text, "0::/");
        if (!group)
                return NULL;
        group = strchr(group, '/');
        return g_strdup_printf("%s%.*s", hierarchy, (int)strcspn(group, "\n"), group);
}

/* Calls for each thread of the cgroup. */
static void each_thread(int root, const char *group, void (*call)(void *userdata, int tid),
                        void *userdata)
{
        g_autofree char *file = g_build_filename(group, "cgroup.procs", NULL), *text = NULL;
        g_auto(GStrv) pids = NULL;

        if (file_read(root, file, &text) < 0)
                return;
        pids = g_strsplit(text, "\n", -1);
        for (char **pid = pids; *pid; pid++) {
                g_autofree char *path = g_strdup_printf("proc/%s/task", *pid);
                _dir_ DIR *dir = **pid ? dir_open(root, path) : NULL;
                struct dirent *entry;
                int tid;

                while (dir && (entry = readdir(dir)))
                        if (int_parse(entry->d_name, &tid) == 0)
                                call(userdata, tid);
        }
}

/* Threads that have `from` get `to`. */
typedef struct Spread {
        int root;
        const char *from, *to;
} Spread;

static void spread_to(void *userdata, int tid)
{
        const Spread *spread = userdata;
        g_autofree char *now = NULL;
        char path[48];

        snprintf(path, sizeof(path), "proc/%d/timerslack_ns", tid);
        if (file_read(spread->root, path, &now) == 0 && g_str_equal(now, spread->from))
                file_write(spread->root, path, spread->to);
}

static int slack_write(const ActContext *context, const char *name, const char *value)
{
        g_autofree char *before = NULL, *group = NULL;
        uint64_t from, to;
        char path[48];
        int r = find_thread(context, name, path);

        if (r < 0)
                return r;
        r = end_as_gone(file_read(context->root, path, &before));
        if (r == 0)
                r = end_as_gone(file_write(context->root, path, value));
        if (r == 0 && u64_parse(before, &from) == 0 && u64_parse(value, &to) == 0 && to < from) {
                g_autofree char *tid = g_strndup(name, strcspn(name, ":"));
                Spread spread = { context->root, before, value };

                group = group_of(context->root, tid);
                if (group)
                        each_thread(context->root, group, spread_to, &spread);
        }
        return r;
}

const KnobKind slack_kind = {
        .name = "timerslack",
        .read = slack_read,
        .write = slack_write,
        .identity = quiet_identity,
};

typedef struct Search {
        Knobs *knobs;
        const ActContext *context;
        const GPtrArray *globs;
        uint64_t slack_ns;
        uint64_t found_ns; /* what the first thread of the unit had; 0: not known yet */
        int error;         /* the first */
} Search;

/* What the thread had before idled; 0: leave it alone. */
static uint64_t found_of(const Search *search, const char *name)
{
        bool known = knob_find(search->knobs, &slack_kind, name);
        g_autofree char *text = NULL;
        uint64_t found;

        if (knob_original(search->knobs, &slack_kind, name, &text) < 0 ||
            u64_parse(text, &found) < 0)
                return 0;
        if (!known && found == search->slack_ns && search->found_ns) {
                g_autofree char *value = g_strdup_printf("%" G_GUINT64_FORMAT, search->found_ns);

                /* Inherited. Its own comes first: a value that is right already is not recorded. */
                if (knobs_is_dry_run(search->knobs) ||
                    slack_write(search->context, name, value) < 0)
                        return 0;
                found = search->found_ns;
        }
        return found < search->slack_ns ? found : 0;
}

static void apply_thread(void *userdata, int tid)
{
        Search *search = userdata;
        g_autofree char *name = NULL, *value = NULL;
        uint64_t start, found;
        int r;

        if (read_start(search->context->root, tid, &start) < 0)
                return;
        name = g_strdup_printf("%d:%" G_GUINT64_FORMAT, tid, start);
        found = found_of(search, name);
        if (!found || (search->found_ns && found != search->found_ns))
                return;
        search->found_ns = found;
        value = g_strdup_printf("%" G_GUINT64_FORMAT, search->slack_ns);
        r = knob_set(search->knobs, &slack_kind, name, value);
        if (r < 0 && r != -ESTALE && r != -ENOENT)
                search->error = search->error ?: r;
}

static bool matches(const Search *search, const char *name)
{
        for (guint i = 0; i < search->globs->len; i++)
                if (g_pattern_spec_match_string(search->globs->pdata[i], name))
                        return true;
        return false;
}

/* Looks at the cgroups below `path`; all of them are of the unit if it is `inside` of one. */
static void walk(Search *search, const char *path, bool inside, int depth)
{
        _dir_ DIR *dir = depth < DEPTH_MAX ? dir_open(search->context->root, path) : NULL;
        struct dirent *entry;

        while (dir && (entry = readdir(dir))) {
                g_autofree char *below = NULL;
                bool of_unit;

                if (entry->d_type != DT_DIR || *entry->d_name == '.')
                        continue;
                below = g_build_filename(path, entry->d_name, NULL);
                of_unit = inside || matches(search, entry->d_name);
                if (of_unit && !inside)
                        search->found_ns = 0;
                if (of_unit)
                        each_thread(search->context->root, below, apply_thread, search);
                walk(search, below, of_unit, depth + 1);
        }
}

int slack_apply(Knobs *knobs, const ActContext *context, const char *units, uint64_t slack_ns)
{
        Search search = { .knobs = knobs, .context = context, .slack_ns = slack_ns };
        const char *hierarchy = find_hierarchy(context->root);
        g_autoptr(GPtrArray) globs = NULL;
        g_auto(GStrv) words = NULL;

        if (!units || !slack_ns || !hierarchy)
                return quiet_release(knobs, &slack_kind);
        globs = g_ptr_array_new_with_free_func((GDestroyNotify)g_pattern_spec_free);
        words = g_strsplit(units, " ", -1);
        for (char **word = words; *word; word++)
                g_ptr_array_add(globs, g_pattern_spec_new(*word));
        search.globs = globs;
        walk(&search, hierarchy, false, 0);
        return search.error;
}
