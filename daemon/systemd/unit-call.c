/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls to systemd: the connection, its errors, and the properties of units.
 *
 * - CPU sets are `ay`: bit n % 8 of byte n / 8.
 * - A name is passed to GetUnit first, which loads nothing. Without that systemd would load any
 *   name: answer with defaults, or even create a drop-in for a slice that does not exist. Slices
 *   that systemd itself has just named need no such care.
 * - Mounts, sockets and swaps have cgroups too, but none with tasks worth confining.
 */
#include <errno.h>

#include "base/log.h"
#include "systemd/bus-connect.h"
#include "systemd/unit-parts.h"

/* Restoring a dozen units of a systemd that hangs must not take a dozen timeouts. */
#define SILENT_USEC (30 * G_USEC_PER_SEC)

void units_disconnect(Units *units)
{
        if (units->lost)
                units->lost(units);
        if (units->connection)
                sd_bus_detach_event(units->connection);
        units->connection = sd_bus_close_unref(units->connection);
}

int units_connect(Units *units)
{
        _connection_ sd_bus *connection = NULL;
        int r;

        if (g_get_monotonic_time() < units->silent_until)
                return -ETIMEDOUT;
        if (units->connection && sd_bus_is_open(units->connection) > 0)
                return 0;
        units_disconnect(units);
        if (!units->address)
                return -ENOTCONN;
        r = bus_connect(units->address, false, &connection);
        if (r >= 0)
                r = bus_wait_ready(connection);
        if (r < 0)
                return -ENOTCONN;
        units->connection = g_steal_pointer(&connection);
        sd_bus_set_method_call_timeout(units->connection, units->timeout_usec);
        if (units->connected)
                units->connected(units);
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

int units_call(Units *units, sd_bus_message *message, sd_bus_message **ret_reply)
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
                units->silent_until = g_get_monotonic_time() + SILENT_USEC;
        return error_number(&error, r);
}

int unit_path(Units *units, const char *unit, char **ret_path)
{
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        const char *path;
        int r = units_connect(units);

        if (r >= 0)
                r = sd_bus_message_new_method_call(units->connection, &ask, SYSTEMD_NAME,
                                                   SYSTEMD_PATH, SYSTEMD_MANAGER, "GetUnit");
        if (r >= 0)
                r = sd_bus_message_append(ask, "s", unit);
        if (r >= 0)
                r = units_call(units, ask, &reply);
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                return r;
        *ret_path = g_strdup(path);
        return 0;
}

/* Reads a property of the unit at `path` up to where its value of `type` begins. */
int unit_property_at(Units *units, const char *path, const char *interface, const char *property,
                     const char *type, sd_bus_message **ret_reply)
{
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        int r;

        r = sd_bus_message_new_method_call(units->connection, &ask, SYSTEMD_NAME, path,
                                           "org.freedesktop.DBus.Properties", "Get");
        if (r >= 0)
                r = sd_bus_message_append(ask, "ss", interface, property);
        if (r >= 0)
                r = units_call(units, ask, &reply);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'v', type);
        if (r < 0)
                return r;
        *ret_reply = g_steal_pointer(&reply);
        return 0;
}

int unit_property(Units *units, const char *unit, const char *interface, const char *property,
                  const char *type, sd_bus_message **ret_reply)
{
        g_autofree char *path = NULL;
        int r = unit_path(units, unit, &path);

        return r < 0 ? r : unit_property_at(units, path, interface, property, type, ret_reply);
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

int unit_append_cpus(sd_bus_message *message, const CpuSet *cpus)
{
        uint8_t bytes[CPUSET_MAX / 8] = { 0 };
        size_t size = 0;
        int r;

        CPUSET_FOREACH(cpu, cpus) {
                bytes[cpu / 8] |= (uint8_t)(1u << (cpu % 8));
                size = (size_t)cpu / 8 + 1;
        }
        r = sd_bus_message_open_container(message, 'r', "sv");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", "AllowedCPUs");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', "ay");
        if (r >= 0)
                r = sd_bus_message_append_array(message, 'y', bytes, size);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : sd_bus_message_close_container(message);
}
