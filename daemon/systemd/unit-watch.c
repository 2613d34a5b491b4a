/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Watching units: new ones, so that a new slice next to system.slice does not stay unconfined;
 * starting ones, so that they see all CPUs; and the CPUs that they name.
 *
 * systemd announces units only to subscribers, and announces every unit that it loads. Names that
 * can have no cgroup are dropped at once. For came() the others are checked together a moment
 * later. The event loop never waits for an answer.
 *
 * systemd announces a job before it does anything for it (JobNew), so the job is handed on before
 * any other request, even about the kind of the job. In guests with four emulated CPUs the unit's
 * process sets its affinity 17 to 45 ms after idled gets the signal with systemd 252 on Linux 6.1,
 * and 90 to 127 ms with 257 on 6.12, whose executor starts first. idled unparks within 9 ms
 * (tests/bench/vm-starts). This order is not guaranteed, so CPUs that only a loaded unit names are
 * never parked (model/unit-cpus.h).
 */
#include <errno.h>

#include "base/log.h"
#include "systemd/unit-parts.h"

/* A unit is announced before it has a cgroup, and seldom alone. */
#define SETTLE_USEC (200u * 1000)

static void ask_which_are_top(Units *units);

/* True if one of the units that were asked about is in the list, or if there is none: an error. */
static bool is_any_listed(const Units *units, sd_bus_message *message)
{
        const char *unit;
        bool any = false;

        if (sd_bus_message_is_method_error(message, NULL) ||
            sd_bus_message_enter_container(message, 'v', "as") < 0 ||
            sd_bus_message_enter_container(message, 'a', "s") < 0)
                return true;
        while (!any && sd_bus_message_read(message, "s", &unit) > 0)
                any = g_hash_table_contains(units->asked, unit);
        return any;
}

/* The listener may drop the connection. */
static int on_top_units(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Units *units = userdata;
        bool any = is_any_listed(units, message);

        units->top = sd_bus_slot_unref(units->top);
        g_hash_table_remove_all(units->asked);
        if (units->listener.came)
                units->listener.came(any, units->listener.userdata);
        if (sd_event_source_get_enabled(units->settle, NULL) <= 0)
                ask_which_are_top(units);
        return 0;
}

/* The units below the root slice are its property SliceOf, as in unit-control.c. One question at a
 * time: units that come before its answer wait for the next one. */
static void ask_which_are_top(Units *units)
{
        g_autofree char *path = NULL;
        GHashTable *asked = units->asked;

        if (units->top || g_hash_table_size(units->arrived) == 0)
                return;
        units->asked = units->arrived;
        units->arrived = asked;
        if (sd_bus_path_encode(UNITS_PATH, "-.slice", &path) < 0 ||
            units_ask(units, path, SYSTEMD_UNIT, "SliceOf", on_top_units, units, &units->top) < 0)
                g_hash_table_remove_all(units->asked);
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata)
{
        ask_which_are_top(userdata);
        return 0;
}

static int note_arrival(Units *units, const char *unit)
{
        int r = 0;

        g_hash_table_add(units->arrived, g_strdup(unit));
        if (g_hash_table_size(units->arrived) == 1) {
                r = sd_event_source_set_time_relative(units->settle, SETTLE_USEC);
                if (r >= 0)
                        r = sd_event_source_set_enabled(units->settle, SD_EVENT_ONESHOT);
        }
        return r;
}

static int on_unit_new(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Units *units = userdata;
        const char *unit;

        if (sd_bus_message_read(message, "s", &unit) < 0 || !unit_interface(unit))
                return 0;
        if (units->watching & UNITS_JOBS)
                units_read(units, unit);
        return units->watching & UNITS_COME ? note_arrival(units, unit) : 0;
}

static int on_unit_removed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Units *units = userdata;
        const char *unit;

        if (sd_bus_message_read(message, "s", &unit) >= 0 && unit_interface(unit) &&
            units->listener.cpus)
                units->listener.cpus(unit, NULL, units->listener.userdata);
        return 0;
}

/* The unit may be one whose CPUs were changed since they were read. */
static int on_job_new(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Units *units = userdata;
        const char *job, *unit;
        uint32_t id;

        if (sd_bus_message_read(message, "uos", &id, &job, &unit) < 0 || !unit_interface(unit))
                return 0;
        units_job_new(units, unit, job);
        units_read(units, unit);
        return 0;
}

static int on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Units *units = userdata;
        const char *job, *unit;
        uint32_t id;

        if (sd_bus_message_read(message, "uos", &id, &job, &unit) >= 0 && unit_interface(unit))
                units_job_removed(units, unit, job);
        return 0;
}

