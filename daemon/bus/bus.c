/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Connection and name.
 *
 * Life of a connection: connect (sd-bus waits by inotify for a socket that is not there yet, so a
 * missing bus costs no wake-up) -> name asked for -> objects served -> lost -> connect again, after
 * a delay that doubles up to 30 s as long as connections break before they were of use.
 *
 * The name at the start is asked for at once and without queueing: its owner is another active
 * instance, and two would fight over the machine. Later, after the bus was away, we queue for it
 * and leave the machine alone until it is ours.
 */
#include "bus/bus.h"

#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "bus/bus-parts.h"
#include "bus/bus-power.h"

#define RETRY_FIRST_USEC (100u * 1000)
#define RETRY_MAX_USEC   (30u * 1000 * 1000)

#define DRIVER_NAME "org.freedesktop.DBus"
#define DRIVER_PATH "/org/freedesktop/DBus"
#define LOCAL_NAME  "org.freedesktop.DBus.Local"
#define LOCAL_PATH  "/org/freedesktop/DBus/Local"

#define LOGIN_NAME      "org.freedesktop.login1"
#define LOGIN_PATH      "/org/freedesktop/login1"
#define LOGIN_INTERFACE "org.freedesktop.login1.Manager"

/* Replies to RequestName. */
enum { NAME_OWNER = 1, NAME_QUEUED = 2, NAME_TAKEN = 3, NAME_OWNED_ALREADY = 4 };

static void retry_later(Bus *bus)
{
        timer_set_in(bus->retry, bus->retry_usec);
        bus->retry_usec = MIN(2 * bus->retry_usec, RETRY_MAX_USEC);
}

static void name_lost(Bus *bus)
{
        int r;

        if (!bus->owned)
                return;
        bus->owned = false;
        log_warning("Another process owns the name %s on the bus: idled is paused until it owns "
                    "the name again",
                    BUS_NAME);
        r = pauses_add(manager_pauses(bus->manager), "another process owns the name " BUS_NAME,
                       "idled", (uid_t)-1, &bus->yielded);
        if (r < 0)
                log_error_errno(r, "Failed to restore the machine: %m");
}

static void name_gained(Bus *bus)
{
        bus->retry_usec = RETRY_FIRST_USEC;
        if (bus->owned)
                return;
        bus->owned = true;
        log_notice("idled owns the name %s on the bus", BUS_NAME);
        if (bus->yielded >= 0)
                close(bus->yielded);
        bus->yielded = -1;
}

static int on_name_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        uint32_t outcome = 0;

        if (sd_bus_message_is_method_error(reply, NULL)) {
                log_error("The bus refuses the name %s: %s", BUS_NAME,
                          sd_bus_message_get_error(reply)->message);
                return 0;
        }
        if (sd_bus_message_read(reply, "u", &outcome) < 0)
                return 0;
        if (outcome == NAME_OWNER || outcome == NAME_OWNED_ALREADY)
                name_gained(bus);
        else if (outcome == NAME_QUEUED)
                name_lost(bus);
        return 0;
}

static bool is_about_us(sd_bus_message *message)
{
        const char *name;

        return sd_bus_message_read(message, "s", &name) >= 0 && g_str_equal(name, BUS_NAME);
}

static int on_name_lost(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        if (is_about_us(message))
                name_lost(userdata);
        return 0;
}

static int on_name_acquired(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        if (is_about_us(message))
                name_gained(userdata);
        return 0;
}

static int on_connected(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        int r = sd_bus_request_name_async(bus->connection, NULL, BUS_NAME, SD_BUS_NAME_QUEUE,
                                          on_name_reply, bus);

        if (r < 0)
                log_error_errno(r, "Failed to request the name %s: %m", BUS_NAME);
        else
                log_info("Connected to the bus at %s", bus->address);
        units_listen_again(bus->units);
        return 0;
}

static int on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;

        log_warning("The bus at %s is gone: running without it until it returns", bus->address);
        retry_later(bus);
        return 0;
}

static void drop_connection(Bus *bus)
{
        power_drop(bus);
        g_ptr_array_set_size(bus->bills, 0);
        turns_free(bus->turns);
        bus->turns = NULL;
        authorizer_free(bus->authorizer);
        bus->authorizer = NULL;
        if (bus->manager)
                manager_forget_senders(bus->manager);
        if (bus->connection)
                sd_bus_detach_event(bus->connection);
        bus->connection = sd_bus_close_unref(bus->connection);
}

/* logind says when the machine goes to sleep, which is of no interest, and when it is back. */
static int on_sleep(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        int asleep;

        if (sd_bus_message_read(message, "b", &asleep) < 0 || asleep)
                return 0;
        log_info("The machine was asleep: applying the plan again");
        manager_resumed(bus->manager);
        return 0;
}

static int listen(Bus *bus)
{
        static const struct {
                const char *sender, *path, *interface, *member;
                sd_bus_message_handler_t handler;
        } signals[] = {
                { NULL, LOCAL_PATH, LOCAL_NAME, "Connected", on_connected },
                { NULL, LOCAL_PATH, LOCAL_NAME, "Disconnected", on_disconnected },
                { DRIVER_NAME, DRIVER_PATH, DRIVER_NAME, "NameLost", on_name_lost },
                { DRIVER_NAME, DRIVER_PATH, DRIVER_NAME, "NameAcquired", on_name_acquired },
                { LOGIN_NAME, LOGIN_PATH, LOGIN_INTERFACE, "PrepareForSleep", on_sleep },
        };
        int r = 0;

        for (size_t i = 0; r >= 0 && i < G_N_ELEMENTS(signals); i++)
                r = sd_bus_match_signal_async(bus->connection, NULL, signals[i].sender,
                                              signals[i].path, signals[i].interface,
                                              signals[i].member, signals[i].handler, NULL, bus);
        return r;
}

