/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Terminals, by inotify: IN_ACCESS means that a program has read from the file. So the first key
 * that a shell reads is an event, and output is none.
 *
 * Each terminal has its own watch: since 2025 kernels report nothing about special files to
 * watchers of their directory. The directory of pseudo-terminals is watched for new ones. The
 * master's end (ptmx) is left out, because a terminal emulator reads output from it. Serial and
 * other lines (ttyS0, hvc0) are watched if they are consoles of the kernel: on others there may be
 * a device that never stops sending.
 *
 * With PrivateDevices=yes systemd gives a service a /dev without consoles. idled.service has the
 * whole one at /dev/host, and DeviceAllow= for consoles: a watch requires permission to read.
 *
 * The descriptor stays open while idled does not listen to it. The kernel merges equal consecutive
 * events, so that hours of typing leave a few in the queue.
 *
 * The time of the last input is the terminal's access time, and needs no watch. The kernel sets it
 * when input begins a new span of 8 s, so the input may be that much later. When the clock is set
 * back, access times lie in the future until the next input. A new terminal has the time at which
 * it was made, which is no input: only an access after the last change of owner or mode counts.
 */
#include "sense/terminals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"

#define DEV        "dev"
#define DEV_HOST   "dev/host"
#define PTS        "pts"
#define CONSOLES   "sys/class/tty/console/active" /* of the kernel: "tty0 ttyS0" */
#define GRAIN_USEC (8 * G_USEC_PER_SEC)

/* Called with "pts/0". */
typedef void (*Visit)(const char *name, void *userdata);

struct Terminals {
        int root, dev; /* directories; the first is the caller's */
        int inotify;
        int pts;           /* watch of the directory of pseudo-terminals; -1: there is none */
        GHashTable *names; /* watch -> "pts/0" */
        int error;         /* why a terminal is not watched; 0: all are */
};

static void watch_terminal(const char *name, void *userdata)
{
        Terminals *terminals = userdata;
        int wd = inotify_watch(terminals->inotify, terminals->dev, name, IN_ACCESS);

        if (wd < 0 && wd != -ENOENT) /* a terminal may have gone */
                terminals->error = wd;
        else if (wd >= 0)
                g_hash_table_replace(terminals->names, GINT_TO_POINTER(wd), g_strdup(name));
}

/* True for tty0, tty1, ... */
static bool is_virtual(const char *name)
{
        int number;

        return g_str_has_prefix(name, "tty") && int_parse(name + strlen("tty"), &number) >= 0;
}

static void visit_pts(const char *entry, Visit visit, void *userdata)
{
        g_autofree char *name = g_strconcat(PTS "/", entry, NULL);
        int number;

        if (int_parse(entry, &number) >= 0)
                visit(name, userdata);
}

/* Those of the kernel that are no virtual ones. */
static void visit_consoles(int root, Visit visit, void *userdata)
{
        g_autofree char *text = NULL;
        g_auto(GStrv) names = NULL;

        if (file_read(root, CONSOLES, &text) < 0)
                return;
        names = g_strsplit_set(text, " \n", -1);
        for (char **name = names; *name; name++)
                if (**name && !strchr(*name, '/') && !is_virtual(*name))
                        visit(*name, userdata);
}

/* tty0 is the virtual console that is shown. */
static void visit_all(int root, int dev, Visit visit, void *userdata)
{
        _dir_ DIR *pts = dir_open(dev, PTS);
        _dir_ DIR *all = dir_open(dev, ".");
        struct dirent *entry;

        while (pts && (entry = readdir(pts)))
                visit_pts(entry->d_name, visit, userdata);
        while (all && (entry = readdir(all)))
                if (is_virtual(entry->d_name) && !g_str_equal(entry->d_name, "tty0"))
                        visit(entry->d_name, userdata);
        visit_consoles(root, visit, userdata);
}

