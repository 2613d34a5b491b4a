/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /org/idled1: the properties that are measured. They change all the time, so no signal reports
 * them; they are read on each query.
 */
#include <errno.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "bus/bus-parts.h"
#include "model/measured.h"

/* What the machine does now: nothing, where nothing can be read. */
static const Snapshot *observe(const Bus *bus)
{
        static const Snapshot nothing = { .battery_level = -1 };
        const Snapshot *seen = observers_read(manager_observers(bus->manager), SENSE_LOAD);

        return seen ? seen : &nothing;
}

static int append_numbers(sd_bus_message *reply, const char *signature, const double *numbers)
{
        switch (*signature) {
        case 'b':
                return sd_bus_message_append(reply, signature, numbers[0] != 0);
        case 'u':
                return sd_bus_message_append(reply, signature, (uint32_t)numbers[0]);
        case '(':
                return sd_bus_message_append(reply, signature, numbers[0], numbers[1], numbers[2]);
        default:
                return sd_bus_message_append(reply, signature, numbers[0]);
        }
}

/* All of measured_properties. */
BUS_GETTER(get_measured)
{
        const Bus *bus = userdata;
        const Measured *row = measured_find(property);
        double numbers[MEASURED_NUMBERS];

        if (!row)
                return -EINVAL;
        measured_numbers(row, observe(bus), cpuset_count(&manager_topology(bus->manager)->online),
                         numbers);
        return append_numbers(reply, row->signature, numbers);
}

BUS_VALUE(get_observed, "t", observe(bus)->interval_usec);

BUS_VALUE(get_ticks, "t", tick_timer_count(manager_timer(bus->manager)));

BUS_VALUE(get_period, "t", tick_timer_interval(manager_timer(bus->manager)));

BUS_VALUE(get_late, "t", tick_timer_late(manager_timer(bus->manager)));

BUS_VALUE(get_cpu_usec, "t", clock_usec(CLOCK_PROCESS_CPUTIME_ID));

BUS_GETTER(get_wakeups)
{
        struct rusage usage;

        if (getrusage(RUSAGE_SELF, &usage) < 0)
                return -errno;
        return sd_bus_message_append(reply, "t", (uint64_t)usage.ru_nvcsw);
}

BUS_VALUE(get_uptime, "t", history_age_usec(manager_history(bus->manager), manager_now()));

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
        SD_BUS_PROPERTY("ObservedUSec", "t", get_observed, 0, 0),
        SD_BUS_PROPERTY("TransitionsLastMinute", "u", get_transitions_last_minute, 0, 0),
        SD_BUS_PROPERTY("UptimeUSec", "t", get_uptime, 0, 0),
        SD_BUS_PROPERTY("Ticks", "t", get_ticks, 0, 0),
        SD_BUS_PROPERTY("LateUSec", "t", get_late, 0, 0),
        SD_BUS_PROPERTY("CpuUSec", "t", get_cpu_usec, 0, 0),
        SD_BUS_PROPERTY("Wakeups", "t", get_wakeups, 0, 0),
        SD_BUS_PROPERTY("PeriodUSec", "t", get_period, 0, 0),
        SD_BUS_VTABLE_END,
};

/* The vtable of measured_properties, made once. */
static const sd_bus_vtable *machine_vtable(void)
{
        static const sd_bus_vtable start = SD_BUS_VTABLE_START(0), end = SD_BUS_VTABLE_END;
        static GArray *made;

        if (made)
                return (const sd_bus_vtable *)(void *)made->data;
        made = g_array_new(FALSE, FALSE, sizeof(sd_bus_vtable));
        g_array_append_val(made, start);
        for (const Measured *row = measured_properties; row->property; row++) {
                sd_bus_vtable entry = SD_BUS_PROPERTY(row->property, row->signature, get_measured,
                                                      0, 0);

                g_array_append_val(made, entry);
        }
        g_array_append_val(made, end);
        return (const sd_bus_vtable *)(void *)made->data;
}

int bus_export_measured(Bus *bus)
{
        int r = sd_bus_add_object_vtable(bus->connection, NULL, BUS_PATH, BUS_INTERFACE,
                                         machine_vtable(), bus);

        return r < 0 ? r
                     : sd_bus_add_object_vtable(bus->connection, NULL, BUS_PATH, BUS_INTERFACE,
                                                vtable, bus);
}
