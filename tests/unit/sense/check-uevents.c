/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Uevents, and the sockets for them: new ones, and those of another process. */
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include "sense/netlink.h"
#include "sense/uevents.h"
#include "table.h"

#define MESSAGE(text) text, sizeof(text)

static const struct {
        const char *name;
        const char *message;
        size_t size;
        const char *action, *subsystem, *device; /* NULL: it is no uevent */
} messages[] = {
        { "a CPU",
          MESSAGE("online@/devices/system/cpu/cpu3\0ACTION=online\0DEVPATH=/devices/system/cpu/cpu3"
                  "\0SUBSYSTEM=cpu\0SEQNUM=7"),
          "online", "cpu", "cpu3" },
        { "keys in another order, and some that look alike",
          MESSAGE("add@/module/x\0SUBSYSTEM=module\0SUBSYSTEM_OLD=y\0DEVPATH_OLD=/y\0XACTION=z"
                  "\0DEVPATH=/module/x\0ACTION=add"),
          "add", "module", "x" },
        { "no end", "add@/module/x\0ACTION=add\0DEVPATH=/module/x\0SUBSYSTEM=module", 56 },
        { "of udev", MESSAGE("libudev\0ACTION=add\0DEVPATH=/module/x\0SUBSYSTEM=module") },
        { "no action", MESSAGE("add@/module/x\0DEVPATH=/module/x\0SUBSYSTEM=module") },
        { "no subsystem", MESSAGE("add@/module/x\0ACTION=add\0DEVPATH=/module/x") },
        { "no path", MESSAGE("add@/module/x\0ACTION=add\0SUBSYSTEM=module") },
        { "a path without a slash", MESSAGE("add@x\0ACTION=add\0DEVPATH=x\0SUBSYSTEM=module") },
        { "nothing", "", 0 },
        { "an end only", MESSAGE("") },
};

TEST_EACH(parsed, messages)
{
        g_autofree char *copy = g_memdup2(c->message, c->size ? c->size : 1);
        Uevent event = { 0 };
        int r = uevent_parse(copy, c->size, &event);

        ck_case(c->name, r == (c->action ? 0 : -EBADMSG), "result %d", r);
        ck_case(c->name,
                g_strcmp0(event.action, c->action) == 0 &&
                        g_strcmp0(event.subsystem, c->subsystem) == 0 &&
                        g_strcmp0(event.name, c->device) == 0,
                "%s %s %s", event.action, event.subsystem, event.name);
}

static const struct {
        const char *text;
        bool passes;
} beginnings[] = {
        { "add@/devices/system/cpu/cpu1", true },
        { "bind@/devices/pci0000:00/0000:00:02.0", true },
        { "online@/devices/system/cpu/cpu1", true },
        { "offline@/devices/system/cpu/cpu1", true },
        { "change@/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0003:00/power_supply/AC", true },
        { "change@/devices/virtual/power_supply/test_ac", true },
        { "add@/module/x", true },
        { "remove@/module/x", true },
        { "rearrange@/devices/virtual/bdi/0:50", true }, /* an action of later kernels */
        { "add@/devices/virtual/bdi/0:50", false },
        { "move@/devices/virtual/net/veth0", false },
        { "remove@/devices/virtual/net/veth0", false },
        { "offline@/devices/virtual/block/loop0", false },
        { "add@/kernel/slab/x", false },
        { "add@/fs/ext4/sda1", false },
        { "add@/", false },
};

TEST_EACH(filtered, beginnings)
{
        int ends[2];
        char buffer[UEVENT_SIZE];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
        ck_assert_int_eq(uevents_filter(ends[1]), 0);
        if (send(ends[0], c->text, strlen(c->text) + 1, 0) < 0)
                ck_case(c->text, errno == EPERM && !c->passes, "%s", g_strerror(errno));
        ck_case(c->text, (recv(ends[1], buffer, sizeof(buffer), MSG_DONTWAIT) > 0) == c->passes,
                "passes or not");
        close(ends[0]);
        close(ends[1]);
}

/* Asks the kernel to report a CPU once more, which changes nothing. */
static bool provoke(void)
{
        int fd = open("/sys/devices/system/cpu/cpu0/uevent", O_WRONLY | O_CLOEXEC);
        bool written = fd >= 0 && write(fd, "change", strlen("change")) > 0;

        if (fd >= 0)
                close(fd);
        return written;
}

static bool is_provoked(const Uevent *event)
{
        return g_str_equal(event->name, "cpu0") && g_str_equal(event->action, "change") &&
               g_str_equal(event->subsystem, "cpu");
}

/* Whether the report arrives on the socket. */
static bool hears(int fd)
{
        struct pollfd wait = { fd, POLLIN, 0 };
        char buffer[UEVENT_SIZE];
        Uevent event;
        int r;

        while ((r = uevents_read(fd, buffer, &event)) >= 0 || r == -ENOBUFS) {
                if (r > 0 && is_provoked(&event))
                        return true;
                if (r == 0 && poll(&wait, 1, 10000) <= 0)
                        return false;
        }
        return false;
}

TEST(of_the_kernel)
{
        int fd = uevents_open();

        if (fd < 0 || !provoke()) {
                case_skip("of the kernel", "no uevents here");
                return;
        }
        ck_assert(hears(fd));
        uevents_close(fd);
}

/* Whether the report is there already. */
static bool has_waiting(int fd)
{
        char buffer[UEVENT_SIZE];
        Uevent event;

        while (uevents_read(fd, buffer, &event) > 0)
                if (is_provoked(&event))
                        return true;
        return false;
}

/* Sockets of another process: used one after the other, never closed, and without a user empty. */
TEST(adopted)
{
        int fds[NETLINK_SOCKETS], fd;

        if (netlink_open_all(fds) != NETLINK_SOCKETS || !provoke()) {
                case_skip("adopted", "no netlink here");
                return;
        }
        for (int i = 0; i < NETLINK_SOCKETS; i++)
                netlink_adopt(fds[i]);
        ck_assert_int_eq(uevents_open(), fds[0]);
        fd = uevents_open(); /* the others are of another protocol */
        for (int i = 0; i < NETLINK_SOCKETS; i++)
                ck_assert_int_ne(fd, fds[i]);
        uevents_close(fd);
        ck_assert(provoke() && hears(fds[0]));
        uevents_close(fds[0]);
        ck_assert(provoke() && fcntl(fds[0], F_GETFD) >= 0);
        ck_assert_int_eq(uevents_open(), fds[0]);
        ck_assert(!has_waiting(fds[0]));
        ck_assert(provoke() && hears(fds[0]));
        for (int i = 1; i < NETLINK_SOCKETS; i++)
                ck_assert_int_eq(netlink_open(NETLINK_CONNECTOR), fds[i]);
}

UNIT("uevents", .timeout = 60)
