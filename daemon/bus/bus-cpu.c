/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /org/idled1/cpu/N, one for every present CPU, so that the objects stay when a CPU goes offline.
 *
 * Limits is what idled has in effect. A key is absent where no policy requests anything, and where
 * another program has taken a knob over. A change of the plan may change any part for any CPU. So
 * the last signalled values are kept, and only CPUs whose values differ from them are signalled.
 */

#include "base/number.h"
#include "bus/bus-parts.h"
#include "model/kind.h"

/* The number of the CPU that a path names, -1 if there is none such. */
static int path_cpu(const Bus *bus, const char *path)
{
        const char *name = path + strlen(BUS_PATH_CPU);
        int cpu;

        if (*name++ != '/' || int_parse(name, &cpu) < 0 || (*name == '0' && name[1]))
                return -1;
        return cpuset_has(&manager_topology(bus->manager)->present, cpu) ? cpu : -1;
}

static void cpu_paths(const Bus *bus, GPtrArray *paths)
{
        CPUSET_FOREACH(cpu, &manager_topology(bus->manager)->present)
                g_ptr_array_add(paths, g_strdup_printf(BUS_PATH_CPU "/%d", cpu));
}

BUS_OBJECTS(cpu, path_cpu(bus, path) >= 0, cpu_paths);

BUS_VALUE(get_number, "u", path_cpu(bus, path));

BUS_VALUE(get_online, "b",
          cpuset_has(&manager_topology(bus->manager)->online, path_cpu(bus, path)));
BUS_VALUE(get_parked, "b", cpuset_has(manager_parked(bus->manager), path_cpu(bus, path)));
BUS_VALUE(get_isolated, "b",
          cpuset_has(&manager_topology(bus->manager)->isolated, path_cpu(bus, path)));

/* Offline CPUs have no place. */
static const TopologyCpu *place_of(const Bus *bus, const char *path)
{
        static const TopologyCpu none = {
                .core = -1, .cluster = -1, .die = -1, .package = -1, .node = -1, .thread = -1
        };
        const Topology *topology = manager_topology(bus->manager);
        int cpu = path_cpu(bus, path);

        return cpuset_has(&topology->online, cpu) ? &topology->cpus[cpu] : &none;
}

BUS_VALUE(get_core, "i", place_of(bus, path)->core);
BUS_VALUE(get_cluster, "i", place_of(bus, path)->cluster);
BUS_VALUE(get_die, "i", place_of(bus, path)->die);
BUS_VALUE(get_package, "i", place_of(bus, path)->package);
BUS_VALUE(get_node, "i", place_of(bus, path)->node);
BUS_VALUE(get_thread, "i", place_of(bus, path)->thread);

BUS_VALUE(get_capacity, "u", manager_topology(bus->manager)->cpus[path_cpu(bus, path)].capacity);

