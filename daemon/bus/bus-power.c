/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * net.hadess.PowerProfiles and org.freedesktop.UPower.PowerProfiles.
 *
 * Both are served as long as [Daemon] PowerProfilesNames= says so.
 *
 * ActiveProfile is set with the standard Set, which sd-bus answers before polkit could; so calls to
 * Set are taken before sd-bus sees them.
 */
#include "bus/bus-power.h"

#include <assert.h>

#include "base/log.h"

#define PROPERTIES "org.freedesktop.DBus.Properties"
#define DRIVER     "idled"

static const char *active_profile(const BusPower *power)
{
        const Profile *profile = manager_config(power->bus->manager)->profile;

        return profile ? profile->family : PROFILE_BALANCED;
}

/* Why performance is not what it could be; the empty text if it is. */
static char *degraded(const BusPower *power)
{
        char *inhibited = NULL;

        if (g_str_equal(active_profile(power), "performance"))
                inhibited = manager_profile_inhibited(power->bus->manager);
        return inhibited ? inhibited : g_strdup("");
}

BUS_GETTER(get_active)
{
        return sd_bus_message_append(reply, "s", active_profile(userdata));
}

BUS_VALUE(get_inhibited, "s", "");

BUS_GETTER(get_degraded)
{
        g_autofree char *text = degraded(userdata);

        return sd_bus_message_append(reply, "s", text);
}

BUS_GETTER(get_profiles)
{
        const BusPower *power = userdata;
        int r = sd_bus_message_open_container(reply, 'a', "a{sv}");

        for (int i = 0; r >= 0 && power_profiles[i]; i++)
                if (config_profile(manager_config(power->bus->manager), power_profiles[i]))
                        r = sd_bus_message_append(reply, "a{sv}", 3, "Profile", "s",
                                                  power_profiles[i], "Driver", "s", DRIVER,
                                                  "CpuDriver", "s", DRIVER);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

BUS_VALUE(get_actions, "as", 0);

BUS_VALUE(get_actions_info, "aa{sv}", 0);

BUS_GETTER(get_holds)
{
        const BusPower *power = userdata;

        return power_append_holds(reply, power->bus);
}

BUS_VALUE(get_version, "s", IDLED_VERSION);

static bool is_battery_aware(const Manager *manager)
{
        const DaemonOptions *options = config_section(manager_config(manager), "Daemon")->options;

        return !g_str_equal(options->profile_ac, options->profile_battery);
}

BUS_GETTER(get_battery_aware)
{
        const BusPower *power = userdata;

        return sd_bus_message_append(reply, "b", is_battery_aware(power->bus->manager));
}

static int method_set_action(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "There are no actions");
}

/* The user chose a profile manually, so holds have had their time. All their requests end in one
 * step; no profile of a remaining hold is applied in between. */
static int do_set_active(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        const char *name;
        Holds *holds;
        int r = sd_bus_message_read(message, "ssv", NULL, NULL, "s", &name);

        if (r < 0)
                return r;
        if (!bus->power)
                return power_refuse(error);
        if (!power_is_profile(name) || !config_profile(manager_config(bus->manager), name))
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "Expected power-saver, balanced or performance");
        holds = manager_holds(bus->manager);
        holds_defer(holds, true);
        r = bus_set_profile(bus, name, error);
        if (r >= 0 && bus->power->holds->len > 0) {
                static LogLimit limit;

                log_limited(&limit,
                            "Profile %s is chosen: ending the holds under the power-profiles names",
                            name);
                power_holds_end(bus->power, true);
        }
        holds_defer(holds, false);
        manager_attend(bus->manager);
        return r < 0 ? r : sd_bus_reply_method_return(message, NULL);
}

/* Takes Set of ActiveProfile; all else is for sd-bus. */
static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        BusPower *power = userdata;
        const char *interface, *property;
        int r;

        if (!sd_bus_message_is_method_call(message, PROPERTIES, "Set") ||
            !sd_bus_message_has_signature(message, "ssv"))
                return 0;
        r = sd_bus_message_read(message, "ss", &interface, &property);
        if (r < 0)
                return r;
        if (g_str_equal(interface, power_name_of(message)->name) &&
            g_str_equal(property, "ActiveProfile") &&
            sd_bus_message_verify_type(message, 'v', "s") > 0) {
                sd_bus_message_rewind(message, true);
                return authorize(power->bus->authorizer, message, "org.idled1.set-profile",
                                 do_set_active, power->bus, error);
        }
        sd_bus_message_rewind(message, true);
        return 0;
}

