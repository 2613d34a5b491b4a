/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /org/idled1/hold/ID, one for every hold. Its methods are in bus-hold-methods.c.
 *
 * A signal carries what changed since the last one: clients never hear of a hold that came and went
 * in between.
 */
#include "bus/bus-hold.h"

#include "base/number.h"

const Held *bus_path_hold(const Bus *bus, const char *path)
{
        const char *name = path + strlen(BUS_PATH_HOLD);
        uint64_t id;

        if (!g_str_has_prefix(path, BUS_PATH_HOLD "/") || u64_parse(name + 1, &id) < 0)
                return NULL;
        return name[1] == '0' ? NULL : holds_find(manager_holds(bus->manager), id);
}

/* For getters, which sd-bus calls only if hold_find() found the hold. */
static const Held *path_hold(const Bus *bus, const char *path)
{
        const Held *held = bus_path_hold(bus, path);

        g_assert(held);
        return held;
}

char *bus_hold_path(uint64_t id)
{
        return g_strdup_printf(BUS_PATH_HOLD "/%" G_GUINT64_FORMAT, id);
}

static void hold_paths(const Bus *bus, GPtrArray *paths)
{
        for (unsigned i = 0; i < holds_count(manager_holds(bus->manager)); i++)
                g_ptr_array_add(paths,
                                bus_hold_path(holds_nth(manager_holds(bus->manager), i)->id));
}

BUS_OBJECTS(hold, bus_path_hold(bus, path) != NULL, hold_paths);

BUS_APPENDED(get_owner, bus_append_shown(reply, bus, path_hold(bus, path)->owner));

BUS_APPENDED(get_reason, bus_append_shown(reply, bus, path_hold(bus, path)->reason));

BUS_GETTER(get_obstacle)
{
        const Bus *bus = userdata;
        g_autofree char *text = manager_hold_obstacle(bus->manager, path_hold(bus, path));

        return bus_append_shown(reply, bus, text);
}

/* Its process. One that a rule matched, not a client on the bus, is private to its user. */
static uint32_t shown_pid(const Bus *bus, const Held *held, sd_bus_message *reply)
{
        uid_t reader = held->sender ? 0 : bus_reader(bus, reply);

        return reader == 0 || reader == held->shown_uid ? (uint32_t)held_pid(held) : 0;
}

BUS_VALUE(get_user, "u", path_hold(bus, path)->shown_uid);

BUS_VALUE(get_pid, "u", shown_pid(bus, path_hold(bus, path), reply));

BUS_VALUE(get_id, "t", path_hold(bus, path)->id);

BUS_VALUE(get_since, "t", path_hold(bus, path)->since_usec);

BUS_VALUE(get_bound, "b", path_hold(bus, path)->bound);

/* Appends a key whose value is a number, if it is requested. */
static int append_number(sd_bus_message *reply, const char *key, uint32_t number, bool requested)
{
        return requested ? sd_bus_message_append(reply, "{sv}", key, "u", number) : 0;
}

/* The keys of Hold() that the client gave. */
BUS_GETTER(get_request)
{
        const Bus *bus = userdata;
        const Held *held = path_hold(bus, path);
        const Hold *hold = holds_hold(held);
        int r = sd_bus_message_open_container(reply, 'a', "{sv}");

        if (r >= 0)
                r = append_number(reply, "latency_us", (uint32_t)hold->latency_us,
                                  hold->latency_us >= 0);
        if (r >= 0)
                r = append_number(reply, "wakeup_p99_us", held->contract.p99_us,
                                  held->contract.p99_us > 0);
        if (r >= 0 && hold->global)
                r = sd_bus_message_append(reply, "{sv}", "global", "b", 1);
        if (r >= 0)
                r = append_number(reply, "min_cores", hold->min_cores, hold->min_cores > 0);
        if (r >= 0)
                r = append_number(reply, "min_frequency_khz", hold->min_khz, hold->min_khz > 0);
        if (r >= 0 && held->kinds) {
                g_autofree char *kinds = kinds_format(held->kinds);

                r = sd_bus_message_append(reply, "{sv}", "kind", "s", kinds);
        }
        if (r >= 0 && held->profile)
                r = bus_append_shown_key(reply, bus, "profile", held->profile);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

BUS_GETTER(get_unit)
{
        const Held *held = path_hold(userdata, path);

        return sd_bus_message_append(reply, "s", held->kinds ? held->unit : NULL);
}

BUS_APPENDED(get_cpus, bus_append_cpus(reply, &holds_hold(path_hold(bus, path))->cpus));

#define CONST   SD_BUS_VTABLE_PROPERTY_CONST
#define CHANGES SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Id", "t", get_id, 0, CONST),
        SD_BUS_PROPERTY("Owner", "s", get_owner, 0, CONST),
        SD_BUS_PROPERTY("User", "u", get_user, 0, CONST),
        SD_BUS_PROPERTY("Pid", "u", get_pid, 0, CONST),
        SD_BUS_PROPERTY("Bound", "b", get_bound, 0, CONST),
        SD_BUS_PROPERTY("SinceUSec", "t", get_since, 0, CONST),
        SD_BUS_PROPERTY("Reason", "s", get_reason, 0, CONST),
        SD_BUS_PROPERTY("Request", "a{sv}", get_request, 0, CONST),
        SD_BUS_PROPERTY("Unit", "s", get_unit, 0, CONST),
        SD_BUS_PROPERTY("CPUs", "s", get_cpus, 0, CHANGES),
        SD_BUS_PROPERTY("Obstacle", "s", get_obstacle, 0, CHANGES),
        SD_BUS_VTABLE_END,
};

