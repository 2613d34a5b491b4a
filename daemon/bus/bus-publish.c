/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The objects below /org/idled1, and the signals about changes.
 *
 * The manager may report several changes in one go. They are collected, so that one change of plan
 * is one PropertiesChanged per object. A change of the parked CPUs is signalled before the loop
 * does anything else: parking can take seconds, and a request that arrives meanwhile may undo it.
 * Other changes are signalled when the loop has nothing else to do. CPUs are many: signals are sent
 * only for those that changed since the last signal.
 */

#include "base/log.h"
#include "bus/bus-parts.h"
#include "bus/bus-power.h"

static bool find_path(GPtrArray *paths, const char *path)
{
        return g_ptr_array_find_with_equal_func(paths, path, g_str_equal, NULL);
}

static GPtrArray *paths_now(const Bus *bus)
{
        GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);

        bus_policy_paths(bus, paths);
        bus_energy_paths(bus, paths);
        return paths;
}

/* Signals about removed objects use a list: nothing is left to look up. */
static void emit_removed(Bus *bus, const char *path)
{
        bool is_policy = g_str_has_prefix(path, BUS_PATH_POLICY "/");

        sd_bus_emit_interfaces_removed(bus->connection, path,
                                       is_policy ? BUS_INTERFACE_POLICY : BUS_INTERFACE_ENERGY,
                                       NULL);
}

static void publish_objects(Bus *bus)
{
        g_autoptr(GPtrArray) before = bus->seen.paths;

        bus->seen.paths = paths_now(bus);
        for (guint i = 0; i < before->len; i++)
                if (!find_path(bus->seen.paths, before->pdata[i]))
                        emit_removed(bus, before->pdata[i]);
        for (guint i = 0; i < bus->seen.paths->len; i++)
                if (!find_path(before, bus->seen.paths->pdata[i]))
                        sd_bus_emit_object_added(bus->connection, bus->seen.paths->pdata[i]);
}

static int on_publish(sd_event_source *source, void *userdata)
{
        Bus *bus = userdata;
        unsigned changes = bus->changes;

        bus->changes = 0;
        sd_event_source_set_enabled(bus->publish_later, SD_EVENT_OFF);
        sd_event_source_set_priority(bus->publish, SD_EVENT_PRIORITY_IDLE);
        if (changes & (CHANGE_CONFIG | CHANGE_TOPOLOGY))
                publish_objects(bus);
        bus_bills_set_parked(bus);
        bus_publish_manager(bus, changes);
        bus_publish_cpus(bus, changes);
        bus_publish_limits(bus, changes);
        bus_publish_policies(bus, changes);
        bus_publish_holds(bus, changes);
        power_publish(bus, changes);
        return 0;
}

static int on_publish_later(sd_event_source *source, uint64_t usec, void *userdata)
{
        return on_publish(source, userdata);
}

void bus_publish_init(Bus *bus)
{
        gsize n_cpus = (gsize)manager_topology(bus->manager)->n_cpus;
        int r;

        bus->seen.cpus = g_new0(CpuSeen, n_cpus);
        bus_remember_cpus(bus);
        bus->seen.limits = g_new0(CpuWish, n_cpus);
        bus_remember_limits(bus);
        bus->seen.states = g_ptr_array_new_full((guint)n_cpus, g_free);
        g_ptr_array_set_size(bus->seen.states, (gint)n_cpus);
        bus->seen.paths = paths_now(bus);
        bus->seen.holds = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                                bus_seen_hold_free);
        r = sd_event_add_defer(bus->event, &bus->publish, on_publish, bus);
        if (r >= 0)
                r = sd_event_source_set_enabled(bus->publish, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_source_set_priority(bus->publish, SD_EVENT_PRIORITY_IDLE);
        if (r >= 0)
                r = timer_add(bus->event, &bus->publish_later, BUS_HOLDS_USEC, on_publish_later,
                              bus);
        if (r < 0)
                log_error_errno(r, "Failed to schedule signals of changes: %m");
}

void bus_publish_done(Bus *bus)
{
        sd_event_source_disable_unref(bus->publish);
        sd_event_source_disable_unref(bus->publish_later);
        if (bus->seen.paths)
                g_ptr_array_unref(bus->seen.paths);
        if (bus->seen.holds)
                g_hash_table_unref(bus->seen.holds);
        if (bus->seen.states)
                g_ptr_array_unref(bus->seen.states);
        g_free(bus->seen.cpus);
        g_free(bus->seen.limits);
}
