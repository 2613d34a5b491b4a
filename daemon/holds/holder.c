/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes by pidfd.
 *
 * A number alone is never trusted. A pidfd is opened first, then everything is read by the number,
 * then the pidfd is checked. If the process still exists, the number was its own all the time.
 *
 * Processes often hold again soon, so some unused ones are kept.
 */
#include "holds/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "sense/affinity.h"

#define RESTING_MAX 16

struct Holders {
        sd_event *event;
        int root;
        GHashTable *alive; /* pid -> Holder, those whose process is there */
        GQueue *resting;   /* of Holder in no use, the last one first */
        void (*ended)(Holder *holder, void *userdata);
        void *userdata;
};

Holders *holders_new(sd_event *event, int root, void (*ended)(Holder *holder, void *userdata),
                     void *userdata)
{
        Holders *holders = g_new0(Holders, 1);

        holders->event = sd_event_ref(event);
        holders->root = root;
        holders->alive = g_hash_table_new(NULL, NULL);
        holders->resting = g_queue_new();
        holders->ended = ended;
        holders->userdata = userdata;
        return holders;
}

static bool is_alive(int pidfd)
{
        return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0 || errno == EPERM;
}

/* The number of the process behind a pidfd, which the kernel writes into its description. */
static int pidfd_number(int pidfd, pid_t *ret_pid)
{
        g_autofree char *text = NULL;
        const char *line;
        char path[64];
        int pid, r;

        snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
        r = file_read(AT_FDCWD, path, &text);
        if (r < 0)
                return r;
        line = strstr(text, "\nPid:\t");
        if (!line || sscanf(line, "\nPid:\t%d", &pid) != 1)
                return -EBADF;
        if (pid <= 0)
                return -ESRCH; /* gone, or in no namespace of ours */
        *ret_pid = pid;
        return 0;
}

/* A pidfd of our own. */
static int process_open(pid_t pid, int pidfd)
{
        int fd = pidfd < 0 ? (int)syscall(SYS_pidfd_open, pid, 0)
                           : fcntl(pidfd, F_DUPFD_CLOEXEC, 3);

        if (fd >= 0)
                return fd;
        return errno == EINVAL ? -ESRCH : -errno;
}

static int check_user(const Holders *holders, pid_t pid, uid_t uid)
{
        uid_t real, effective;
        int r;

        if (uid == 0)
                return 0;
        r = process_users_read(holders->root, pid, &real, &effective);
        if (r < 0)
                return r;
        return real == uid && effective == uid ? 0 : -EPERM;
}

/* The number no longer leads to this entry. */
static void forget_number(const Holder *holder)
{
        GHashTable *alive = holder->holders->alive;

        if (g_hash_table_lookup(alive, GINT_TO_POINTER(holder->pid)) == holder)
                g_hash_table_remove(alive, GINT_TO_POINTER(holder->pid));
}

static void holder_free(Holder *holder)
{
        forget_number(holder);
        sd_event_source_disable_unref(holder->source);
        close(holder->pidfd);
        g_free(holder);
}

static void holder_rest(Holder *holder)
{
        GQueue *resting = holder->holders->resting;

        g_queue_push_head(resting, holder);
        if (g_queue_get_length(resting) > RESTING_MAX)
                holder_free(g_queue_pop_tail(resting));
}

void holder_put(Holder *holder)
{
        if (!holder || --holder->n_users > 0)
                return;
        if (holder->alive)
                holder_rest(holder);
        else
                holder_free(holder);
}

static void holder_take(Holder *holder)
{
        if (holder->n_users++ == 0)
                g_queue_remove(holder->holders->resting, holder);
}

static int on_end(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        Holder *holder = userdata;

        holder_take(holder); /* stays while callbacks run, which may release it */
        holder->alive = false;
        forget_number(holder);
        holder->source = sd_event_source_disable_unref(holder->source);
        holder->holders->ended(holder, holder->holders->userdata);
        holder_put(holder);
        return 0;
}

