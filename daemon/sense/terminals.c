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
 * The time of the last input is the terminal's access time. The kernel sets it when input begins a
 * new span of 8 s, so the input may be that much later. When the clock is set back, access times
 * lie in the future until the next input.
 */
#include "sense/terminals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"

#define DEV        "dev"
#define DEV_HOST   "dev/host"
#define PTS        "pts"
#define CONSOLES   "sys/class/tty/console/active" /* of the kernel: "tty0 ttyS0" */
#define GRAIN_USEC (8 * G_USEC_PER_SEC)

struct Terminals {
        int root, dev; /* directories; the first is the caller's */
        int inotify;
        int pts;           /* watch of the directory of pseudo-terminals; -1: there is none */
        GHashTable *names; /* watch -> "pts/0" */
        int error;         /* why a terminal is not watched; 0: all are */
};

static int watch(const Terminals *terminals, const char *name, uint32_t mask)
{
        _fd_ int fd = openat(terminals->dev, name, O_PATH | O_CLOEXEC);
        char path[64];
        int wd;

        if (fd < 0)
                return -errno;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        wd = inotify_add_watch(terminals->inotify, path, mask);
        return wd < 0 ? -errno : wd;
}

static void watch_terminal(Terminals *terminals, const char *name)
{
        int wd = watch(terminals, name, IN_ACCESS);

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

static void watch_pts(Terminals *terminals, const char *entry)
{
        g_autofree char *name = g_strconcat(PTS "/", entry, NULL);
        int number;

        if (int_parse(entry, &number) >= 0)
                watch_terminal(terminals, name);
}

/* Virtual consoles are watched already; tty0 is the one that is shown. */
static void watch_consoles(Terminals *terminals)
{
        g_autofree char *text = NULL;
        g_auto(GStrv) names = NULL;

        if (file_read(terminals->root, CONSOLES, &text) < 0)
                return;
        names = g_strsplit_set(text, " \n", -1);
        for (char **name = names; *name; name++)
                if (**name && !strchr(*name, '/') && !is_virtual(*name))
                        watch_terminal(terminals, *name);
}

static void watch_all(Terminals *terminals)
{
        _dir_ DIR *pts = NULL;
        _dir_ DIR *dev = NULL;
        struct dirent *entry;

        terminals->error = 0;
        terminals->pts = watch(terminals, PTS, IN_CREATE | IN_ONLYDIR);
        if (terminals->pts < 0 && terminals->pts != -ENOENT)
                terminals->error = terminals->pts;
        pts = dir_open(terminals->dev, PTS);
        while (pts && (entry = readdir(pts)))
                watch_pts(terminals, entry->d_name);
        dev = dir_open(terminals->dev, ".");
        while (dev && (entry = readdir(dev)))
                if (is_virtual(entry->d_name) && !g_str_equal(entry->d_name, "tty0"))
                        watch_terminal(terminals, entry->d_name);
        watch_consoles(terminals);
}

int terminals_new(int root, Terminals **ret_terminals)
{
        g_autoptr(Terminals) terminals = g_new0(Terminals, 1);

        terminals->root = root;
        terminals->inotify = -1;
        terminals->names = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        terminals->dev = openat(root, DEV_HOST, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (terminals->dev < 0)
                terminals->dev = openat(root, DEV, O_PATH | O_DIRECTORY | O_CLOEXEC);
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
                watch_pts(terminals, event->name);
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

uint64_t terminals_last_input(const Terminals *terminals, uint64_t now)
{
        GHashTableIter iter;
        uint64_t last = 0;
        gpointer name;

        g_hash_table_iter_init(&iter, terminals->names);
        while (g_hash_table_iter_next(&iter, NULL, &name)) {
                struct stat st;
                uint64_t read;

                if (fstatat(terminals->dev, name, &st, 0) < 0)
                        continue;
                read = (uint64_t)st.st_atim.tv_sec * G_USEC_PER_SEC +
                       (uint64_t)st.st_atim.tv_nsec / 1000;
                if (read <= now)
                        last = MAX(last, read);
        }
        return last ? last + GRAIN_USEC : 0;
}
