/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /org/idled1: the properties that are measured. They change all the time, so no signal reports
 * them; they are read on each query.
 */
#include <errno.h>
#include <math.h>
#include <sys/resource.h>

#include "bus/bus-parts.h"

/* What the machine does now: nothing, where nothing can be read. */
static const Snapshot *observe(const Bus *bus)
{
        static const Snapshot nothing = { .battery_level = -1 };
        const Snapshot *seen = manager_observe(bus->manager, SENSE_LOAD);

        return seen ? seen : &nothing;
}

BUS_GETTER(get_load_average)
{
        const Snapshot *seen = observe(userdata);

        return sd_bus_message_append(reply, "(ddd)", seen->loadavg[0], seen->loadavg[1],
                                     seen->loadavg[2]);
}

/* Load, Pressure, BatteryLevel, Utilization. */
BUS_GETTER(get_share)
{
        const Bus *bus = userdata;
        const Snapshot *seen = observe(bus);
        int online = cpuset_count(&manager_topology(bus->manager)->online);
        double value;

        if (g_str_equal(property, "Load"))
                value = seen->load;
        else if (g_str_equal(property, "Pressure"))
                value = seen->have & SENSE_PRESSURE ? seen->pressure : 0;
        else if (g_str_equal(property, "BatteryLevel"))
                value = seen->have & SENSE_POWER ? seen->battery_level : -1;
        else
                value = online > 0 ? CLAMP(seen->load / online, 0.0, 1.0) : 0;
        return sd_bus_message_append(reply, "d", value);
}

BUS_GETTER(get_running)
{
        return sd_bus_message_append(reply, "u", observe(userdata)->running);
}

BUS_GETTER(get_on_battery)
{
        return sd_bus_message_append(reply, "b", observe(userdata)->on_battery);
}

BUS_GETTER(get_observed)
{
        return sd_bus_message_append(reply, "t", observe(userdata)->interval_usec);
}

BUS_GETTER(get_ticks)
{
        const Bus *bus = userdata;

        return sd_bus_message_append(reply, "t", manager_n_ticks(bus->manager));
}

BUS_GETTER(get_period)
{
        const Bus *bus = userdata;

        return sd_bus_message_append(reply, "t", manager_interval_usec(bus->manager));
}

BUS_GETTER(get_late)
{
        const Bus *bus = userdata;

        return sd_bus_message_append(reply, "t", manager_late_usec(bus->manager));
}

/* CpuUSec, Wakeups. */
BUS_GETTER(get_usage)
{
        struct rusage usage;
        uint64_t value;

        if (getrusage(RUSAGE_SELF, &usage) < 0)
                return -errno;
        if (*property == 'W')
                value = (uint64_t)usage.ru_nvcsw;
        else
                value = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * G_USEC_PER_SEC +
                        (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
        return sd_bus_message_append(reply, "t", value);
}

BUS_GETTER(get_uptime)
{
        const Bus *bus = userdata;

        return sd_bus_message_append(reply, "t", manager_uptime_usec(bus->manager));
}

BUS_GETTER(get_transitions_last_minute)
{
        const Bus *bus = userdata;
        const Manager *manager = bus->manager;
        uint64_t now = (uint64_t)g_get_real_time();
        const Transition *t;
        uint32_t n = 0;

        while ((t = history_find(manager_history(manager),
                                 history_count(manager_history(manager)) - n)) &&
               t->time_usec + 60 * G_USEC_PER_SEC > now)
                n++;
        return sd_bus_message_append(reply, "u", n);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("LoadAverage", "(ddd)", get_load_average, 0, 0),
        SD_BUS_PROPERTY("Load", "d", get_share, 0, 0),
        SD_BUS_PROPERTY("Utilization", "d", get_share, 0, 0),
        SD_BUS_PROPERTY("Running", "u", get_running, 0, 0),
        SD_BUS_PROPERTY("Pressure", "d", get_share, 0, 0),
        SD_BUS_PROPERTY("OnBattery", "b", get_on_battery, 0, 0),
        SD_BUS_PROPERTY("BatteryLevel", "d", get_share, 0, 0),
        SD_BUS_PROPERTY("ObservedUSec", "t", get_observed, 0, 0),
        SD_BUS_PROPERTY("TransitionsLastMinute", "u", get_transitions_last_minute, 0, 0),
        SD_BUS_PROPERTY("UptimeUSec", "t", get_uptime, 0, 0),
        SD_BUS_PROPERTY("Ticks", "t", get_ticks, 0, 0),
        SD_BUS_PROPERTY("LateUSec", "t", get_late, 0, 0),
        SD_BUS_PROPERTY("CpuUSec", "t", get_usage, 0, 0),
        SD_BUS_PROPERTY("Wakeups", "t", get_usage, 0, 0),
        SD_BUS_PROPERTY("PeriodUSec", "t", get_period, 0, 0),
        SD_BUS_VTABLE_END,
};

int bus_export_measured(Bus *bus)
{
        return sd_bus_add_object_vtable(bus->connection, NULL, BUS_PATH, BUS_INTERFACE, vtable,
                                        bus);
}
