/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Talking to systemd.
 *
 * - CPU sets are `ay`: bit n % 8 of byte n / 8.
 * - AllowedCPUs in SetUnitProperties replaces what is set, an empty array takes it away. The call
 *   succeeds whatever the kernel says to it: only EffectiveCPUs tells, and that is empty where the
 *   cpuset controller is off, which means that nothing is limited.
 * - The units below a slice are its property SliceOf. It lists all that are loaded; which of them
 *   may have processes is asked for all at once, for there can be hundreds. Processes that a unit
 *   left behind when it stopped do not count.
 * - A name is looked up with GetUnit first, which loads nothing. Without that systemd would load
 *   whatever is named: answer with defaults, or even make a drop-in for a slice that is not there.
 *   Slices that systemd itself has just named need no such care.
 * - Mounts, sockets and swaps have cgroups too, but none with tasks worth confining.
 */
#include "systemd/unit-control.h"

#include <errno.h>

#include "base/log.h"
#include "systemd/bus-connect.h"
#include "systemd/unit-parts.h"

/* Giving back a dozen units to a systemd that hangs must not take a dozen timeouts. */
#define SILENT_USEC (30 * G_USEC_PER_SEC)

/* What is not given back at the end stays until the next start. */
#define PATIENT_USEC (15 * G_USEC_PER_SEC)

static void disconnect(Units *units)
{
        units_watch_forget(units);
        if (units->connection)
                sd_bus_detach_event(units->connection);
        units->connection = sd_bus_close_unref(units->connection);
}

int units_connect(Units *units)
{
        _connection_ sd_bus *connection = NULL;
        int r;

        if (g_get_monotonic_time() < units->silent_until)
                return -ETIMEDOUT;
        if (units->connection && sd_bus_is_open(units->connection) > 0)
                return 0;
        disconnect(units);
        if (!units->address)
                return -ENOTCONN;
        r = bus_connect(units->address, false, &connection);
        if (r >= 0)
                r = bus_wait_ready(connection);
        if (r < 0)
                return -ENOTCONN;
        units->connection = g_steal_pointer(&connection);
        sd_bus_set_method_call_timeout(units->connection, units->timeout_usec);
        if (units->watching)
                units_subscribe(units);
        return 0;
}

/* What an error means to who knows no D-Bus. */
static int error_number(const sd_bus_error *error, int r)
{
        if (sd_bus_error_has_name(error, "org.freedesktop.systemd1.NoSuchUnit"))
                return -ENOENT;
        if (sd_bus_error_has_name(error, "org.freedesktop.systemd1.UnitExists"))
                return -EEXIST;
        if (sd_bus_error_has_names(error, SD_BUS_ERROR_SERVICE_UNKNOWN,
                                   SD_BUS_ERROR_NAME_HAS_NO_OWNER, SD_BUS_ERROR_DISCONNECTED))
                return -ENOTCONN;
        if (r == -ECONNRESET || r == -EPIPE || r == -ESHUTDOWN)
                return -ENOTCONN;
        return r;
}

int units_call(Units *units, sd_bus_message *message, sd_bus_message **ret_reply)
{
        _bus_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = sd_bus_message_set_auto_start(message, false);
        if (r >= 0)
                r = sd_bus_call(sd_bus_message_get_bus(message), message, 0, &error, ret_reply);
        if (r >= 0)
                return 0;
        log_debug("systemd: %s: %s", sd_bus_message_get_member(message),
                  error.message ? error.message : g_strerror(-r));
        if (r == -ETIMEDOUT)
                units->silent_until = g_get_monotonic_time() + SILENT_USEC;
        return error_number(&error, r);
}

static int unit_path(Units *units, const char *unit, char **ret_path)
{
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        const char *path;
        int r = units_connect(units);

        if (r >= 0)
                r = sd_bus_message_new_method_call(units->connection, &ask, SYSTEMD_NAME,
                                                   SYSTEMD_PATH, SYSTEMD_MANAGER, "GetUnit");
        if (r >= 0)
                r = sd_bus_message_append(ask, "s", unit);
        if (r >= 0)
                r = units_call(units, ask, &reply);
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                return r;
        *ret_path = g_strdup(path);
        return 0;
}

