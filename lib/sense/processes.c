/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes as events, through the netlink proc connector (CONFIG_PROC_EVENTS).
 *
 * The kernel sends a message for every event of every process to all listeners. A socket filter
 * passes only the requested kinds. It runs before the message is queued, so the others cost the
 * reader neither wake-ups nor memory. It is classic BPF, which needs no privilege. Kernels since
 * 6.6 accept a list of kinds, but that would save no more.
 *
 * The kernel answers a subscription with a message of kind NONE. The code waits for it, because a
 * subscription fails silently where the connector is not available (another user or PID namespace).
 * The message is sent within send(2), so if it is not there then, it will not come. Kernels before
 * 6.6 only count subscriptions, and keep sending messages unless the subscription is ended before
 * the close.
 */
#include "sense/processes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "sense/netlink.h"

G_STATIC_ASSERT((unsigned)PROCESS_FORK == PROC_EVENT_FORK);
G_STATIC_ASSERT((unsigned)PROCESS_EXEC == PROC_EVENT_EXEC);
G_STATIC_ASSERT((unsigned)PROCESS_UID == PROC_EVENT_UID);
G_STATIC_ASSERT((unsigned)PROCESS_COMM == PROC_EVENT_COMM);

/* Where the event begins in a message. */
#define HEADERS (NLMSG_HDRLEN + sizeof(struct cn_msg))

/* The process that makes kernel threads. */
#define KTHREADD 2

/* Takes the event out of its two envelopes; what an older kernel did not send reads as zeros.
 * Returns how many bytes of it there are. */
static int unwrap(const void *message, size_t size, struct proc_event *ret_event)
{
        struct nlmsghdr outer;
        struct cn_msg inner;
        struct proc_event event = { 0 };

        if (size < HEADERS)
                return -EBADMSG;
        memcpy(&outer, message, sizeof(outer));
        memcpy(&inner, (const char *)message + NLMSG_HDRLEN, sizeof(inner));
        if (outer.nlmsg_type != NLMSG_DONE || outer.nlmsg_len < HEADERS || outer.nlmsg_len > size)
                return -EBADMSG;
        if (inner.id.idx != CN_IDX_PROC || inner.id.val != CN_VAL_PROC ||
            inner.len > outer.nlmsg_len - HEADERS)
                return -EBADMSG;
        memcpy(&event, (const char *)message + HEADERS, MIN(inner.len, sizeof(event)));
        *ret_event = event;
        return (int)MIN(inner.len, sizeof(event));
}

#define END_OF(field)                                                                              \
        ((int)(offsetof(struct proc_event, event_data.field) +                                     \
               sizeof(((struct proc_event *)0)->event_data.field)))

/* The end of the last field that is read of this kind; 0 for a kind that is not used. */
static int end_of_kind(unsigned kind)
{
        switch (kind) {
        case PROCESS_FORK:
                return END_OF(fork);
        case PROCESS_EXEC:
        case PROCESS_UID:
        case PROCESS_COMM:
                return END_OF(exec); /* the others begin with the same two fields */
        }
        return 0;
}

int process_event_parse(const void *message, size_t size, ProcessEvent *ret_event)
{
        struct proc_event event;
        ProcessEvent found = { 0 };
        int length = unwrap(message, size, &event), end;

        if (length < (int)sizeof(event.what))
                return -EBADMSG;
        end = end_of_kind(event.what);
        if (end == 0)
                return 0;
        if (length < end)
                return -EBADMSG;
        found.kind = (ProcessEventKind)event.what;
        found.tid = event.event_data.exec.process_pid;
        found.pid = event.event_data.exec.process_tgid;
        if (found.kind == PROCESS_FORK) {
                found.tid = event.event_data.fork.child_pid;
                found.pid = event.event_data.fork.child_tgid;
                found.parent = event.event_data.fork.parent_tgid;
        }
        *ret_event = found;
        return 1;
}

int process_events_read(int fd, ProcessEvent *ret_event)
{
        char buffer[512]; /* the rest of a longer one is nothing that is known */
        int n;

        while ((n = netlink_receive(fd, buffer, sizeof(buffer))) > 0)
                if (process_event_parse(buffer, (size_t)n, ret_event) > 0)
                        return 1;
        return n;
}

/* Lets through answers to subscriptions and messages of `kinds`, without forks of kthreadd, which
 * begin kernel threads. The filter's machine reads numbers as big endian. */
int process_events_filter(int fd, unsigned kinds)
{
        const unsigned what = HEADERS + offsetof(struct proc_event, what);
        const unsigned parent = HEADERS + offsetof(struct proc_event, event_data.fork.parent_tgid);
        struct sock_filter program[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, what),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROC_EVENT_NONE, 3, 0),
                BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, htonl(kinds), 0, 3),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, parent),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(KTHREADD), 1, 0),
                BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
                BPF_STMT(BPF_RET | BPF_K, 0),
        };
        struct sock_fprog filter = { G_N_ELEMENTS(program), program };

        return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0 ? -errno
                                                                                         : 0;
}

static int send_operation(int fd, enum proc_cn_mcast_op operation)
{
        char message[HEADERS + sizeof(operation)];
        struct nlmsghdr outer = { .nlmsg_len = sizeof(message), .nlmsg_type = NLMSG_DONE };
        struct cn_msg inner = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = sizeof(operation) };

        memcpy(message, &outer, sizeof(outer));
        memcpy(message + NLMSG_HDRLEN, &inner, sizeof(inner));
        memcpy(message + HEADERS, &operation, sizeof(operation));
        return send(fd, message, sizeof(message), 0) < 0 ? -errno : 0;
}

/* Whether the kernel says yes. Events that come before its answer are lost, which is as if the
 * subscription had been made that much later. */
static int read_answer(int fd)
{
        char buffer[512];
        struct proc_event event;
        int n;

        while ((n = netlink_receive(fd, buffer, sizeof(buffer))) > 0 || n == -ENOBUFS)
                if (n > 0 && unwrap(buffer, (size_t)n, &event) >= END_OF(ack) &&
                    event.what == PROC_EVENT_NONE)
                        return event.event_data.ack.err <= INT32_MAX
                                       ? -(int)event.event_data.ack.err
                                       : -EBADMSG;
        return n < 0 ? n : -EOPNOTSUPP;
}

int process_events_open(unsigned kinds, int buffer_size)
{
        int fd = netlink_open(NETLINK_CONNECTOR), r;

        if (fd < 0)
                return fd;
        r = process_events_filter(fd, kinds);
        if (r >= 0)
                r = send_operation(fd, PROC_CN_MCAST_LISTEN);
        if (r >= 0)
                r = read_answer(fd);
        if (r >= 0 && buffer_size > 0 &&
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof(buffer_size)) < 0)
                r = -errno;
        if (r < 0)
                netlink_close(fd);
        return r < 0 ? r : fd;
}

void process_events_close(int fd)
{
        if (fd < 0)
                return;
        send_operation(fd, PROC_CN_MCAST_IGNORE);
        netlink_close(fd);
}