/* What can be written, but not so. */
static int refuse_active(sd_bus *connection, const char *path, const char *interface,
                         const char *property, sd_bus_message *value, void *userdata,
                         sd_bus_error *error)
{
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "Expected a string");
}

static int set_battery_aware(sd_bus *connection, const char *path, const char *interface,
                             const char *property, sd_bus_message *value, void *userdata,
                             sd_bus_error *error)
{
        const BusPower *power = userdata;
        int aware, r = sd_bus_message_read(value, "b", &aware);

        if (r < 0 || aware == is_battery_aware(power->bus->manager))
                return r;
        return sd_bus_error_set(error, SD_BUS_ERROR_NOT_SUPPORTED,
                                "ProfileAC= and ProfileBattery= of idled.conf decide this");
}

#define CONST   SD_BUS_VTABLE_PROPERTY_CONST
#define CHANGES SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE
#define FREE    SD_BUS_VTABLE_UNPRIVILEGED

#define COMMON                                                                                     \
        SD_BUS_VTABLE_START(0),                                                                    \
                SD_BUS_METHOD_WITH_ARGS(                                                           \
                        "HoldProfile",                                                             \
                        SD_BUS_ARGS("s", profile, "s", reason, "s", application_id),               \
                        SD_BUS_RESULT("u", cookie), power_method_hold, FREE),                      \
                SD_BUS_METHOD_WITH_ARGS("ReleaseProfile", SD_BUS_ARGS("u", cookie),                \
                                        SD_BUS_NO_RESULT, power_method_release, FREE),             \
                SD_BUS_SIGNAL_WITH_ARGS("ProfileReleased", SD_BUS_ARGS("u", cookie), 0),           \
                SD_BUS_WRITABLE_PROPERTY("ActiveProfile", "s", get_active, refuse_active, 0,       \
                                         CHANGES | FREE),                                          \
                SD_BUS_PROPERTY("PerformanceInhibited", "s", get_inhibited, 0, CHANGES),           \
                SD_BUS_PROPERTY("PerformanceDegraded", "s", get_degraded, 0, CHANGES),             \
                SD_BUS_PROPERTY("Profiles", "aa{sv}", get_profiles, 0, CHANGES),                   \
                SD_BUS_PROPERTY("Actions", "as", get_actions, 0, CONST),                           \
                SD_BUS_PROPERTY("ActiveProfileHolds", "aa{sv}", get_holds, 0, CHANGES)

static const sd_bus_vtable hadess_vtable[] = { COMMON, SD_BUS_VTABLE_END };

static const sd_bus_vtable upower_vtable[] = {
        COMMON,
        SD_BUS_METHOD_WITH_ARGS("SetActionEnabled", SD_BUS_ARGS("s", action, "b", enabled),
                                SD_BUS_NO_RESULT, method_set_action, FREE),
        SD_BUS_PROPERTY("ActionsInfo", "aa{sv}", get_actions_info, 0, CONST),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, CONST),
        SD_BUS_WRITABLE_PROPERTY("BatteryAware", "b", get_battery_aware, set_battery_aware, 0,
                                 CHANGES | FREE),
        SD_BUS_VTABLE_END,
};

static int serve_name(BusPower *power, int i)
{
        const PowerName *name = &power_names[i];
        sd_bus *connection = power->bus->connection;
        int r = sd_bus_add_object(connection, &power->slots[i][0], name->path, on_message, power);

        if (r >= 0)
                r = sd_bus_add_object_vtable(connection, &power->slots[i][1], name->path,
                                             name->name, i == 0 ? hadess_vtable : upower_vtable,
                                             power);
        if (r >= 0)
                r = power_ask_name(power, i);
        return r;
}

/* The watched properties, in the order of `BusPower.sent`. The last one is of the newer name only.
 */
