/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes as events from the kernel: fork, exec, change of user or name.
 */
#ifndef IDLED_PROCESSES_H
#define IDLED_PROCESSES_H

#include <stddef.h>
#include <sys/types.h>

/* The numbers are the kernel's (enum what in linux/cn_proc.h); a set of kinds is their sum. */
typedef enum ProcessEventKind {
        PROCESS_FORK = 0x1, /* a new process or thread, but none of the kernel's */
        PROCESS_EXEC = 0x2,
        PROCESS_UID = 0x4,
        PROCESS_COMM = 0x200, /* its name changed, other than by exec */
} ProcessEventKind;

typedef struct ProcessEvent {
        ProcessEventKind kind;
        pid_t pid, tid; /* process and thread; after a fork the child's */
        pid_t parent;   /* process that forked; 0 with other kinds */
} ProcessEvent;

/* Subscribes to events of `kinds`; other events wake no process. `buffer_size` is the size of the
 * queue in bytes, 0 for the system's default; a message takes about 800. Returns a non-blocking
 * descriptor for process_events_close(). -EPERM: before Linux 6.6 this needs CAP_NET_ADMIN;
 * -EOPNOTSUPP, -EPROTONOSUPPORT: this kernel or container has no such events. */
int process_events_open(unsigned kinds, int buffer_size);

/* Subscribes to other kinds from now on; what waits already stays. */
int process_events_filter(int fd, unsigned kinds);

/* Reads one event: 1, or 0 if none waits. -ENOBUFS: events were lost, so read all processes again;
 * later calls continue. Invalid messages are ignored. */
int process_events_read(int fd, ProcessEvent *ret_event);

/* Unsubscribes and closes; -1 is none. */
void process_events_close(int fd);

/* Parses one message from the socket: 1; 0 if it is valid but of none of the kinds above; -EBADMSG
 * otherwise. */
int process_event_parse(const void *message, size_t size, ProcessEvent *ret_event);

#endif
