/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Talking to systemd.
 *
 * - AllowedCPUs in SetUnitProperties replaces the set; an empty array removes it. The call succeeds
 *   whatever the kernel answers. Only EffectiveCPUs shows the result; it is empty if the cpuset
 *   controller is off, which means that nothing is limited.
 * - The units below a slice are its property SliceOf. It lists all that are loaded. The question
 *   which of them may have processes is sent for all at once, because there can be hundreds.
 *   Processes that a stopped unit left behind do not count.
 */
#include "systemd/unit-control.h"

#include <errno.h>

#include "base/log.h"
#include "systemd/bus-connect.h"
#include "systemd/unit-parts.h"

/* What is not restored at the end stays until the next start. */
#define PATIENT_USEC (15 * G_USEC_PER_SEC)

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
                r = unit_property_at(units, path, SYSTEMD_UNIT, "SliceOf", "as", &reply);
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

static int get_cpus(Units *units, const char *unit, const char *property, CpuSet *ret_cpus)
{
        _message_ sd_bus_message *reply = NULL;
        const char *interface = unit_interface(unit);
        int r;

        if (!interface)
                return -ENOENT;
        r = unit_property(units, unit, interface, property, "ay", &reply);
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

/* This takes systemd long, and it does not read its bus meanwhile. */
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
        units_jobs_init(units);
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
        units_disconnect(units);
        units_watch_done(units);
        units_jobs_done(units);
        units_read_done(units);
        sd_event_unref(units->event);
        g_free(units->address);
        g_free(units);
}

const UnitControl *units_control(const Units *units)
{
        return &units->control;
}
