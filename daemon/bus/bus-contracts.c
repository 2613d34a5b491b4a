/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Contracts of units on /org/idled1.
 *
 * Every user may know which contracts there are, as of holds. How late the wake-ups of a user's
 * units are is for that user and root.
 */
#include "bus/bus-parts.h"
#include "model/cgroup-unit.h"

static bool is_shown(const UnitContract *unit, uid_t reader)
{
        return reader == 0 || !unit->cgroup || !g_str_has_prefix(unit->cgroup, "/user.slice/") ||
               cgroup_is_of_user(unit->cgroup, reader);
}

/* What was measured. */
static int append_measured(sd_bus_message *reply, const ContractReport *report)
{
        int r = 0;

        if (report->p99_us > 0)
                r = sd_bus_message_append(reply, "{sv}{sv}", "p99_us", "d", report->p99_us,
                                          "wakeups", "t", (uint64_t)report->wakeups);
        if (r >= 0 && report->infeasible)
                r = sd_bus_message_append(reply, "{sv}", "best_us", "d", report->best_us);
        return r < 0 ? r
                     : sd_bus_message_append(reply, "{sv}{sv}", "windows_kept", "t", report->kept,
                                             "windows_broken", "t", report->broken);
}

/* Who requested it, as the hold's object says. */
static int append_hold(sd_bus_message *reply, const Bus *bus, const UnitContract *unit)
{
        const Held *held = holds_find(manager_holds(bus->manager), unit->hold);
        int r = bus_append_shown_key(reply, bus, "owner", held ? held->owner : NULL);

        return r < 0 ? r : bus_append_shown_key(reply, bus, "reason", held ? held->reason : NULL);
}

static int append_contract(sd_bus_message *reply, const Bus *bus, const UnitContract *unit)
{
        const ContractReport *report = &unit->counts.report;
        g_autofree char *obstacle = manager_contracts_obstacle(bus->manager);
        int r = sd_bus_message_open_container(reply, 'a', "{sv}");

        if (r >= 0)
                r = sd_bus_message_append(reply, "{sv}{sv}", "unit", "s", unit->unit, "cgroup", "s",
                                          unit->cgroup);
        if (r >= 0)
                r = append_hold(reply, bus, unit);
        if (r >= 0)
                r = sd_bus_message_append(
                        reply, "{sv}{sv}{sv}{sv}{sv}", "contract", "t", unit->counts.id, "limit_us",
                        "u", unit->limit_us, "measured", "b", report->measured, "infeasible", "b",
                        report->infeasible, "obstacle", "s",
                        contracts_unit_error(manager_contracts(bus->manager), unit) ?: obstacle);
        if (r >= 0 && report->cores > 0 && !obstacle)
                r = sd_bus_message_append(reply, "{sv}{sv}", "cores", "u", report->cores,
                                          "highest_frequency", "b", report->fast);
        if (r >= 0 && report->latency_us >= 0 && !obstacle)
                r = sd_bus_message_append(reply, "{sv}", "latency_us", "u",
                                          (uint32_t)report->latency_us);
        if (r >= 0 && is_shown(unit, bus_reader(bus, reply)))
                r = append_measured(reply, report);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

int bus_get_contracts(sd_bus *connection, const char *path, const char *interface,
                      const char *property, sd_bus_message *reply, void *userdata,
                      sd_bus_error *error)
{
        const Bus *bus = userdata;
        const UnitContract *unit;
        int r = sd_bus_message_open_container(reply, 'a', "a{sv}");

        for (unsigned i = 0; r >= 0 && (unit = contracts_nth(manager_contracts(bus->manager), i));
             i++)
                r = append_contract(reply, bus, unit);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}
