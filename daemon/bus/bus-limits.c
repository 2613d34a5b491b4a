/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits of a CPU: the property of /org/idled1/cpu/N with what idled has in effect. A key is absent
 * where no policy requests anything, and where another program has taken a knob over.
 *
 * A change of the plan may change any part for any CPU. So the last signalled values are kept, and
 * only CPUs whose values differ from them are signalled.
 */
#include "bus/bus-parts.h"

static int append_disabled(sd_bus_message *reply, Bus *bus, int cpu, uint16_t disabled)
{
        const IdleStates *states = bus_idle_states(bus, cpu);
        int r;

        if (!(disabled & ((1u << states->n) - 1)))
                return 0;
        r = bus_open_key(reply, "disabled_states", "as");
        for (int i = 0; r >= 0 && i < states->n; i++)
                if (disabled >> i & 1)
                        r = sd_bus_message_append(reply, "s", states->info[i].name);
        return bus_close_key(reply, r);
}

/* Appends one key, unless the value is what stands for none. */
static int append_limit(sd_bus_message *reply, const char *key, int64_t value, int64_t none)
{
        return value == none ? 0 : sd_bus_message_append(reply, "{sv}", key, "u", (uint32_t)value);
}

int bus_get_limits(sd_bus *connection, const char *path, const char *interface,
                   const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
        int cpu = bus_path_cpu(userdata, path), r;
        CpuWish limits = manager_limits(((const Bus *)userdata)->manager, cpu);
        const struct {
                const char *key;
                int64_t value, none;
        } rows[] = {
                { "latency_us", limits.latency_us, -1 }, { "energy_bias", limits.bias, -1 },
                { "boost", limits.boost, -1 },           { "min_khz", limits.min_khz, 0 },
                { "max_khz", limits.max_khz, 0 },
        };

        r = sd_bus_message_open_container(reply, 'a', "{sv}");
        for (size_t i = 0; r >= 0 && i < G_N_ELEMENTS(rows); i++)
                r = append_limit(reply, rows[i].key, rows[i].value, rows[i].none);
        if (r >= 0 && limits.governor)
                r = sd_bus_message_append(reply, "{sv}", "governor", "s", limits.governor);
        if (r >= 0 && limits.preference)
                r = sd_bus_message_append(reply, "{sv}", "energy_preference", "s",
                                          limits.preference);
        if (r >= 0)
                r = append_disabled(reply, userdata, cpu, limits.disabled);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

void bus_remember_limits(Bus *bus)
{
        CPUSET_FOREACH(cpu, &manager_topology(bus->manager)->possible)
                bus->seen.limits[cpu] = manager_limits(bus->manager, cpu);
}

void bus_publish_limits(Bus *bus, unsigned changes)
{
        if (!(changes & (CHANGE_LIMITS | CHANGE_DEGRADED | CHANGE_TOPOLOGY)))
                return;
        CPUSET_FOREACH(cpu, &manager_topology(bus->manager)->possible) {
                CpuWish now = manager_limits(bus->manager, cpu);
                g_autofree char *path = NULL;

                if (cpu_wish_equal(&now, &bus->seen.limits[cpu]))
                        continue;
                path = g_strdup_printf(BUS_PATH_CPU "/%d", cpu);
                sd_bus_emit_properties_changed(bus->connection, path, BUS_INTERFACE_CPU, "Limits",
                                               NULL);
                bus->seen.limits[cpu] = now;
        }
}
