/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Netlink sockets. One that was passed is never closed: another process has it, too, so that
 * closing would end nothing, and this process could not open it again. While it has no user, a
 * socket filter keeps its queue empty.
 */
#include "sense/netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"

#define FIRST_NAMESPACE "proc/1/ns/net"

/* What the daemon may need: uevents, and events of processes for new tasks, for application rules,
 * and for the rules that replace these at a reload. Each has a filter of its own. */
static const int wanted[NETLINK_SOCKETS] = { NETLINK_KOBJECT_UEVENT, NETLINK_CONNECTOR,
                                             NETLINK_CONNECTOR, NETLINK_CONNECTOR };

/* The kernel's own multicast group of uevents; udev sends its events to group 2. */
#define UEVENTS_OF_KERNEL 1

static struct {
        int fd, protocol;
        int queue_size; /* bytes, as found */
        bool used;
} passed[NETLINK_SOCKETS];
static size_t n_passed;

static int let_nothing_pass(int fd)
{
        struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
        const struct sock_fprog filter = { 1, &nothing };

        return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

static int option_of(int fd, int option)
{
        int value = -1;
        socklen_t size = sizeof(value);

        return getsockopt(fd, SOL_SOCKET, option, &value, &size) < 0 ? -1 : value;
}

/* The next user finds the socket as the first did. */
static void end_use(size_t i)
{
        const int half = passed[i].queue_size / 2; /* the kernel doubles the size that is set */

        let_nothing_pass(passed[i].fd);
        setsockopt(passed[i].fd, SOL_SOCKET, SO_RCVBUF, &half, sizeof(half));
        passed[i].used = false;
}

void netlink_adopt(int fd)
{
        if (n_passed == G_N_ELEMENTS(passed) || let_nothing_pass(fd) < 0)
                return;
        passed[n_passed].protocol = option_of(fd, SO_PROTOCOL);
        passed[n_passed].queue_size = option_of(fd, SO_RCVBUF);
        passed[n_passed++].fd = fd;
}

static int open_new(int protocol)
{
        const struct sockaddr_nl address = {
                .nl_family = AF_NETLINK,
                .nl_groups = protocol == NETLINK_CONNECTOR ? CN_IDX_PROC : UEVENTS_OF_KERNEL,
        };
        int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol), r;

        if (fd < 0)
                return -errno;
        if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
                r = -errno;
                close(fd);
                return r;
        }
        return fd;
}

void netlink_drain(int fd)
{
        char byte;
        int n;

        do
                n = netlink_receive(fd, &byte, 1);
        while (n > 0 || n == -ENOBUFS);
}

int netlink_open(int protocol)
{
        const int none = 0;

        for (size_t i = 0; i < n_passed; i++) {
                if (passed[i].used || passed[i].protocol != protocol)
                        continue;
                netlink_drain(passed[i].fd);
                if (setsockopt(passed[i].fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none)) < 0)
                        return -errno;
                passed[i].used = true;
                return passed[i].fd;
        }
        return open_new(protocol);
}

const char *netlink_strerror(int error)
{
        return error == -EAFNOSUPPORT
                       ? "the service manager did not pass the sockets of idled --probe"
                       : g_strerror(-error);
}

void netlink_close(int fd)
{
        for (size_t i = 0; i < n_passed; i++)
                if (passed[i].fd == fd) {
                        end_use(i);
                        return;
                }
        if (fd >= 0)
                close(fd);
}

int netlink_receive(int fd, void *buffer, size_t buffer_size)
{
        struct sockaddr_nl from = { 0 };
        socklen_t from_size;
        ssize_t n;

        /* A program with privileges in the network namespace can send, too. */
        do {
                from_size = sizeof(from);
                n = recvfrom(fd, buffer, buffer_size, MSG_DONTWAIT, (struct sockaddr *)&from,
                             &from_size);
        } while ((n < 0 && errno == EINTR) || (n >= 0 && from.nl_pid != 0));
        if (n < 0)
                return errno == EAGAIN ? 0 : -errno;
        return (int)n;
}

/* systemd gives all commands of a service the service's network namespace, also those with "+". */
int netlink_enter_first(int root)
{
        _fd_ int fd = openat(root, FIRST_NAMESPACE, O_RDONLY | O_CLOEXEC);

        return fd < 0 || setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
}

int netlink_open_all(int fds[NETLINK_SOCKETS])
{
        int n = 0, error = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
                int fd = open_new(wanted[i]);

                if (fd < 0) {
                        error = fd;
                        continue;
                }
                let_nothing_pass(fd);
                fds[n++] = fd;
        }
        return n > 0 ? n : error;
}
