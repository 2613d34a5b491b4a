/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Knobs that idled does not change any more, and that the record of an earlier version may have.
 * They are only restored. Remove this file and its test one release after 0.1.
 *
 * "timerslack TID:START" is the timer slack of a thread in nanoseconds. START is the time that the
 * thread started at, in clock ticks since boot, as its number may be another's later. Threads that
 * were made by these later, and inherited their slack, are not on record and keep it. The daemon
 * may not restore it: idled --probe does, before each start.
 *
 * "irqbalance SOCKET" is what irqbalance keeps interrupts off: a list of CPUs, or "none". SOCKET is
 * "irqbalance812.sock" in /run/irqbalance, and 812 is the PID. One with "@" before it is in the
 * abstract name space, which idled.service cannot reach. The command "settings cpus" has no answer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "act/actuator.h"
#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/number.h"

/* Where its slack is. -ENOENT: the thread ended, or another one has its number. */
static int find_thread(const ActContext *context, const char *name, char **ret_path)
{
        g_autofree char *stat = NULL, *about = NULL;
        uint64_t start, now;
        const char *field;
        int tid, end = 0, r;

        if (sscanf(name, "%d:%" G_GUINT64_FORMAT "%n", &tid, &start, &end) != 2 || name[end])
                return -EINVAL;
        stat = g_strdup_printf("proc/%d/stat", tid);
        r = file_read(context->root, stat, &about);
        if (r < 0)
                return r;
        field = strrchr(about, ')');
        for (int i = 2; field && i < 22; i++)
                field = strchr(field + 1, ' ');
        if (!field || sscanf(field, "%" G_GUINT64_FORMAT, &now) != 1 || now != start)
                return -ENOENT;
        *ret_path = g_strdup_printf("proc/%d/timerslack_ns", tid);
        return 0;
}

static int slack_read(const ActContext *context, const char *name, char **ret_value)
{
        g_autofree char *path = NULL;
        int r = find_thread(context, name, &path);

        return r < 0 ? r : file_read(context->root, path, ret_value);
}

static int slack_write(const ActContext *context, const char *name, const char *value)
{
        g_autofree char *path = NULL;
        uint64_t number;
        int r = find_thread(context, name, &path);

        if (r < 0)
                return r;
        return u64_parse(value, &number) < 0 ? -EINVAL : file_write(context->root, path, value);
}

static const char *slack_obstacle(const ActContext *context, const char *name, int error)
{
        return error == -EPERM ? "stop idled and run \"idled --restore\" as root: idled.service "
                                 "has no CAP_SYS_NICE any more"
                               : NULL;
}

static const KnobKind slack_kind = {
        .name = "timerslack",
        .read = slack_read,
        .write = slack_write,
        .obstacle = slack_obstacle,
};

/* The value is not read: irqbalance shows it only after its next scan of interrupts. */
static int balancer_read(const ActContext *context, const char *name, char **ret_value)
{
        g_autofree char *path = NULL;
        int pid, end = 0, r;

        name += *name == '@';
        if (sscanf(name, "irqbalance%d.sock%n", &pid, &end) != 1 || !end || name[end])
                return -EINVAL;
        path = g_strdup_printf("proc/%d/comm", pid);
        r = file_has_word(context->root, path, "irqbalance");
        if (r <= 0)
                return r == 0 || r == -ESRCH ? -ENOENT : r;
        *ret_value = g_strdup("");
        return 0;
}

static int balancer_write(const ActContext *context, const char *name, const char *value)
{
        bool none = g_str_equal(value, "none");
        g_autofree char *command = g_strconcat("settings cpus ", none ? "NULL" : value, NULL);
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _fd_ int fd = -1;
        CpuSet cpus;

        if (!none && (cpuset_parse(value, &cpus) < 0 || cpuset_is_empty(&cpus)))
                return -EINVAL;
        if (*name == '@')
                return -EOPNOTSUPP;
        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/run/irqbalance/%s",
                 context->root, name);
        /* irqbalance may ask for the credentials of the sender too late to get them otherwise. */
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int)) < 0 ||
            connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
            send(fd, command, strlen(command), MSG_NOSIGNAL) < 0)
                return errno == ENOENT ? -ECONNREFUSED : -errno; /* it runs, without a socket */
        return 0;
}

/* It will have the value after its next scan. */
static bool balancer_held(const ActContext *context, const char *name, const char *wanted,
                          const char *now)
{
        return true;
}

static const char *balancer_obstacle(const ActContext *context, const char *name, int error)
{
        return error == -EINVAL ? NULL
                                : "run \"systemctl restart irqbalance\", which ends what idled "
                                  "set there";
}

static const KnobKind balancer_kind = {
        .name = "irqbalance",
        .read = balancer_read,
        .write = balancer_write,
        .held = balancer_held,
        .obstacle = balancer_obstacle,
        .blind = true,
};

const KnobKind *const kinds_for_one_release[] = { &slack_kind, &balancer_kind, NULL };