/* Shows everything on the connection, and lets the event loop work on it. */
static int serve_connection(Bus *bus)
{
        static int (*const exports[])(Bus * bus) = {
                bus_export_manager, bus_export_cpus,   bus_export_policies,    bus_export_energy,
                bus_export_holds,   bus_export_sleeps, bus_export_log_control, power_export,
        };
        int r;

        bus->authorizer = authorizer_new(bus->connection, bus->is_system);
        r = listen(bus);
        if (r >= 0)
                r = turns_new(bus->connection, bus->event, bus->authorizer, &bus->turns);
        if (r >= 0)
                r = sd_bus_add_object_manager(bus->connection, NULL, BUS_PATH);
        for (size_t i = 0; r >= 0 && i < G_N_ELEMENTS(exports); i++)
                r = exports[i](bus);
        if (r >= 0)
                r = sd_bus_attach_event(bus->connection, bus->event, SD_EVENT_PRIORITY_NORMAL);
        return r;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
        Bus *bus = userdata;
        int r;

        drop_connection(bus);
        r = bus_connect(bus->address, true, &bus->connection);
        if (r >= 0)
                r = serve_connection(bus);
        if (r < 0) {
                log_debug("Failed to connect to the bus at %s: %s", bus->address, g_strerror(-r));
                drop_connection(bus);
                retry_later(bus);
        }
        return 0;
}

/* Takes the name on a bus that is there now. */
static int take_name(Bus *bus)
{
        int r = sd_bus_request_name(bus->connection, BUS_NAME, 0);

        if (r >= 0)
                bus->owned = true;
        else if (r == -EEXIST)
                log_error("Another process owns the name %s on the bus at %s: is idled running "
                          "already?",
                          BUS_NAME, bus->address);
        else
                log_error_errno(r,
                                "The bus at %s refuses the name %s (%m): is its policy file %s "
                                "installed?",
                                bus->address, BUS_NAME, BUS_NAME ".conf");
        return r < 0 ? r : 0;
}

static int connect_first(Bus *bus)
{
        int r = bus_connect(bus->address, false, &bus->connection);

        if (r == -EINVAL)
                return log_error_errno(r, "\"%s\" is not the address of a bus: %m", bus->address);
        if (r >= 0)
                r = bus_wait_ready(bus->connection);
        if (r >= 0)
                return take_name(bus);
        log_info("No bus at %s (%s): running without it until it appears", bus->address,
                 g_strerror(-r));
        drop_connection(bus);
        bus->owned = true; /* no other process owns it */
        return 0;
}

int bus_new(sd_event *event, const char *address, Bus **ret_bus)
{
        g_autoptr(Bus) bus = g_new0(Bus, 1);
        int r;

        bus->yielded = -1;
        bus->bills = bus_bills_new();
        bus->retry_usec = RETRY_FIRST_USEC;
        bus->event = sd_event_ref(event);
        bus->is_system = !address;
        bus->address = bus_address(address);
        if (!bus->address) {
                log_error("There is no session bus: neither DBUS_SESSION_BUS_ADDRESS nor "
                          "XDG_RUNTIME_DIR is set");
                return -ENXIO;
        }
        r = connect_first(bus);
        if (r < 0)
                return r;
        bus->units = units_new(event, bus->address);
        r = timer_add(event, &bus->retry, 0, on_retry, bus);
        if (r < 0)
                return log_error_errno(r, "Failed to create a timer for the bus: %m");
        *ret_bus = g_steal_pointer(&bus);
        return 0;
}

const UnitControl *bus_units(const Bus *bus)
{
        return units_control(bus->units);
}

void bus_be_patient(Bus *bus)
{
        if (bus)
                units_be_patient(bus->units);
}

int bus_serve(Bus *bus, Manager *manager)
{
        int r;

        bus->manager = manager;
        bus_publish_init(bus);
        manager_set_listener(manager, bus_changed, bus);
        bus_watch_units(bus);
        if (!bus->connection)
                return sd_event_source_set_enabled(bus->retry, SD_EVENT_ONESHOT);
        r = serve_connection(bus);
        return r < 0 ? log_error_errno(r, "Failed to serve the bus: %m") : 0;
}

void bus_free(Bus *bus)
{
        if (!bus)
                return;
        if (bus->yielded >= 0)
                close(bus->yielded);
        sd_event_source_disable_unref(bus->retry);
        bus_publish_done(bus);
        if (bus->connection)
                sd_bus_flush(bus->connection);
        bus->manager = NULL; /* freed before the bus, because it restored settings through the
                                bus */
        drop_connection(bus);
        bus_sleeps_free(bus->sleeps);
        g_ptr_array_unref(bus->bills);
        units_free(bus->units);
        sd_event_unref(bus->event);
        g_free(bus->address);
        g_free(bus);
}
