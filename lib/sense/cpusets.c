/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cpusets of cgroup v2, read and watched.
 *
 * A list of CPUs that are all parked has no effect: the kernel gives the cgroup the CPUs of its
 * parent, and nothing in /proc shows that. Only the list itself has the requested CPUs, so lists
 * are read as they were written.
 *
 * inotify reports cgroups that are created and files in them that are written. Each directory is
 * watched, because files of a controller that is enabled later appear without an event. The list of
 * a new directory is read once, because it may have been written before the watch existed. The end
 * of a cgroup matters if it had a list.
 *
 * A new cgroup that is not a unit's was made by a container engine or a batch system, and a program
 * is about to start in it. Only those of root count: any user can make cgroups below a delegated
 * one.
 *
 * The kubelet replaces its state when it gives CPUs to a container alone, and takes them back some
 * seconds after the end of its cgroup.
 */
#include "sense/cpusets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "sense/kubelet.h"

#define UNIFIED "sys/fs/cgroup"
#define LIST    "cpuset.cpus"
#define TYPE    "cpuset.cpus.partition"
#define EVENTS  (IN_CREATE | IN_DELETE | IN_MODIFY | IN_ONLYDIR)

/* Deeper cgroups are ignored. */
#define DEPTH_MAX 32

struct CpusetWatch {
        int root, top; /* the directory of the hierarchy */
        int inotify;
        int kubelet;       /* the watch of its directory; below zero: there is none */
        GHashTable *paths; /* watch -> path below the top, "" for the top itself */
        GHashTable *named; /* paths of cgroups that have, or had, a list */
        int error;         /* why a cgroup is not watched; 0: all are */
};

/* The list of the cgroup; empty if it has none. */
static CpuSet read_list(int top, const char *path)
{
        g_autofree char *file = g_strconcat(*path ? path + 1 : "", *path ? "/" LIST : LIST, NULL);
        g_autofree char *text = NULL;
        CpuSet cpus = { 0 };

        if (file_read(top, file, &text) >= 0)
                cpuset_parse(text, &cpus);
        return cpus;
}

/* Calls `visit` for the cgroup and all below it. */
static void walk(int top, const char *path, int depth,
                 void (*visit)(int top, const char *path, void *userdata), void *userdata)
{
        _dir_ DIR *dir = dir_open(top, *path ? path + 1 : ".");
        struct dirent *entry;

        if (!dir)
                return;
        visit(top, path, userdata);
        while (depth < DEPTH_MAX && (entry = readdir(dir))) {
                g_autofree char *child = NULL;

                if (entry->d_type != DT_DIR || *entry->d_name == '.')
                        continue;
                child = g_strconcat(path, "/", entry->d_name, NULL);
                walk(top, child, depth + 1, visit, userdata);
        }
}

typedef struct Lists {
        const Topology *topology;
        const char *const *ours;
        Affinities *affinities;
} Lists;

static void note_list(int top, const char *path, void *userdata)
{
        const Lists *lists = userdata;
        CpuSet cpus = read_list(top, path), usable = topology_usable(lists->topology);
        g_autofree char *text = NULL;

        cpuset_and(&cpus, &lists->topology->online);
        if (cpuset_is_empty(&cpus) || cpuset_is_subset(&usable, &cpus) ||
            g_strv_contains(lists->ours, path))
                return;
        text = cpuset_format(&cpus);
        affinities_add(lists->affinities, &cpus,
                       g_strdup_printf("cgroup %s (" LIST "=%s)", path, text));
}

