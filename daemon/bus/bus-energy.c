/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /org/idled1/energy/NAME, one for every energy domain.
 *
 * Energy counters that tick a thousand times a second reveal what other processes compute. Every
 * user may read the power, a mean over at least one second (the manager ensures that) and rounded
 * to 0.1 W; the counters themselves are a privileged method of the manager's object.
 */
#include <math.h>

#include "bus/bus-parts.h"

static int path_domain(const Bus *bus, const char *path)
{
        const EnergyDomain *domains;
        int n = sensors_energy_domains(manager_sensors(bus->manager), &domains);
        g_autofree char *name = NULL;

        if (sd_bus_path_decode(path, BUS_PATH_ENERGY, &name) <= 0)
                return -1;
        for (int i = 0; i < n; i++)
                if (g_str_equal(domains[i].name, name))
                        return i;
        return -1;
}

static const EnergyDomain *path_info(const Bus *bus, const char *path)
{
        const EnergyDomain *domains;

        sensors_energy_domains(manager_sensors(bus->manager), &domains);
        return &domains[path_domain(bus, path)];
}

void bus_energy_paths(const Bus *bus, GPtrArray *paths)
{
        const EnergyDomain *domains;
        int n = sensors_energy_domains(manager_sensors(bus->manager), &domains);

        for (int i = 0; i < n; i++) {
                char *path;

                if (sd_bus_path_encode(BUS_PATH_ENERGY, domains[i].name, &path) >= 0)
                        g_ptr_array_add(paths, path);
        }
}

BUS_OBJECTS(energy, path_domain(bus, path) >= 0, bus_energy_paths);

BUS_VALUE(get_name, "s", path_info(bus, path)->name);

BUS_GETTER(get_parent)
{
        const Bus *bus = userdata;
        int parent = path_info(bus, path)->parent;
        const EnergyDomain *domains;

        sensors_energy_domains(manager_sensors(bus->manager), &domains);
        return sd_bus_message_append(reply, "s", parent < 0 ? "" : domains[parent].name);
}

BUS_GETTER(get_range)
{
        uint64_t range = path_info(userdata, path)->range_uj;

        return sd_bus_message_append(reply, "t", range == ENERGY_RANGE_NONE ? 0 : range);
}

BUS_VALUE(get_source, "s", energy_source_text(path_info(bus, path)->source));

BUS_VALUE(get_sampled, "b", path_info(bus, path)->sampled);

/* Watts as any user may know them; -1: not known. */
static double rounded_watts(const Bus *bus, int domain)
{
        const Snapshot *seen = observers_read(manager_observers(bus->manager), SENSE_ENERGY);

        if (!seen || seen->interval_usec == 0 || domain >= seen->n_energy ||
            !seen->energy[domain].valid)
                return -1;
        return round(seen->energy[domain].watts * 10) / 10;
}

BUS_VALUE(get_power, "d", rounded_watts(bus, path_domain(bus, path)));

BUS_VALUE(get_dropped, "t",
          observers_energy(manager_observers(bus->manager), path_domain(bus, path)).dropped);

int bus_append_energy(sd_bus_message *message, Bus *bus)
{
        const EnergyDomain *domains;
        int n = sensors_energy_domains(manager_sensors(bus->manager), &domains), r = 0;

        for (int i = 0; r >= 0 && i < n; i++) {
                double watts = rounded_watts(bus, i);
                EnergyTotal sum = observers_energy(manager_observers(bus->manager), i);
                int parent = domains[i].parent;

                r = sd_bus_message_append(message, "(sstdts)", domains[i].name,
                                          parent < 0 ? "" : domains[parent].name,
                                          (uint64_t)sum.joules, watts, sum.dropped,
                                          energy_source_text(domains[i].source));
        }
        return r;
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Name", "s", get_name, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Parent", "s", get_parent, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("RangeUJ", "t", get_range, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Source", "s", get_source, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Sampled", "b", get_sampled, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Power", "d", get_power, 0, 0),
        SD_BUS_PROPERTY("Dropped", "t", get_dropped, 0, 0),
        SD_BUS_VTABLE_END,
};

int bus_export_energy(Bus *bus)
{
        return bus_export_below(bus, BUS_PATH_ENERGY, BUS_INTERFACE_ENERGY, vtable, energy_find,
                                energy_enumerate);
}

static int reply_energy(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        const Bus *bus = userdata;
        _message_ sd_bus_message *reply = NULL;
        const EnergyDomain *domains;
        int n = sensors_energy_domains(manager_sensors(bus->manager), &domains);
        int r = bus_begin_reply(message, "(st)", &reply);

        observers_read(manager_observers(bus->manager), SENSE_ENERGY);
        for (int i = 0; r >= 0 && i < n; i++) {
                EnergyTotal sum = observers_energy(manager_observers(bus->manager), i);

                r = sd_bus_message_append(reply, "(st)", domains[i].name,
                                          (uint64_t)(sum.joules * 1e6));
        }
        return bus_send_reply(reply, r);
}

BUS_AUTHORIZED(bus_method_get_energy, "org.idled1.read-energy", reply_energy);