static const char *const watched[] = { "ActiveProfile", "PerformanceDegraded", "ActiveProfileHolds",
                                       "Profiles", "BatteryAware" };
static_assert(G_N_ELEMENTS(watched) == POWER_WATCHED, "");

static char *describe(const BusPower *power, size_t i)
{
        const Manager *manager = power->bus->manager;

        return i == 0   ? g_strdup(active_profile(power))
               : i == 1 ? degraded(power)
               : i == 2 ? power_describe_holds(manager)
               : i == 3 ? config_profile_names(manager_config(manager))
                        : g_strdup(is_battery_aware(manager) ? "yes" : "no");
}

/* The names of the properties that differ from the last signal, and notes that they will be
 * sent. */
static size_t note_changes(BusPower *power, const char **ret_names)
{
        size_t n = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(watched); i++) {
                char *now = describe(power, i);

                if (g_strcmp0(now, power->sent[i]) != 0)
                        ret_names[n++] = watched[i];
                g_free(power->sent[i]);
                power->sent[i] = now;
        }
        ret_names[n] = NULL;
        return n;
}

static void emit(const BusPower *power, const PowerName *name, const char **names)
{
        if (*names)
                sd_bus_emit_properties_changed_strv(power->bus->connection, name->path, name->name,
                                                    (char **)names);
}

static void emit_changes(BusPower *power)
{
        const char *names[G_N_ELEMENTS(watched) + 1];
        size_t n = note_changes(power, names);

        emit(power, &power_names[1], names);
        if (n > 0 && g_str_equal(names[n - 1], "BatteryAware"))
                names[n - 1] = NULL;
        emit(power, &power_names[0], names);
}

static bool is_wanted(const Bus *bus)
{
        const DaemonOptions *options =
                config_section(manager_config(bus->manager), "Daemon")->options;

        return options->power_profiles_names;
}

int power_export(Bus *bus)
{
        const char *ignored[G_N_ELEMENTS(watched) + 1];
        BusPower *power;
        int r = 0;

        if (!is_wanted(bus))
                return 0;
        bus->power = power = g_new0(BusPower, 1);
        power->bus = bus;
        power->holds = g_ptr_array_new();
        power->rivals = g_ptr_array_new();
        for (int i = 0; r >= 0 && i < POWER_NAMES; i++)
                r = serve_name(power, i);
        if (r >= 0)
                r = power_ask_units(power);
        note_changes(power, ignored);
        return r;
}

void power_drop(Bus *bus)
{
        BusPower *power = bus->power;

        if (!power)
                return;
        power_holds_end(power, false); /* the bus may be gone */
        for (int i = 0; i < POWER_NAMES; i++)
                for (int j = 0; j < 3; j++)
                        sd_bus_slot_unref(power->slots[i][j]);
        for (size_t i = 0; i < G_N_ELEMENTS(watched); i++)
                g_free(power->sent[i]);
        sd_bus_slot_unref(power->units);
        g_ptr_array_unref(power->holds);
        g_ptr_array_unref(power->rivals);
        g_free(power);
        bus->power = NULL;
}

/* Releases the names while the bus goes on. */
static void switch_off(Bus *bus)
{
        if (bus->power->rivals->len > 0)
                bus_changed(bus->manager, CHANGE_DEGRADED, bus);
        power_holds_end(bus->power, true);
        power_drop(bus);
        for (int i = 0; i < POWER_NAMES; i++)
                sd_bus_release_name_async(bus->connection, NULL, power_names[i].name, NULL, NULL);
        log_info("Releasing the power-profiles names");
}

void power_publish(Bus *bus, unsigned changes)
{
        int r = 0;

        if (!(changes & (CHANGE_PROFILE | CHANGE_HOLDS | CHANGE_CONFIG | CHANGE_PAUSED)))
                return;
        if (bus->power && !is_wanted(bus))
                switch_off(bus);
        else if (bus->power) {
                power_holds_follow(bus->power);
                emit_changes(bus->power);
        } else if (bus->connection)
                r = power_export(bus);
        if (r < 0)
                log_error_errno(r, "Failed to serve the power-profiles names: %m");
}
