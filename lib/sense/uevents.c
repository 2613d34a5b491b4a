/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Uevents as the kernel sends them to its own multicast group. */
#include "sense/uevents.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "sense/netlink.h"

/* Four characters, as the filter's machine reads them. */
#define WORD(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

/* The text begins with ACTION@PATH. A classic BPF program cannot search for "@", so it tries the
 * lengths of all actions. A power supply may be virtual. */
int uevents_filter(int fd)
{
        struct sock_filter program[] = {
                BPF_STMT(BPF_LDX | BPF_IMM, 4), /* add */
                BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 3),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, '@', 10, 0),
                BPF_STMT(BPF_LDX | BPF_IMM, 5), /* bind, move */
                BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 4),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, '@', 7, 0),
                BPF_STMT(BPF_LDX | BPF_IMM, 7), /* remove, change, online, unbind */
                BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, '@', 4, 0),
                BPF_STMT(BPF_LDX | BPF_IMM, 8), /* offline */
                BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 7),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, '@', 1, 0),
                BPF_STMT(BPF_RET | BPF_K, UINT32_MAX), /* an action that is not known here */
                BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WORD('/', 'm', 'o', 'd'), 5, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WORD('/', 'd', 'e', 'v'), 0, 5),
                BPF_STMT(BPF_LD | BPF_W | BPF_IND, strlen("/devices")),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WORD('/', 'v', 'i', 'r'), 0, 2),
                BPF_STMT(BPF_LD | BPF_W | BPF_IND, strlen("/devices/virtual")),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WORD('/', 'p', 'o', 'w'), 0, 1),
                BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
                BPF_STMT(BPF_RET | BPF_K, 0),
        };
        struct sock_fprog whole = { sizeof(program) / sizeof(*program), program };

        return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &whole, sizeof(whole)) < 0 ? -errno : 0;
}

int uevents_open(void)
{
        int fd = netlink_open(NETLINK_KOBJECT_UEVENT);
        int r = fd < 0 ? fd : uevents_filter(fd);

        if (r < 0)
                netlink_close(fd);
        return r < 0 ? r : fd;
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
                const char *value;

                if ((value = value_of(text, "ACTION")))
                        event.action = value;
                else if ((value = value_of(text, "SUBSYSTEM")))
                        event.subsystem = value;
                else if ((value = value_of(text, "DEVPATH")))
                        path = value;
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
