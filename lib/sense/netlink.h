/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Netlink sockets on which the kernel reports what happens on the machine.
 *
 * The kernel reports processes to the first network namespace only. idled.service has a namespace
 * of its own, in which it can neither open such a socket nor reach a network. So "idled --probe",
 * which systemd runs before with all privileges, opens them in the first one, and systemd stores
 * them for the daemon.
 */
#ifndef IDLED_NETLINK_H
#define IDLED_NETLINK_H

#include <stddef.h>

/* The most sockets that the daemon uses at once. */
#define NETLINK_SOCKETS 4

/* Moves this process to the network namespace of process 1 below `root`. Negative errno. */
int netlink_enter_first(int root);

/* Opens the sockets that the daemon may need. Returns how many; negative errno if none. */
int netlink_open_all(int fds[NETLINK_SOCKETS]);

/* Takes a netlink socket that another process opened so. */
void netlink_adopt(int fd);

/* A non-blocking socket for the kernel's messages of NETLINK_KOBJECT_UEVENT or NETLINK_CONNECTOR
 * (processes): an adopted one without a user, else a new one. -EAFNOSUPPORT: idled.service does not
 * permit new ones; else socket(2)'s or bind(2)'s errors. */
int netlink_open(int protocol);

/* The error of netlink_open() for people. */
const char *netlink_strerror(int error);

/* Ends the use of the socket; nothing is queued on it after that. -1 is none. */
void netlink_close(int fd);

/* One message of the kernel's into `buffer`: its size, 0 if none waits. -ENOBUFS: messages were
 * lost; later calls continue. Messages of programs are ignored. */
int netlink_receive(int fd, void *buffer, size_t buffer_size);

/* Forgets what waits. */
void netlink_drain(int fd);

#endif
