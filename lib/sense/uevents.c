/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Uevents as the kernel sends them to its own multicast group. */
#include "sense/uevents.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>

#include "sense/netlink.h"

/* udev sends its events to group 2. */
#define GROUP 1

int uevents_open(void)
{
        return netlink_open(NETLINK_KOBJECT_UEVENT, GROUP);
}

void uevents_close(int fd)
{
        netlink_close(fd);
}

/* The value if the text is "KEY=VALUE" of that key. */
static const char *value_of(const char *text, const char *key)
{
        size_t length = strlen(key);

        return strncmp(text, key, length) == 0 && text[length] == '=' ? text + length + 1 : NULL;
}

int uevent_parse(const char *message, size_t size, Uevent *ret_event)
{
        Uevent event = { 0 };
        const char *path = NULL;

        if (size == 0 || message[size - 1] != '\0' || !strchr(message, '@'))
                return -EBADMSG;
        for (const char *text = message; text < message + size; text += strlen(text) + 1) {
                event.action = value_of(text, "ACTION") ?: event.action;
                event.subsystem = value_of(text, "SUBSYSTEM") ?: event.subsystem;
                path = value_of(text, "DEVPATH") ?: path;
        }
        if (!event.action || !event.subsystem || !path || !strchr(path, '/'))
                return -EBADMSG;
        event.name = strrchr(path, '/') + 1;
        *ret_event = event;
        return 0;
}

int uevents_read(int fd, char buffer[UEVENT_SIZE], Uevent *ret_event)
{
        int n;

        while ((n = netlink_receive(fd, buffer, UEVENT_SIZE)) > 0)
                if (uevent_parse(buffer, (size_t)n, ret_event) >= 0)
                        return 1;
        return n;
}