int bus_export_holds(Bus *bus)
{
        return bus_export_below(bus, BUS_PATH_HOLD, BUS_INTERFACE_HOLD, vtable, hold_find,
                                hold_enumerate);
}

static gboolean is_gone(gpointer key, gpointer value, gpointer userdata)
{
        const Bus *bus = userdata;
        g_autofree char *path = NULL;

        if (holds_find(manager_holds(bus->manager), *(uint64_t *)key))
                return false;
        path = bus_hold_path(*(uint64_t *)key);
        sd_bus_emit_interfaces_removed(bus->connection, path, BUS_INTERFACE_HOLD, NULL);
        return true;
}

/* What clients know of a hold. */
typedef struct Seen {
        unsigned moves; /* how often it had moved */
        char *obstacle;
} Seen;

void bus_seen_hold_free(gpointer data)
{
        Seen *seen = data;

        g_free(seen->obstacle);
        g_free(seen);
}

/* Begins to report a hold. Changes during the signals go into the next ones. */
static void see(Bus *bus, const Held *held, const char *path)
{
        Seen *seen = g_new0(Seen, 1);

        seen->moves = held->n_moves;
        seen->obstacle = manager_hold_obstacle(bus->manager, held);
        sd_bus_emit_object_added(bus->connection, path);
        g_hash_table_insert(bus->seen.holds, g_memdup2(&held->id, sizeof(held->id)), seen);
}

/* What is new of one hold; `obstacles` says that what stands in its way may have changed. */
static void publish_hold(Bus *bus, const Held *held, bool obstacles)
{
        g_autofree char *path = bus_hold_path(held->id), *obstacle = NULL;
        Seen *seen = g_hash_table_lookup(bus->seen.holds, &held->id);
        bool moved;

        if (!seen) {
                see(bus, held, path);
                return;
        }
        moved = seen->moves != held->n_moves;
        if (!moved && !obstacles)
                return;
        obstacle = manager_hold_obstacle(bus->manager, held);
        if (!moved && g_strcmp0(obstacle, seen->obstacle) == 0)
                return;
        sd_bus_emit_properties_changed(bus->connection, path, BUS_INTERFACE_HOLD, "CPUs",
                                       "Obstacle", NULL);
        seen->moves = held->n_moves;
        g_free(seen->obstacle);
        seen->obstacle = g_steal_pointer(&obstacle);
}

void bus_publish_holds(Bus *bus, unsigned changes)
{
        unsigned obstacles = changes & (CHANGE_PAUSED | CHANGE_DEGRADED | CHANGE_CONFIG |
                                        CHANGE_PROFILE | CHANGE_TOPOLOGY | CHANGE_MISSING |
                                        CHANGE_OBSTACLES | CHANGE_EVALUATION | CHANGE_PARKED);

        if (!obstacles && !(changes & (CHANGE_HOLDS | CHANGE_HOLD_CPUS)))
                return;
        g_hash_table_foreach_remove(bus->seen.holds, is_gone, bus);
        for (unsigned i = 0; i < holds_count(manager_holds(bus->manager)); i++)
                publish_hold(bus, holds_nth(manager_holds(bus->manager), i), obstacles);
}
