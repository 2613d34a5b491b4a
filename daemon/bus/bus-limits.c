/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits of a CPU: properties of /org/idled1/cpu/N with what idled has in effect. They are empty
 * where no policy requests anything, and where another program has taken a knob over.
 *
 * A change of the plan may change any part for any CPU. So the last signalled values are kept, and
 * only values that differ from them are signalled.
 */
#include "bus/bus-parts.h"

static CpuWish limits_of(const Bus *bus, const char *path)
{
        return manager_limits(bus->manager, bus_path_cpu(bus, path));
}

BUS_GETTER(get_governor)
{
        return sd_bus_message_append(reply, "s", limits_of(userdata, path).governor ?: "");
}

BUS_GETTER(get_preference)
{
        return sd_bus_message_append(reply, "s", limits_of(userdata, path).preference ?: "");
}

BUS_GETTER(get_min_frequency)
{
        return sd_bus_message_append(reply, "u", limits_of(userdata, path).min_khz);
}

BUS_GETTER(get_max_frequency)
{
        return sd_bus_message_append(reply, "u", limits_of(userdata, path).max_khz);
}

BUS_GETTER(get_bias)
{
        return sd_bus_message_append(reply, "i", limits_of(userdata, path).bias);
}

BUS_GETTER(get_boost)
{
        return sd_bus_message_append(reply, "i", limits_of(userdata, path).boost);
}

BUS_GETTER(get_latency)
{
        return sd_bus_message_append(reply, "i", limits_of(userdata, path).latency_us);
}

BUS_GETTER(get_disabled)
{
        Bus *bus = userdata;
        uint16_t disabled = limits_of(bus, path).disabled;
        const IdleStates *states = bus_idle_states(bus, bus_path_cpu(bus, path));
        int r = sd_bus_message_open_container(reply, 'a', "s");

        for (int i = 0; r >= 0 && i < states->n; i++)
                if (disabled >> i & 1)
                        r = sd_bus_message_append(reply, "s", states->info[i].name);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

#define CHANGES SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Governor", "s", get_governor, 0, CHANGES),
        SD_BUS_PROPERTY("EnergyPreference", "s", get_preference, 0, CHANGES),
        SD_BUS_PROPERTY("EnergyBias", "i", get_bias, 0, CHANGES),
        SD_BUS_PROPERTY("Boost", "i", get_boost, 0, CHANGES),
        SD_BUS_PROPERTY("MinFrequency", "u", get_min_frequency, 0, CHANGES),
        SD_BUS_PROPERTY("MaxFrequency", "u", get_max_frequency, 0, CHANGES),
        SD_BUS_PROPERTY("LatencyLimit", "i", get_latency, 0, CHANGES),
        SD_BUS_PROPERTY("DisabledStates", "as", get_disabled, 0, CHANGES),
        SD_BUS_VTABLE_END,
};

int bus_export_limits(Bus *bus)
{
        return sd_bus_add_fallback_vtable(bus->connection, NULL, BUS_PATH_CPU, BUS_INTERFACE_CPU,
                                          vtable, bus_cpu_find, bus);
}

void bus_remember_limits(Bus *bus)
{
        CPUSET_FOREACH(cpu, &manager_topology(bus->manager)->possible)
                bus->seen_limits[cpu] = manager_limits(bus->manager, cpu);
}

/* The properties in which the two differ. */
static void changed_names(const CpuWish *a, const CpuWish *b, char *names[9])
{
        const struct {
                const char *name;
                bool differs;
        } rows[] = {
                { "Governor", a->governor != b->governor },
                { "EnergyPreference", a->preference != b->preference },
                { "EnergyBias", a->bias != b->bias },
                { "Boost", a->boost != b->boost },
                { "MinFrequency", a->min_khz != b->min_khz },
                { "MaxFrequency", a->max_khz != b->max_khz },
                { "LatencyLimit", a->latency_us != b->latency_us },
                { "DisabledStates", a->disabled != b->disabled },
        };
        size_t n = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (rows[i].differs)
                        names[n++] = (char *)rows[i].name;
        names[n] = NULL;
}

void bus_publish_limits(Bus *bus, unsigned changes)
{
        if (!(changes & (CHANGE_LIMITS | CHANGE_DEGRADED | CHANGE_TOPOLOGY)))
                return;
        CPUSET_FOREACH(cpu, &manager_topology(bus->manager)->possible) {
                CpuWish now = manager_limits(bus->manager, cpu);
                g_autofree char *path = NULL;
                char *names[9];

                changed_names(&now, &bus->seen_limits[cpu], names);
                if (!names[0])
                        continue;
                path = g_strdup_printf(BUS_PATH_CPU "/%d", cpu);
                sd_bus_emit_properties_changed_strv(bus->connection, path, BUS_INTERFACE_CPU,
                                                    names);
                bus->seen_limits[cpu] = now;
        }
}
