/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls to systemd: the connection, its errors, and questions about units.
 *
 * - CPU sets are `ay`: bit n % 8 of byte n / 8.
 * - A name is passed to GetUnit first, which loads nothing. Without that systemd would load any
 *   name: answer with defaults, or even create a drop-in for a slice that does not exist. Slices
 *   that systemd itself has just named need no such care.
 * - Mounts, sockets and swaps have cgroups too, but none with tasks worth confining.
 */
#include "systemd/unit-bus.h"

#include <errno.h>

#include "base/log.h"
#include "systemd/bus-connect.h"

/* Restoring a dozen units of a systemd that hangs must not take a dozen timeouts. */
#define SILENT_USEC (30 * G_USEC_PER_SEC)

/* How long a systemd that is busy starting units may take to answer. */
#define ANSWER_USEC (60u * G_USEC_PER_SEC)

void unit_bus_disconnect(UnitBus *bus)
{
        if (bus->lost)
                bus->lost(bus->userdata);
        if (bus->connection)
                sd_bus_detach_event(bus->connection);
        bus->connection = sd_bus_close_unref(bus->connection);
}

int unit_bus_connect(UnitBus *bus)
{
        _connection_ sd_bus *connection = NULL;
        int r;

        if (g_get_monotonic_time() < bus->silent_until)
                return -ETIMEDOUT;
        if (bus->connection && sd_bus_is_open(bus->connection) > 0)
                return 0;
        unit_bus_disconnect(bus);
        if (!bus->address)
                return -ENOTCONN;
        r = bus_connect(bus->address, false, &connection);
        if (r >= 0)
                r = bus_wait_ready(connection);
        if (r < 0)
                return -ENOTCONN;
        bus->connection = g_steal_pointer(&connection);
        sd_bus_set_method_call_timeout(bus->connection, bus->timeout_usec);
        if (bus->connected)
                bus->connected(bus->userdata);
        return 0;
}

/* Explains an error without terms of D-Bus. */
static int error_number(const sd_bus_error *error, int r)
{
        if (sd_bus_error_has_name(error, "org.freedesktop.systemd1.NoSuchUnit"))
                return -ENOENT;
        if (sd_bus_error_has_name(error, "org.freedesktop.systemd1.UnitExists"))
                return -EEXIST;
        if (sd_bus_error_has_names(error, SD_BUS_ERROR_SERVICE_UNKNOWN,
                                   SD_BUS_ERROR_NAME_HAS_NO_OWNER, SD_BUS_ERROR_DISCONNECTED))
                return -ENOTCONN;
        if (r == -ECONNRESET || r == -EPIPE || r == -ESHUTDOWN)
                return -ENOTCONN;
        return r;
}

int unit_bus_call(UnitBus *bus, sd_bus_message *message, sd_bus_message **ret_reply)
{
        _bus_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = sd_bus_message_set_auto_start(message, false);
        if (r >= 0)
                r = sd_bus_call(sd_bus_message_get_bus(message), message, 0, &error, ret_reply);
        if (r >= 0)
                return 0;
        log_debug("systemd: %s: %s", sd_bus_message_get_member(message),
                  error.message ? error.message : g_strerror(-r));
        if (r == -ETIMEDOUT)
                bus->silent_until = g_get_monotonic_time() + SILENT_USEC;
        return error_number(&error, r);
}

int unit_ask(UnitBus *bus, const char *path, const char *interface, const char *member,
             const char *argument, sd_bus_message_handler_t answer, void *userdata,
             sd_bus_slot **ret_slot)
{
        _message_ sd_bus_message *message = NULL;
        bool property = !g_str_equal(interface, SYSTEMD_MANAGER);
        int r = sd_bus_message_new_method_call(bus->connection, &message, SYSTEMD_NAME, path,
                                               property ? "org.freedesktop.DBus.Properties"
                                                        : interface,
                                               property ? "Get" : member);

        if (r >= 0 && property)
                r = sd_bus_message_append(message, "ss", interface, member);
        if (r >= 0 && argument)
                r = sd_bus_message_append(message, "s", argument);
        if (r >= 0)
                r = sd_bus_message_set_auto_start(message, false);
        return r < 0 ? r
                     : sd_bus_call_async(bus->connection, ret_slot, message, answer, userdata,
                                         ANSWER_USEC);
}

const char *unit_interface(const char *unit)
{
        static const struct {
                const char *suffix, *interface;
        } types[] = {
                { ".slice", "org.freedesktop.systemd1.Slice" },
                { ".scope", "org.freedesktop.systemd1.Scope" },
                { ".service", "org.freedesktop.systemd1.Service" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
                if (g_str_has_suffix(unit, types[i].suffix))
                        return types[i].interface;
        return NULL;
}

int unit_read_cpus(sd_bus_message *message, CpuSet *ret_cpus)
{
        const uint8_t *bytes;
        CpuSet cpus = { 0 };
        const void *data;
        size_t size;
        int r = sd_bus_message_read_array(message, 'y', &data, &size);

        if (r < 0)
                return r;
        bytes = data;
        for (size_t cpu = 0; cpu < 8 * MIN(size, CPUSET_MAX / 8); cpu++)
                if (bytes[cpu / 8] >> (cpu % 8) & 1)
                        cpuset_add(&cpus, (int)cpu);
        *ret_cpus = cpus;
        return 0;
}