/* systemd has read its files again. */
static int on_reloading(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        int active;

        if (sd_bus_message_read(message, "b", &active) >= 0 && !active)
                units_read_all(userdata);
        return 0;
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
        if (units->watching & UNITS_JOBS)
                units_read_all(units);
        if (units->watching & UNITS_COME && units->listener.came)
                units->listener.came(true, units->listener.userdata);
        return r < 0 ? r : 0;
}

static int match(Units *units, const char *signal, sd_bus_message_handler_t handler)
{
        sd_bus_slot *slot = NULL;
        int r = sd_bus_match_signal_async(units->connection, &slot, SYSTEMD_NAME, SYSTEMD_PATH,
                                          SYSTEMD_MANAGER, signal, handler, NULL, units);

        if (r >= 0)
                g_ptr_array_add(units->matches, slot);
        return r;
}

static int match_owner(Units *units)
{
        sd_bus_slot *slot = NULL;
        int r = sd_bus_add_match_async(units->connection, &slot,
                                       "type='signal',sender='org.freedesktop.DBus',"
                                       "member='NameOwnerChanged',arg0='" SYSTEMD_NAME "'",
                                       on_owner_changed, NULL, units);

        if (r >= 0)
                g_ptr_array_add(units->matches, slot);
        return r;
}

static int match_jobs(Units *units)
{
        static const struct {
                const char *signal;
                sd_bus_message_handler_t handler;
        } signals[] = {
                { "JobNew", on_job_new },
                { "JobRemoved", on_job_removed },
                { "UnitRemoved", on_unit_removed },
                { "Reloading", on_reloading },
        };
        int r = 0;

        for (size_t i = 0; r >= 0 && i < G_N_ELEMENTS(signals); i++)
                r = match(units, signals[i].signal, signals[i].handler);
        return r;
}

static void subscribe(Units *units)
{
        int r = sd_bus_attach_event(units->connection, units->event, SD_EVENT_PRIORITY_IMPORTANT);

        if (r >= 0)
                r = match(units, "UnitNew", on_unit_new);
        if (r >= 0 && units->watching & UNITS_JOBS)
                r = match_jobs(units);
        if (r >= 0)
                r = match_owner(units);
        if (r >= 0)
                r = ask_for_signals(units);
        if (r < 0)
                log_debug("Failed to subscribe to new units: %s", g_strerror(-r));
        else if (units->watching & UNITS_JOBS)
                units_read_all(units);
}

/* The connection was just made. */
static void on_connected(Units *units)
{
        if (units->watching)
                subscribe(units);
}

void units_listen_again(Units *units)
{
        if (units->watching)
                units_connect(units);
}

/* Forgets matches and all that was asked for; the connection broke or is not watched any more. */
static void forget(Units *units)
{
        g_ptr_array_set_size(units->matches, 0);
        units->top = sd_bus_slot_unref(units->top);
        g_hash_table_remove_all(units->asked);
        g_hash_table_remove_all(units->arrived);
        units_read_forget(units);
        units_jobs_forget(units);
        if (units->settle)
                sd_event_source_set_enabled(units->settle, SD_EVENT_OFF);
}

static void unsubscribe(Units *units)
{
        forget(units);
        if (!units->connection)
                return;
        sd_bus_call_method_async(units->connection, NULL, SYSTEMD_NAME, SYSTEMD_PATH,
                                 SYSTEMD_MANAGER, "Unsubscribe", NULL, NULL, NULL);
        sd_bus_flush(units->connection);
        sd_bus_detach_event(units->connection);
}

void units_watch(Units *units, unsigned what, const UnitListener *listener)
{
        int r;

        if (!units->settle || what == units->watching)
                return;
        if (what & units->watching & UNITS_JOBS) { /* listens to all of it already */
                units->watching = what;
                return;
        }
        if (units->watching)
                unsubscribe(units);
        units->watching = what;
        units->listener = *listener;
        if (!what)
                return;
        r = units->connection ? 0 : units_connect(units);
        if (units->connection && units->matches->len == 0)
                subscribe(units);
        if (r < 0 && what & UNITS_JOBS && listener->listed)
                listener->listed(r, listener->userdata);
}

static void unref_slot(void *slot)
{
        sd_bus_slot_unref(slot);
}

void units_watch_init(Units *units)
{
        units->connected = on_connected;
        units->lost = forget;
        units->arrived = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        units->asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        units->matches = g_ptr_array_new_with_free_func(unref_slot);
        if (units->event && sd_event_add_time(units->event, &units->settle, CLOCK_MONOTONIC, 0, 0,
                                              on_settled, units) >= 0)
                sd_event_source_set_enabled(units->settle, SD_EVENT_OFF);
}

void units_watch_done(Units *units)
{
        sd_event_source_disable_unref(units->settle);
        g_hash_table_unref(units->arrived);
        g_hash_table_unref(units->asked);
        g_ptr_array_unref(units->matches);
}