static void watch_all(Terminals *terminals)
{
        terminals->error = 0;
        terminals->pts = inotify_watch(terminals->inotify, terminals->dev, PTS,
                                       IN_CREATE | IN_ONLYDIR);
        if (terminals->pts < 0 && terminals->pts != -ENOENT)
                terminals->error = terminals->pts;
        visit_all(terminals->root, terminals->dev, watch_terminal, terminals);
}

static int open_dev(int root)
{
        int dev = openat(root, DEV_HOST, O_PATH | O_DIRECTORY | O_CLOEXEC);

        return dev < 0 ? openat(root, DEV, O_PATH | O_DIRECTORY | O_CLOEXEC) : dev;
}

int terminals_new(int root, Terminals **ret_terminals)
{
        g_autoptr(Terminals) terminals = g_new0(Terminals, 1);

        terminals->root = root;
        terminals->inotify = -1;
        terminals->names = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        terminals->dev = open_dev(root);
        if (terminals->dev < 0)
                return -errno;
        terminals->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (terminals->inotify < 0)
                return -errno;
        watch_all(terminals);
        *ret_terminals = g_steal_pointer(&terminals);
        return 0;
}

void terminals_free(Terminals *terminals)
{
        if (!terminals)
                return;
        g_hash_table_unref(terminals->names);
        if (terminals->inotify >= 0)
                close(terminals->inotify);
        if (terminals->dev >= 0)
                close(terminals->dev);
        g_free(terminals);
}

int terminals_fd(const Terminals *terminals)
{
        return terminals->inotify;
}

int terminals_error(const Terminals *terminals)
{
        return terminals->error;
}

void terminals_retry(Terminals *terminals)
{
        if (terminals->error < 0)
                watch_all(terminals);
}

/* The terminal that was read from, NULL if the event says something else. */
static const char *take(Terminals *terminals, const struct inotify_event *event)
{
        if (event->mask & IN_Q_OVERFLOW)
                watch_all(terminals);
        if (event->mask & IN_IGNORED)
                g_hash_table_remove(terminals->names, GINT_TO_POINTER(event->wd));
        else if (event->mask & IN_CREATE && event->wd == terminals->pts && event->len > 0)
                visit_pts(event->name, watch_terminal, terminals);
        else if (event->mask & IN_ACCESS)
                return g_hash_table_lookup(terminals->names, GINT_TO_POINTER(event->wd));
        return NULL;
}

char *terminals_read(Terminals *terminals)
{
        char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
        g_autofree char *last = NULL;
        ssize_t n;

        while ((n = read(terminals->inotify, buffer, sizeof(buffer))) > 0)
                for (char *at = buffer; at < buffer + n;) {
                        const struct inotify_event *event = (const void *)at;
                        const char *name = take(terminals, event);

                        if (name) {
                                g_free(last);
                                last = g_strdup(name);
                        }
                        at += sizeof(*event) + event->len;
                }
        return g_steal_pointer(&last);
}

typedef struct Search {
        int dev;
        uint64_t since, now;
        uint64_t last; /* 0: none yet */
        char *name;    /* of that terminal */
} Search;

static void note_access(const char *name, void *userdata)
{
        Search *search = userdata;
        struct stat st;
        uint64_t read;

        if (fstatat(search->dev, name, &st, 0) < 0)
                return;
        read = timespec_nsec(&st.st_atim) / 1000;
        if (read <= timespec_nsec(&st.st_ctim) / 1000 || read < search->since ||
            read > search->now || read <= search->last)
                return;
        search->last = read;
        g_free(search->name);
        search->name = g_strdup(name);
}

uint64_t terminals_last_input(int root, uint64_t since, uint64_t now, char **ret_name)
{
        _fd_ int dev = open_dev(root);
        Search search = { .dev = dev, .since = since, .now = now };

        if (dev >= 0)
                visit_all(root, dev, note_access, &search);
        if (!search.last)
                return 0;
        *ret_name = search.name;
        return search.last + GRAIN_USEC;
}
