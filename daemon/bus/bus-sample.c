/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager's method Sample: what programs that follow a machine ask again and again, in one
 * answer. Reading the same from the objects' properties costs three times as much on a machine of
 * 256 CPUs, most of it for names.
 *
 * Energy is what any user may know: whole joules, of readings that are at least a second apart.
 */

#include "bus/bus-parts.h"

/* Appends one key whose value is made by `append`. */
static int append_key(sd_bus_message *m, const char *key, const char *type, Bus *bus,
                      int (*append)(sd_bus_message *m, Bus *bus))
{
        int r = bus_open_key(m, key, type);

        if (r >= 0)
                r = append(m, bus);
        return bus_close_key(m, r);
}

static int append_cpus(sd_bus_message *m, Bus *bus)
{
        const Manager *manager = bus->manager;
        const History *history = manager_history(manager);
        uint64_t now = manager_now();
        int r = 0;

        CPUSET_FOREACH(cpu, &manager_topology(manager)->present) {
                const TopologyCpu *place = &manager_topology(manager)->cpus[cpu];
                const CpuTotal *total = observers_cpu(manager_observers(manager), cpu);
                bool online = cpuset_has(&manager_topology(manager)->online, cpu);

                if (r >= 0)
                        r = sd_bus_message_append(
                                m, "(uttiii)", cpu, (uint64_t)total->busy_usec,
                                history_parked_usec(history, cpu, now), online ? place->core : -1,
                                online ? place->package : -1, online ? place->node : -1);
        }
        return r;
}

static int append_idle_states(sd_bus_message *m, Bus *bus)
{
        const Manager *manager = bus->manager;
        int r = 0;

        CPUSET_FOREACH(cpu, &manager_topology(manager)->online) {
                const IdleStates *states = bus_idle_states(bus, cpu);
                const CpuTotal *total = observers_cpu(manager_observers(manager), cpu);

                for (int s = 0; r >= 0 && s < states->n; s++)
                        r = sd_bus_message_append(m, "(usttttt)", cpu, states->info[s].name,
                                                  (uint64_t)total->idle_usec[s], total->entered[s],
                                                  total->above[s], total->below[s],
                                                  total->rejected[s]);
        }
        return r;
}

static int append_limits(sd_bus_message *m, Bus *bus)
{
        const Manager *manager = bus->manager;
        int r = 0;

        CPUSET_FOREACH(cpu, &manager_topology(manager)->online) {
                CpuWish limits = manager_limits(manager, cpu);
                bool any = limits.latency_us >= 0 || limits.min_khz || limits.max_khz ||
                           limits.bias >= 0 || limits.boost >= 0 || limits.governor ||
                           limits.preference;

                if (r >= 0 && any)
                        r = sd_bus_message_append(m, "(uiuuiiss)", cpu, limits.latency_us,
                                                  limits.min_khz, limits.max_khz, limits.bias,
                                                  limits.boost, limits.governor, limits.preference);
        }
        return r;
}

static int append_disabled(sd_bus_message *m, Bus *bus)
{
        const Manager *manager = bus->manager;
        int r = 0;

        CPUSET_FOREACH(cpu, &manager_topology(manager)->online) {
                uint16_t disabled = manager_limits(manager, cpu).disabled;
                const IdleStates *states = bus_idle_states(bus, cpu);

                for (int s = 0; r >= 0 && s < states->n; s++)
                        if (disabled >> s & 1)
                                r = sd_bus_message_append(m, "(us)", cpu, states->info[s].name);
        }
        return r;
}

static int append_transitions(sd_bus_message *m, Bus *bus)
{
        const CauseCount *counts;
        unsigned n = history_causes(manager_history(bus->manager), &counts);
        int r = 0;

        for (unsigned i = 0; r >= 0 && i < n; i++)
                r = sd_bus_message_append(m, "(sst)", cause_text(counts[i].cause, counts[i].policy),
                                          counts[i].policy, counts[i].count);
        return r;
}

int bus_method_sample(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        const Snapshot *load = observers_read(manager_observers(bus->manager), SENSE_LOAD);
        const Snapshot *idle = observers_read(manager_observers(bus->manager), SENSE_RESIDENCY);
        _message_ sd_bus_message *reply = NULL;
        int r = bus_begin_reply(message, "{sv}", &reply);

        if (r >= 0)
                r = append_key(reply, "Cpus", "a(uttiii)", bus, append_cpus);
        if (r >= 0 && idle && idle->have & SENSE_RESIDENCY)
                r = append_key(reply, "IdleStates", "a(usttttt)", bus, append_idle_states);
        if (r >= 0)
                r = append_key(reply, "Limits", "a(uiuuiiss)", bus, append_limits);
        if (r >= 0)
                r = append_key(reply, "DisabledStates", "a(us)", bus, append_disabled);
        if (r >= 0)
                r = append_key(reply, "Energy", "a(sstdts)", bus, bus_append_energy);
        if (r >= 0)
                r = append_key(reply, "Transitions", "a(sst)", bus, append_transitions);
        if (r >= 0)
                r = sd_bus_message_append(reply, "{sv}", "RefusedAffinities", "t",
                                          refused_total(refusals_table(watching_refusals(
                                                  manager_watching(bus->manager)))));
        if (r >= 0 && load && load->have & SENSE_PRESSURE)
                r = sd_bus_message_append(
                        reply, "{sv}", "PressureUSec", "t",
                        (uint64_t)observers_pressure_usec(manager_observers(bus->manager)));
        return bus_send_reply(reply, r);
}
