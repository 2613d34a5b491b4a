/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Refused affinities on /org/idled1: the property, and the method that forgets them.
 *
 * Which program a user runs is the user's business: its name and number are for that user and root.
 * So the value depends on the user that asks, and signals do not have them.
 */
#include "base/cpuset-text.h"
#include "bus/bus-parts.h"

static int append_refused(sd_bus_message *reply, const Bus *bus, const Refused *refused)
{
        uid_t reader = bus_reader(bus, reply);
        bool known = reader == 0 || reader == refused->uid;
        g_autofree char *cpus = cpuset_format(&refused->cpus);

        return sd_bus_message_append(
                reply, "a{sv}", 6, "unit", "s", refused->unit, "cpus", "s", cpus, "program", "s",
                known ? refused->program : NULL, "user", "u", refused->uid, "pid", "u",
                known ? (uint32_t)refused->pid : 0, "count", "t", refused->count);
}

int bus_get_refused(sd_bus *connection, const char *path, const char *interface,
                    const char *property, sd_bus_message *reply, void *userdata,
                    sd_bus_error *error)
{
        const Bus *bus = userdata;
        const RefusedTable *table = refusals_table(manager_refusals(bus->manager));
        const Refused *refused;
        int r = sd_bus_message_open_container(reply, 'a', "a{sv}");

        for (unsigned i = 0; r >= 0 && (refused = refused_nth(table, i)); i++)
                r = append_refused(reply, bus, refused);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int do_forget(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        const Bus *bus = userdata;
        const char *unit;
        int r = sd_bus_message_read(message, "s", &unit);

        return r < 0 ? r
                     : sd_bus_reply_method_return(message, "u",
                                                  manager_forget_refused(bus->manager, unit));
}

BUS_AUTHORIZED(bus_method_forget_refused, "org.idled1.set-option", do_forget);
