/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes on their way: from the manager to signals (bus-publish.c), and from systemd's units to
 * the manager.
 */
#include "bus/bus-parts.h"

/* Signals changes as soon as the loop is free. Changes of holds alone wait a little longer: holds
 * come and go quickly, and the next request must not wait for the signals about the last one. */
static void publish_soon(Bus *bus)
{
        if (bus->changes & CHANGE_PARKED)
                sd_event_source_set_priority(bus->publish, SD_EVENT_PRIORITY_IMPORTANT);
        if (bus->changes & ~(unsigned)(CHANGE_HOLDS | CHANGE_HOLD_CPUS))
                sd_event_source_set_enabled(bus->publish, SD_EVENT_ONESHOT);
        else if (sd_event_source_get_enabled(bus->publish_later, NULL) <= 0)
                timer_set_in(bus->publish_later, BUS_HOLDS_USEC);
}

static void units_came(bool top, void *userdata)
{
        manager_units_came(((Bus *)userdata)->manager, top);
}

static void unit_job(const char *unit, UnitJob job, void *userdata)
{
        manager_unit_job(((Bus *)userdata)->manager, unit, job);
}

static void unit_cpus(const char *unit, const UnitCpus *cpus, void *userdata)
{
        manager_unit_cpus(((Bus *)userdata)->manager, unit, cpus);
}

static void units_listed(int error, void *userdata)
{
        manager_units_listed(((Bus *)userdata)->manager, error);
}

void bus_watch_units(Bus *bus)
{
        const UnitListener listener = {
                .came = units_came,
                .job = unit_job,
                .cpus = unit_cpus,
                .listed = units_listed,
                .userdata = bus,
        };

        units_watch(bus->units, manager_units_wanted(bus->manager), &listener);
}

void bus_changed(Manager *manager, unsigned changes, void *userdata)
{
        Bus *bus = userdata;

        bus->changes |= changes;
        if (!bus->changes)
                return;
        bus_watch_units(bus);
        publish_soon(bus);
}
