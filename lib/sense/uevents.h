/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Uevents: the kernel's reports of devices that come, go and change. They come without udev, too.
 */
#ifndef IDLED_UEVENTS_H
#define IDLED_UEVENTS_H

#include <stddef.h>

/* The strings lie in the buffer. */
typedef struct Uevent {
        const char *action;    /* "add", "online", "change", ... */
        const char *subsystem; /* "cpu", "power_supply", "module", ... */
        const char *name;      /* the last part of the device's path: "cpu3" */
} Uevent;

/* The kernel's own limit for its text (UEVENT_BUFFER_SIZE), with its head. */
#define UEVENT_SIZE 4096

/* A socket for uevents_close(); negative errno. */
int uevents_open(void);
void uevents_close(int fd);

/* Has the kernel drop events before they wake idled: all but those of devices and modules, and of
 * virtual devices, which programs and even users make in numbers (mounts, containers, loops). */
int uevents_filter(int fd);

/* Reads one event into `buffer`: 1, or 0 if none waits. -ENOBUFS: events were lost; later calls
 * continue. Invalid messages are ignored. */
int uevents_read(int fd, char buffer[UEVENT_SIZE], Uevent *ret_event);

/* Parses a message, "ACTION@DEVPATH" and then "KEY=VALUE" for each of its keys; each text ends with
 * a NUL. -EBADMSG: it is none. */
int uevent_parse(const char *message, size_t size, Uevent *ret_event);

#endif
