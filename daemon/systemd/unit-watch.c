/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Noticing units that come, so that a new slice beside system.slice does not stay unconfined.
 *
 * systemd announces units only to who subscribed, and announces every unit that is loaded; so this
 * is on only while CPUs are parked or rules of applications are about units, names that can have no
 * cgroup are dropped at once, and the others are looked at together a moment later.
 */
#include <errno.h>

#include "base/log.h"
#include "systemd/unit-parts.h"

/* A unit is announced before it has a cgroup, and seldom alone. */
#define SETTLE_USEC (200u * 1000)
/* Of more arrivals at once than this, one is taken to be of interest. */
#define ARRIVED_MAX 32

/* True if the unit is one that we would confine, as far as can be found out. */
static bool is_child_of_root(Units *units, const char *unit)
{
        g_autofree char *slice = NULL;

        if (g_str_has_suffix(unit, ".slice"))
                return !strchr(unit, '-');
        return unit_string(units, unit, "Slice", &slice) >= 0 && g_str_equal(slice, "-.slice");
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata)
{
        Units *units = userdata;
        bool interesting = units->arrived->len > ARRIVED_MAX;

        for (guint i = 0; i < units->arrived->len && !interesting; i++)
                interesting = is_child_of_root(units, g_ptr_array_index(units->arrived, i));
        g_ptr_array_set_size(units->arrived, 0);
        units->came(interesting, units->userdata);
        return 0;
}

static int on_unit_new(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Units *units = userdata;
        const char *unit;
        int r = sd_bus_message_read(message, "s", &unit);

        if (r < 0 || !unit_interface(unit))
                return 0;
        if (units->arrived->len <= ARRIVED_MAX)
                g_ptr_array_add(units->arrived, g_strdup(unit));
        if (units->arrived->len == 1) {
                r = sd_event_source_set_time_relative(units->settle, SETTLE_USEC);
                if (r >= 0)
                        r = sd_event_source_set_enabled(units->settle, SD_EVENT_ONESHOT);
        }
        return r;
}

static int ask_for_signals(Units *units)
{
        return sd_bus_call_method_async(units->connection, NULL, SYSTEMD_NAME, SYSTEMD_PATH,
                                        SYSTEMD_MANAGER, "Subscribe", NULL, NULL, NULL);
}

/* systemd came to the bus, or came back: it knows nothing of us, nor we of its units. */
static int on_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Units *units = userdata;
        const char *name, *before, *now;
        int r = sd_bus_message_read(message, "sss", &name, &before, &now);

        if (r < 0 || !*now)
                return 0;
        units->silent_until = 0;
        r = ask_for_signals(units);
        units->came(true, units->userdata);
        return r < 0 ? r : 0;
}

void units_subscribe(Units *units)
{
        int r = sd_bus_attach_event(units->connection, units->event, SD_EVENT_PRIORITY_NORMAL);

        if (r >= 0)
                r = sd_bus_match_signal_async(units->connection, &units->match, SYSTEMD_NAME,
                                              SYSTEMD_PATH, SYSTEMD_MANAGER, "UnitNew", on_unit_new,
                                              NULL, units);
        if (r >= 0)
                r = sd_bus_add_match_async(units->connection, &units->owner,
                                           "type='signal',sender='org.freedesktop.DBus',"
                                           "member='NameOwnerChanged',arg0='" SYSTEMD_NAME "'",
                                           on_owner_changed, NULL, units);
        if (r >= 0)
                r = ask_for_signals(units);
        if (r < 0)
                log_debug("Units that come are not noticed: %s", g_strerror(-r));
}

void units_listen_again(Units *units)
{
        if (units->watching)
                units_connect(units);
}

static void unsubscribe(Units *units)
{
        units->match = sd_bus_slot_unref(units->match);
        units->owner = sd_bus_slot_unref(units->owner);
        g_ptr_array_set_size(units->arrived, 0);
        sd_event_source_set_enabled(units->settle, SD_EVENT_OFF);
        if (!units->connection)
                return;
        sd_bus_call_method_async(units->connection, NULL, SYSTEMD_NAME, SYSTEMD_PATH,
                                 SYSTEMD_MANAGER, "Unsubscribe", NULL, NULL, NULL);
        sd_bus_flush(units->connection);
        sd_bus_detach_event(units->connection);
}

void units_watch(Units *units, bool on, void (*came)(bool top, void *userdata), void *userdata)
{
        if (!units->settle || on == units->watching)
                return;
        units->watching = on;
        units->came = came;
        units->userdata = userdata;
        if (!on)
                unsubscribe(units);
        else if (units->connection)
                units_subscribe(units);
        else
                units_connect(units);
}

void units_watch_init(Units *units)
{
        units->arrived = g_ptr_array_new_with_free_func(g_free);
        if (units->event && sd_event_add_time(units->event, &units->settle, CLOCK_MONOTONIC, 0, 0,
                                              on_settled, units) >= 0)
                sd_event_source_set_enabled(units->settle, SD_EVENT_OFF);
}

void units_watch_done(Units *units)
{
        sd_event_source_disable_unref(units->settle);
        g_ptr_array_unref(units->arrived);
}