BUS_GETTER(get_kinds)
{
        const Bus *bus = userdata;
        unsigned kinds = manager_topology(bus->manager)->cpus[path_cpu(bus, path)].kinds;
        int r = sd_bus_message_open_container(reply, 'a', "s");

        for (int i = 0; r >= 0 && kind_names[i]; i++)
                if (kinds & 1u << i)
                        r = sd_bus_message_append(reply, "s", kind_names[i]);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

BUS_GETTER(get_utilization)
{
        const Bus *bus = userdata;
        const Snapshot *seen = observers_read(manager_observers(bus->manager), SENSE_LOAD);
        int cpu = path_cpu(bus, path);

        return sd_bus_message_append(
                reply, "d", seen && cpuset_has(&seen->cpus, cpu) ? (double)seen->busy[cpu] : 0.0);
}

const IdleStates *bus_idle_states(Bus *bus, int cpu)
{
        IdleStates *states = g_ptr_array_index(bus->seen.states, cpu);

        if (states)
                return states;
        states = g_new0(IdleStates, 1);
        states->n = MAX(idle_states_read(manager_setup(bus->manager)->root, cpu, states->info), 0);
        bus->seen.states->pdata[cpu] = states;
        return states;
}

BUS_VALUE(get_parked_usec, "t",
          history_parked_usec(manager_history(bus->manager), path_cpu(bus, path), manager_now()));

BUS_GETTER(get_idle_states)
{
        Bus *bus = userdata;
        const IdleStates *states = bus_idle_states(bus, path_cpu(bus, path));
        int r = sd_bus_message_open_container(reply, 'a', "(suu)");

        for (int i = 0; r >= 0 && i < states->n; i++)
                r = sd_bus_message_append(reply, "(suu)", states->info[i].name,
                                          states->info[i].exit_latency_us,
                                          states->info[i].target_residency_us);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* What the CPU did, NULL if that is not known. */
static const Residency *residency(const Bus *bus, int cpu)
{
        const Snapshot *seen = observers_read(manager_observers(bus->manager), SENSE_RESIDENCY);

        if (!seen || !(seen->have & SENSE_RESIDENCY) || !cpuset_has(&seen->cpus, cpu))
                return NULL;
        return &seen->residency[cpu];
}

BUS_GETTER(get_residency)
{
        Bus *bus = userdata;
        int cpu = path_cpu(bus, path);
        const IdleStates *states = bus_idle_states(bus, cpu);
        const Residency *seen = residency(bus, cpu);
        uint64_t none = 0;
        int r = sd_bus_message_open_container(reply, 'a', "(sdtttt)");

        if (r >= 0 && seen)
                r = sd_bus_message_append(reply, "(sdtttt)", "C0", (double)seen->busy, none, none,
                                          none, none);
        for (int i = 0; r >= 0 && seen && i < MIN(seen->n_states, states->n); i++)
                r = sd_bus_message_append(reply, "(sdtttt)", states->info[i].name,
                                          (double)seen->share[i], (uint64_t)seen->entered[i],
                                          (uint64_t)seen->above[i], (uint64_t)seen->below[i],
                                          (uint64_t)seen->rejected[i]);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

BUS_GETTER(get_estimated)
{
        Bus *bus = userdata;
        int cpu = path_cpu(bus, path);
        const IdleStates *states = bus_idle_states(bus, cpu);
        const Residency *seen = residency(bus, cpu);
        bool known = seen && seen->estimated >= 0 && seen->estimated < states->n;

        return sd_bus_message_append(reply, "s", known ? states->info[seen->estimated].name : "");
}

BUS_GETTER(get_residency_usec)
{
        const Bus *bus = userdata;
        const Snapshot *seen = observers_read(manager_observers(bus->manager), SENSE_RESIDENCY);

        return sd_bus_message_append(reply, "t", seen ? seen->interval_usec : 0);
}

BUS_GETTER(get_reason)
{
        const Bus *bus = userdata;
        Manager *manager = bus->manager;
        g_autofree char *obstacle = manager_obstacle(manager);
        g_autofree char *text = manager_explain_cpu(manager, path_cpu(bus, path), obstacle);

        return bus_append_shown(reply, bus, text);
}

BUS_APPENDED(get_figures, bus_append_figures(reply, bus->manager, path_cpu(bus, path)));

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

BUS_GETTER(get_limits)
{
        int cpu = path_cpu(userdata, path), r;
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

#define CHANGES  SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE
#define EXPLICIT SD_BUS_VTABLE_PROPERTY_EXPLICIT

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Number", "u", get_number, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Online", "b", get_online, 0, CHANGES),
        SD_BUS_PROPERTY("Parked", "b", get_parked, 0, CHANGES),
        SD_BUS_PROPERTY("Isolated", "b", get_isolated, 0, CHANGES),
        SD_BUS_PROPERTY("Core", "i", get_core, 0, CHANGES),
        SD_BUS_PROPERTY("Cluster", "i", get_cluster, 0, CHANGES),
        SD_BUS_PROPERTY("Die", "i", get_die, 0, CHANGES),
        SD_BUS_PROPERTY("Package", "i", get_package, 0, CHANGES),
        SD_BUS_PROPERTY("Node", "i", get_node, 0, CHANGES),
        SD_BUS_PROPERTY("Thread", "i", get_thread, 0, CHANGES),
        SD_BUS_PROPERTY("Capacity", "u", get_capacity, 0, CHANGES),
        SD_BUS_PROPERTY("Kinds", "as", get_kinds, 0, CHANGES),
        SD_BUS_PROPERTY("Utilization", "d", get_utilization, 0, 0),
        SD_BUS_PROPERTY("ParkedUSec", "t", get_parked_usec, 0, 0),
        SD_BUS_PROPERTY("IdleStates", "a(suu)", get_idle_states, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Residency", "a(sdtttt)", get_residency, 0, 0),
        SD_BUS_PROPERTY("ResidencyUSec", "t", get_residency_usec, 0, 0),
        SD_BUS_PROPERTY("Estimated", "s", get_estimated, 0, 0),
        SD_BUS_PROPERTY("Reason", "s", get_reason, 0, 0),
        SD_BUS_PROPERTY("Limits", "a{sv}", get_limits, 0, CHANGES),
        SD_BUS_PROPERTY("Figures", "a(sssd)", get_figures, 0, EXPLICIT),
        SD_BUS_VTABLE_END,
};

int bus_export_cpus(Bus *bus)
{
        return bus_export_below(bus, BUS_PATH_CPU, BUS_INTERFACE_CPU, vtable, cpu_find,
                                cpu_enumerate);
}

static CpuSeen cpu_state(const Manager *manager, int cpu)
{
        return (CpuSeen){
                .since_usec = history_since_usec(manager_history(manager), cpu),
                .parked = cpuset_has(manager_parked(manager), cpu),
                .online = cpuset_has(&manager_topology(manager)->online, cpu),
        };
}

void bus_remember_cpus(Bus *bus)
{
        CPUSET_FOREACH(cpu, &manager_topology(bus->manager)->present)
                bus->seen.cpus[cpu] = cpu_state(bus->manager, cpu);
}

void bus_publish_cpus(Bus *bus, unsigned changes)
{
        if (changes & CHANGE_TOPOLOGY)
                for (guint i = 0; i < bus->seen.states->len; i++)
                        g_clear_pointer(&bus->seen.states->pdata[i], g_free);
        CPUSET_FOREACH(cpu, &manager_topology(bus->manager)->present) {
                CpuSeen now = cpu_state(bus->manager, cpu), *seen = &bus->seen.cpus[cpu];
                g_autofree char *path = NULL;

                if (now.since_usec == seen->since_usec && now.parked == seen->parked &&
                    now.online == seen->online && !(changes & CHANGE_TOPOLOGY))
                        continue;
                path = g_strdup_printf(BUS_PATH_CPU "/%d", cpu);
                if (now.since_usec != seen->since_usec || now.parked != seen->parked)
                        sd_bus_emit_properties_changed(bus->connection, path, BUS_INTERFACE_CPU,
                                                       "Parked", NULL);
                if (changes & CHANGE_TOPOLOGY)
                        sd_bus_emit_properties_changed(bus->connection, path, BUS_INTERFACE_CPU,
                                                       "Online", "Isolated", "Core", "Cluster",
                                                       "Die", "Package", "Node", "Thread",
                                                       "Capacity", "Kinds", NULL);
                *seen = now;
        }
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