/* Reads a property of the unit at `path` up to where its value of `type` begins. */
static int get_property_at(Units *units, const char *path, const char *interface,
                           const char *property, const char *type, sd_bus_message **ret_reply)
{
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        int r;

        r = sd_bus_message_new_method_call(units->connection, &ask, SYSTEMD_NAME, path,
                                           "org.freedesktop.DBus.Properties", "Get");
        if (r >= 0)
                r = sd_bus_message_append(ask, "ss", interface, property);
        if (r >= 0)
                r = units_call(units, ask, &reply);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'v', type);
        if (r < 0)
                return r;
        *ret_reply = g_steal_pointer(&reply);
        return 0;
}

static int get_property(Units *units, const char *unit, const char *interface, const char *property,
                        const char *type, sd_bus_message **ret_reply)
{
        g_autofree char *path = NULL;
        int r = unit_path(units, unit, &path);

        return r < 0 ? r : get_property_at(units, path, interface, property, type, ret_reply);
}

const char *unit_interface(const char *unit)
{
        static const struct {
                const char *suffix, *interface;
        } types[] = {
                { ".slice", "org.freedesktop.systemd1.Slice" },
                { ".scope", "org.freedesktop.systemd1.Scope" },
                { ".service", "org.freedesktop.systemd1.Service" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
                if (g_str_has_suffix(unit, types[i].suffix))
                        return types[i].interface;
        return NULL;
}

int unit_string(Units *units, const char *unit, const char *property, char **ret_value)
{
        _message_ sd_bus_message *reply = NULL;
        const char *interface = unit_interface(unit), *value;
        int r;

        if (!interface)
                return -ENOENT;
        r = get_property(units, unit, interface, property, "s", &reply);
        if (r >= 0)
                r = sd_bus_message_read(reply, "s", &value);
        if (r < 0)
                return r;
        *ret_value = g_strdup(value);
        return 0;
}

/* The question which of the units of `slice` run; none if it has no unit that may have tasks. */
static int ask_for_children(Units *units, const char *slice, sd_bus_message **ret_ask)
{
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        g_autofree char *path = NULL;
        const char *unit;
        int n = 0, r = units_connect(units);

        if (r >= 0)
                r = sd_bus_path_encode(UNITS_PATH, slice, &path);
        if (r >= 0)
                r = get_property_at(units, path, SYSTEMD_UNIT, "SliceOf", "as", &reply);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "s");
        if (r >= 0)
                r = sd_bus_message_new_method_call(units->connection, &ask, SYSTEMD_NAME,
                                                   SYSTEMD_PATH, SYSTEMD_MANAGER,
                                                   "ListUnitsByNames");
        if (r >= 0)
                r = sd_bus_message_open_container(ask, 'a', "s");
        while (r >= 0 && (r = sd_bus_message_read(reply, "s", &unit)) > 0)
                if (unit_interface(unit)) {
                        r = sd_bus_message_append(ask, "s", unit);
                        n++;
                }
        if (r >= 0)
                r = sd_bus_message_close_container(ask);
        if (r < 0)
                return r;
        *ret_ask = n > 0 ? g_steal_pointer(&ask) : NULL;
        return 0;
}

/* The cgroup of a unit comes with its start, and goes with its last process. */
static bool has_group(const char *active, const char *sub)
{
        static const char *const without[] = { "inactive", "failed", NULL };

        return !g_strv_contains(without, active) && !g_str_equal(sub, "exited");
}

static int list_children(void *userdata, const char *slice, char ***ret_units)
{
        Units *units = userdata;
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        g_autoptr(GPtrArray) children = g_ptr_array_new_with_free_func(g_free);
        const char *unit, *active, *sub;
        int r;

        r = ask_for_children(units, slice, &ask);
        if (ask)
                r = units_call(units, ask, &reply);
        if (reply && r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");
        while (reply && r >= 0 &&
               (r = sd_bus_message_read(reply, "(ssssssouso)", &unit, NULL, NULL, &active, &sub,
                                        NULL, NULL, NULL, NULL, NULL)) > 0)
                if (has_group(active, sub))
                        g_ptr_array_add(children, g_strdup(unit));
        if (r < 0)
                return r;
        g_ptr_array_add(children, NULL);
        *ret_units = (char **)g_ptr_array_free(g_steal_pointer(&children), FALSE);
        return 0;
}

int unit_read_cpus(sd_bus_message *message, CpuSet *ret_cpus)
{
        const uint8_t *bytes;
        CpuSet cpus = { 0 };
        const void *data;
        size_t size;
        int r = sd_bus_message_read_array(message, 'y', &data, &size);

        if (r < 0)
                return r;
        bytes = data;
        for (size_t cpu = 0; cpu < 8 * MIN(size, CPUSET_MAX / 8); cpu++)
                if (bytes[cpu / 8] >> (cpu % 8) & 1)
                        cpuset_add(&cpus, (int)cpu);
        *ret_cpus = cpus;
        return 0;
}

static int get_cpus(Units *units, const char *unit, const char *property, CpuSet *ret_cpus)
{
        _message_ sd_bus_message *reply = NULL;
        const char *interface = unit_interface(unit);
        int r;

        if (!interface)
                return -ENOENT;
        r = get_property(units, unit, interface, property, "ay", &reply);
        return r < 0 ? r : unit_read_cpus(reply, ret_cpus);
}

static int get_allowed(void *userdata, const char *unit, CpuSet *ret_cpus)
{
        return get_cpus(userdata, unit, "AllowedCPUs", ret_cpus);
}

static int get_effective(void *userdata, const char *unit, CpuSet *ret_cpus)
{
        return get_cpus(userdata, unit, "EffectiveCPUs", ret_cpus);
}

int unit_append_cpus(sd_bus_message *message, const CpuSet *cpus)
{
        uint8_t bytes[CPUSET_MAX / 8] = { 0 };
        size_t size = 0;
        int r;

        CPUSET_FOREACH(cpu, cpus) {
                bytes[cpu / 8] |= (uint8_t)(1u << (cpu % 8));
                size = (size_t)cpu / 8 + 1;
        }
        r = sd_bus_message_open_container(message, 'r', "sv");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", "AllowedCPUs");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', "ay");
        if (r >= 0)
                r = sd_bus_message_append_array(message, 'y', bytes, size);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int set_allowed(void *userdata, const char *unit, const CpuSet *cpus)
{
        Units *units = userdata;
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        g_autofree char *path = NULL;
        int r = unit_path(units, unit, &path);

        if (r >= 0)
                r = sd_bus_message_new_method_call(units->connection, &ask, SYSTEMD_NAME,
                                                   SYSTEMD_PATH, SYSTEMD_MANAGER,
                                                   "SetUnitProperties");
        if (r >= 0)
                r = sd_bus_message_append(ask, "sb", unit, true);
        if (r >= 0)
                r = sd_bus_message_open_container(ask, 'a', "(sv)");
        if (r >= 0)
                r = unit_append_cpus(ask, cpus);
        if (r >= 0)
                r = sd_bus_message_close_container(ask);
        return r < 0 ? r : units_call(units, ask, &reply);
}

static void reload_later(void *userdata)
{
        ((Units *)userdata)->reload = true;
}

/* systemd takes its time for this, and sees nothing of what is on its bus meanwhile. */
static void reload(Units *units)
{
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        int r = units_connect(units);

        units->reload = false;
        if (r >= 0)
                r = sd_bus_message_new_method_call(units->connection, &ask, SYSTEMD_NAME,
                                                   SYSTEMD_PATH, SYSTEMD_MANAGER, "Reload");
        if (r >= 0)
                r = units_call(units, ask, &reply);
        if (r < 0 && r != -ENOTCONN)
                log_error_errno(r, "Failed to make systemd reload its units: %m");
}

Units *units_new(sd_event *event, const char *bus)
{
        Units *units = g_new0(Units, 1);

        units->address = bus_address(bus);
        units->timeout_usec = BUS_TIMEOUT_USEC;
        units->event = event ? sd_event_ref(event) : NULL;
        units_read_init(units);
        units_watch_init(units);
        units->control = (UnitControl){
                .list_children = list_children,
                .get_allowed = get_allowed,
                .set_allowed = set_allowed,
                .get_effective = get_effective,
                .start_slice = unit_start_slice,
                .stop = unit_stop,
                .reload_later = reload_later,
                .userdata = units,
        };
        return units;
}

void units_be_patient(Units *units)
{
        units->timeout_usec = PATIENT_USEC;
        units->silent_until = 0;
        if (units->connection)
                sd_bus_set_method_call_timeout(units->connection, units->timeout_usec);
}

void units_free(Units *units)
{
        if (!units)
                return;
        if (units->reload)
                reload(units);
        disconnect(units);
        units_watch_done(units);
        units_read_done(units);
        sd_event_unref(units->event);
        g_free(units->address);
        g_free(units);
}

const UnitControl *units_control(const Units *units)
{
        return &units->control;
}
