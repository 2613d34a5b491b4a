/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Connecting to a message bus.
 *
 * sd_bus_open_system() and similar functions start the connection before the caller can request to
 * wait for a missing socket. So this file does their steps itself.
 */
#include "systemd/bus-connect.h"

#include <errno.h>
#include <glib.h>
#include <systemd/sd-id128.h>

char *bus_address(const char *bus)
{
        const char *address;

        if (!bus) {
                address = g_getenv("DBUS_SYSTEM_BUS_ADDRESS");
                return g_strdup(address ? address : "unix:path=/run/dbus/system_bus_socket");
        }
        if (!g_str_equal(bus, "session"))
                return g_strdup(bus);
        address = g_getenv("DBUS_SESSION_BUS_ADDRESS");
        if (address)
                return g_strdup(address);
        address = g_getenv("XDG_RUNTIME_DIR");
        return address ? g_strdup_printf("unix:path=%s/bus", address) : NULL;
}

bool bus_is_address(const char *text)
{
        return g_str_has_prefix(text, "unix:") || g_str_has_prefix(text, "unixexec:") ||
               g_str_has_prefix(text, "tcp:");
}

/* sd-bus closes the connection when a client asks for the identity of a machine that has none. */
static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        sd_id128_t identity;
        int r;

        if (!sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Peer", "GetMachineId"))
                return 0;
        r = sd_id128_get_machine(&identity);
        return r >= 0 ? 0
                      : sd_bus_reply_method_errnof(message, r,
                                                   "Failed to read the machine's identity: %m; "
                                                   "systemd-machine-id-setup(1) creates one");
}

int bus_connect(const char *address, bool wait_for_socket, sd_bus **ret_connection)
{
        _connection_ sd_bus *connection = NULL;
        int r = bus_is_address(address) ? sd_bus_new(&connection) : -EINVAL;

        if (r >= 0)
                r = sd_bus_set_address(connection, address);
        if (r >= 0)
                r = sd_bus_set_bus_client(connection, true);
        if (r >= 0)
                r = sd_bus_negotiate_fds(connection, true);
        if (r >= 0)
                r = sd_bus_set_watch_bind(connection, wait_for_socket);
        if (r >= 0)
                r = sd_bus_set_connected_signal(connection, true);
        if (r >= 0)
                r = sd_bus_set_method_call_timeout(connection, BUS_TIMEOUT_USEC);
        if (r >= 0)
                r = sd_bus_add_filter(connection, NULL, on_message, NULL);
        if (r >= 0)
                r = sd_bus_start(connection);
        if (r < 0)
                return r;
        *ret_connection = g_steal_pointer(&connection);
        return 0;
}

int bus_wait_ready(sd_bus *connection)
{
        gint64 end = g_get_monotonic_time() + BUS_TIMEOUT_USEC;
        int r;

        while ((r = sd_bus_is_ready(connection)) == 0) {
                gint64 left = end - g_get_monotonic_time();

                if (left <= 0)
                        return -ETIMEDOUT;
                r = sd_bus_process(connection, NULL);
                if (r == 0)
                        r = sd_bus_wait(connection, (uint64_t)left);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : 0;
}