void holders_free(Holders *holders)
{
        if (!holders)
                return;
        g_queue_free_full(holders->resting, (GDestroyNotify)holder_free);
        g_hash_table_unref(holders->alive);
        sd_event_unref(holders->event);
        g_free(holders);
}

/* Where the process may run: all online CPUs if nothing can be read of it, as in a container that
 * hides other users' processes. -ESRCH: it is gone. */
static int read_cpus(const Holders *holders, pid_t pid, int pidfd, const CpuSet *online,
                     GHashTable *spent, CpuSet *ret_cpus)
{
        CpuSet cpus;

        if (affinity_read(holders->root, pid, online, spent, &cpus) < 0)
                cpus = *online;
        if (!is_alive(pidfd))
                return -ESRCH;
        cpuset_and(&cpus, online);
        *ret_cpus = cpuset_is_empty(&cpus) ? *online : cpus;
        return 0;
}

/* A new entry; takes `pidfd`. */
static int holder_new(Holders *holders, pid_t pid, int pidfd, const CpuSet *cpus,
                      Holder **ret_holder)
{
        Holder *holder = g_new0(Holder, 1);
        int r;

        holder->holders = holders;
        holder->pid = pid;
        holder->pidfd = pidfd;
        holder->cpus = *cpus;
        holder->alive = true;
        holder->n_users = 1;
        r = sd_event_add_io(holders->event, &holder->source, pidfd, EPOLLIN, on_end, holder);
        if (r < 0) {
                close(pidfd);
                g_free(holder);
                return r;
        }
        g_hash_table_insert(holders->alive, GINT_TO_POINTER(pid), holder);
        *ret_holder = holder;
        return 0;
}

/* The entry of the process that has the number now, NULL if there is none. */
static Holder *find_alive(const Holders *holders, pid_t pid)
{
        Holder *holder = g_hash_table_lookup(holders->alive, GINT_TO_POINTER(pid));

        if (!holder || is_alive(holder->pidfd))
                return holder;
        forget_number(holder); /* its exit is not reported yet, and the number may be reused */
        return NULL;
}

/* Takes a process that is known into use, with what was read of it now. */
static int take_again(Holder *holder, const CpuSet *cpus, Holder **ret_holder)
{
        bool moved = holder->n_users > 0 && !cpuset_equal(&holder->cpus, cpus);

        holder_take(holder);
        holder->cpus = *cpus;
        *ret_holder = holder;
        return moved;
}

int holder_get(Holders *holders, pid_t pid, int pidfd, uid_t uid, const CpuSet *online,
               Holder **ret_holder)
{
        int r = pidfd < 0 ? 0 : pidfd_number(pidfd, &pid);
        _fd_ int fd = -1;
        Holder *known;
        CpuSet cpus;

        if (r < 0)
                return r;
        known = find_alive(holders, pid);
        fd = known ? -1 : process_open(pid, pidfd);
        if (!known && fd < 0)
                return fd;
        if (pidfd < 0)
                pidfd = known ? known->pidfd : fd;
        r = check_user(holders, pid, uid);
        if (r < 0)
                return is_alive(pidfd) ? r : -ESRCH;
        r = read_cpus(holders, pid, pidfd, online, NULL, &cpus);
        if (r < 0)
                return r;
        if (known)
                return take_again(known, &cpus, ret_holder);
        r = holder_new(holders, pid, fd, &cpus, ret_holder);
        fd = -1;
        return r;
}

void holders_follow(Holders *holders, const CpuSet *online)
{
        g_autoptr(GHashTable) spent = g_hash_table_new(NULL, NULL);
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, holders->alive);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                Holder *holder = value;

                if (holder->n_users > 0)
                        read_cpus(holders, holder->pid, holder->pidfd, online, spent,
                                  &holder->cpus);
        }
}
