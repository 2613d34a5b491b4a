/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /org/freedesktop/LogControl1, by which "systemctl service-log-level" works. sd-bus itself lets
 * only root, or the user that runs the daemon, write a property.
 */

#include "base/log.h"
#include "bus/bus-parts.h"

BUS_VALUE(get_level, "s", log_level_name(log_get_level()));

static int set_level(sd_bus *connection, const char *path, const char *interface,
                     const char *property, sd_bus_message *value, void *userdata,
                     sd_bus_error *error)
{
        const char *name;
        int level, r = sd_bus_message_read(value, "s", &name);

        if (r < 0)
                return r;
        if (log_level_parse(name, &level) < 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "Invalid log level, expected " LOG_LEVELS);
        log_set_level(level);
        return 0;
}

BUS_VALUE(get_target, "s", log_get_target());

static int set_target(sd_bus *connection, const char *path, const char *interface,
                      const char *property, sd_bus_message *value, void *userdata,
                      sd_bus_error *error)
{
        const char *name;
        int r = sd_bus_message_read(value, "s", &name);

        if (r < 0)
                return r;
        if (log_set_target(name) < 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "Invalid log target, expected console, journal or null");
        return 0;
}

BUS_VALUE(get_identifier, "s", "idled");

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_WRITABLE_PROPERTY("LogLevel", "s", get_level, set_level, 0, 0),
        SD_BUS_WRITABLE_PROPERTY("LogTarget", "s", get_target, set_target, 0, 0),
        SD_BUS_PROPERTY("SyslogIdentifier", "s", get_identifier, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_VTABLE_END,
};

int bus_export_log_control(Bus *bus)
{
        return sd_bus_add_object_vtable(bus->connection, NULL, "/org/freedesktop/LogControl1",
                                        "org.freedesktop.LogControl1", vtable, bus);
}