static int open_top(int root)
{
        int top = openat(root, UNIFIED, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (top < 0)
                return -errno;
        if (faccessat(top, "cgroup.controllers", F_OK, 0) == 0)
                return top;
        close(top);
        return -ENOENT;
}

int cpusets_read(int root, const Topology *topology, const char *const *ours,
                 Affinities *affinities)
{
        Lists lists = { topology, ours, affinities };
        _fd_ int top = open_top(root);

        if (top >= 0)
                walk(top, "", 0, note_list, &lists);
        return kubelet_read(root, topology, affinities);
}

bool cpusets_permit(int root, const char *const *ours, const char *path, const CpuSet *cpus)
{
        g_autofree char *group = g_strdup(path);
        _fd_ int top = open_top(root);
        char *end;

        while (top >= 0 && (end = strrchr(group, '/'))) {
                CpuSet list = read_list(top, group);

                if (!cpuset_is_empty(&list) && !cpuset_intersects(&list, cpus) &&
                    !g_strv_contains(ours, group))
                        return false;
                *end = '\0';
        }
        return true;
}

static void add_watch(int top, const char *path, void *userdata)
{
        CpusetWatch *watch = userdata;
        int wd = inotify_watch(watch->inotify, top, *path ? path + 1 : ".", EVENTS);
        CpuSet cpus;

        if (wd == -ENOENT)
                return;
        if (wd < 0)
                watch->error = wd;
        else
                g_hash_table_replace(watch->paths, GINT_TO_POINTER(wd), g_strdup(path));
        cpus = read_list(top, path);
        if (!cpuset_is_empty(&cpus))
                g_hash_table_add(watch->named, g_strdup(path));
}

/* Not once only: the kubelet may be installed later. */
static void watch_kubelet(CpusetWatch *watch)
{
        watch->kubelet = inotify_watch(watch->inotify, watch->root, KUBELET_DIR,
                                       EVENTS | IN_MOVED_TO);
}

int cpuset_watch_new(int root, CpusetWatch **ret_watch)
{
        g_autoptr(CpusetWatch) watch = g_new0(CpusetWatch, 1);

        watch->inotify = -1;
        watch->root = root;
        watch->paths = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        watch->named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        watch->top = open_top(root);
        if (watch->top < 0)
                return watch->top;
        watch->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (watch->inotify < 0)
                return -errno;
        walk(watch->top, "", 0, add_watch, watch);
        watch_kubelet(watch);
        *ret_watch = g_steal_pointer(&watch);
        return 0;
}

void cpuset_watch_free(CpusetWatch *watch)
{
        if (!watch)
                return;
        g_hash_table_unref(watch->paths);
        g_hash_table_unref(watch->named);
        if (watch->inotify >= 0)
                close(watch->inotify);
        if (watch->top >= 0)
                close(watch->top);
        g_free(watch);
}

int cpuset_watch_fd(const CpusetWatch *watch)
{
        return watch->inotify;
}

int cpuset_watch_error(const CpusetWatch *watch)
{
        return watch->error;
}

void cpuset_watch_retry(CpusetWatch *watch)
{
        watch_kubelet(watch);
        if (watch->error == 0)
                return;
        watch->error = 0;
        walk(watch->top, "", 0, add_watch, watch);
}

/* A cgroup was made, and others in it perhaps. True if one has a list already. */
static bool take_new(CpusetWatch *watch, const char *path)
{
        guint before = g_hash_table_size(watch->named);

        walk(watch->top, path, 0, add_watch, watch);
        return g_hash_table_size(watch->named) > before;
}

/* A file of the cgroup was written. True if it is the list, or makes a partition of it. */
static bool take_written(CpusetWatch *watch, const char *path, const char *name)
{
        if (!g_str_equal(name, LIST))
                return g_str_equal(name, TYPE);
        g_hash_table_add(watch->named, g_strdup(path));
        return true;
}

/* systemd also makes groups within units, such as ".control". */
static bool is_of_systemd(const char *name)
{
        static const char *const suffixes[] = { ".service", ".scope", ".slice",
                                                ".socket",  ".mount", ".swap" };

        for (size_t i = 0; i < G_N_ELEMENTS(suffixes); i++)
                if (g_str_has_suffix(name, suffixes[i]))
                        return true;
        return *name == '.';
}

static bool is_made_for_programs(const CpusetWatch *watch, const char *path)
{
        struct stat st;

        return !is_of_systemd(strrchr(path, '/') + 1) &&
               fstatat(watch->top, path + 1, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               st.st_uid == geteuid();
}

static bool take(CpusetWatch *watch, const struct inotify_event *event, CpusetMade made,
                 void *userdata)
{
        const char *path = g_hash_table_lookup(watch->paths, GINT_TO_POINTER(event->wd));
        g_autofree char *child = NULL;

        if (event->mask & IN_Q_OVERFLOW) {
                walk(watch->top, "", 0, add_watch, watch);
                return true;
        }
        if (event->mask & IN_IGNORED) {
                g_hash_table_remove(watch->paths, GINT_TO_POINTER(event->wd));
                return false;
        }
        if (event->len && event->wd == watch->kubelet)
                return g_str_equal(event->name, KUBELET_STATE);
        if (!path || event->len == 0)
                return false;
        if (!(event->mask & IN_ISDIR))
                return event->mask & IN_MODIFY && take_written(watch, path, event->name);
        child = g_strconcat(path, "/", event->name, NULL);
        if (made && event->mask & IN_CREATE && is_made_for_programs(watch, child))
                made(child, userdata);
        return event->mask & IN_CREATE ? take_new(watch, child)
                                       : g_hash_table_remove(watch->named, child);
}

bool cpuset_watch_read(CpusetWatch *watch, CpusetMade made, void *userdata)
{
        char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
        bool changed = false;
        ssize_t n;

        while ((n = read(watch->inotify, buffer, sizeof(buffer))) > 0)
                for (char *at = buffer; at < buffer + n;) {
                        const struct inotify_event *event = (const void *)at;

                        changed |= take(watch, event, made, userdata);
                        at += sizeof(*event) + event->len;
                }
        return changed;
}
