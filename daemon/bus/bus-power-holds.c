/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holds of power-profiles-daemon's clients.
 *
 * Each is a hold like any other (holds.h) that requests a profile. It ends when its owner releases
 * it or leaves the bus, or when root releases it by the other name; then its owner gets a signal. A
 * profile that is chosen manually ends all of them. The number by which a client knows its hold can
 * be guessed, so it is valid only for the client that received it.
 */
#include <errno.h>

#include "base/log.h"
#include "base/private-text.h"
#include "bus/bus-power.h"

#define TEXT_MAX 256

typedef struct PowerHold {
        BusPower *power;
        const PowerName *name; /* by which the client came */
        uint64_t id;
        char *sender;
        sd_bus_track *track;
} PowerHold;

static uint32_t cookie_of(const PowerHold *hold)
{
        return (uint32_t)hold->id;
}

/* Ends the hold, wherever it was ended from. */
static void hold_end(PowerHold *hold)
{
        Manager *manager = hold->power->bus->manager;
        uint64_t id = hold->id;

        g_ptr_array_remove_fast(hold->power->holds, hold);
        sd_bus_track_unref(hold->track);
        g_free(hold->sender);
        g_free(hold);
        if (!manager) /* all holds are gone already */
                return;
        holds_remove(manager_holds(manager), id);
        manager_attend(manager);
}

static int owner_gone(sd_bus_track *track, void *userdata)
{
        hold_end(userdata);
        return 0;
}

static int add_hold(BusPower *power, sd_bus_message *message, const HoldRequest *request,
                    uint32_t *ret_cookie)
{
        sd_bus *connection = power->bus->connection;
        PowerHold *hold = g_new0(PowerHold, 1);
        int r = sd_bus_track_new(connection, &hold->track, owner_gone, hold);

        hold->power = power;
        hold->sender = g_strdup(sd_bus_message_get_sender(message));
        hold->name = power_name_of(message);
        if (r >= 0)
                r = sd_bus_track_add_sender(hold->track, message);
        if (r >= 0)
                r = holds_add(manager_holds(power->bus->manager), request, NULL, &hold->id);
        if (r < 0) {
                sd_bus_track_unref(hold->track);
                g_free(hold->sender);
                g_free(hold);
                return r;
        }
        g_ptr_array_add(power->holds, hold);
        manager_attend(power->bus->manager);
        *ret_cookie = cookie_of(hold);
        return 0;
}

/* Reads the request, from the start of the message, and whether it can be granted. */
static int read_request(sd_bus_message *message, const Bus *bus, HoldRequest *ret_request,
                        sd_bus_error *error)
{
        const Manager *manager = bus->manager;
        HoldRequest request = HOLD_REQUEST_NONE;
        Sender sender;
        int r = sd_bus_message_rewind(message, true);

        if (r >= 0)
                r = sd_bus_message_read(message, "sss", &request.profile, &request.reason,
                                        &request.owner);
        if (r >= 0)
                r = authorizer_sender(bus->authorizer, message, &sender);
        if (r < 0)
                return r;
        request.uid = sender.uid;
        if (g_str_equal(request.profile, PROFILE_BALANCED) || !power_is_profile(request.profile) ||
            !config_profile(manager_config(manager), request.profile))
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "Only the profiles power-saver and performance can be "
                                        "held");
        if (strlen(request.reason) > TEXT_MAX || strlen(request.owner) > TEXT_MAX)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                         "Expected a reason and an application of at most %d bytes",
                                         TEXT_MAX);
        *ret_request = request;
        return bus_check_hold_limit(bus, request.uid, SD_BUS_ERROR_LIMITS_EXCEEDED, error);
}

static int do_hold(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        HoldRequest request = HOLD_REQUEST_NONE;
        g_autofree char *owner = NULL;
        uint32_t cookie;
        int r;

        if (!bus->power)
                return power_refuse(error);
        r = read_request(message, bus, &request, error);
        if (r < 0)
                return r;
        if (!request.owner || !*request.owner)
                request.owner = owner = g_strdup_printf("user %u (%s)", (unsigned)request.uid,
                                                        sd_bus_message_get_sender(message));
        r = add_hold(bus->power, message, &request, &cookie);
        if (r == -EDQUOT)
                return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                        "There are too many holds already");
        return r < 0 ? r : sd_bus_reply_method_return(message, "u", cookie);
}

int power_method_hold(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = ((BusPower *)userdata)->bus;
        HoldRequest request;
        int r = read_request(message, bus, &request, error);

        if (r < 0) /* at its limit a client gets an error without a question to polkit */
                return r;
        return authorize(bus->authorizer, message, "org.idled1.hold", do_hold, bus, error);
}

int power_method_release(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        BusPower *power = userdata;
        uint32_t cookie;
        int r = sd_bus_message_read(message, "u", &cookie);

        if (r < 0)
                return r;
        for (guint i = 0; i < power->holds->len; i++) {
                PowerHold *hold = g_ptr_array_index(power->holds, i);

                if (cookie_of(hold) != cookie ||
                    !g_str_equal(hold->sender, sd_bus_message_get_sender(message)))
                        continue;
                hold_end(hold);
                return sd_bus_reply_method_return(message, NULL);
        }
        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                 "You have no hold with the number %u", cookie);
}

/* To the owner alone, which may be gone by then. */
static void emit_released(const PowerHold *hold)
{
        _message_ sd_bus_message *message = NULL;
        int r = sd_bus_message_new_signal(hold->power->bus->connection, &message, hold->name->path,
                                          hold->name->name, "ProfileReleased");

        if (r >= 0)
                r = sd_bus_message_append(message, "u", cookie_of(hold));
        if (r >= 0)
                r = sd_bus_message_set_destination(message, hold->sender);
        if (r >= 0)
                r = sd_bus_send(NULL, message, NULL);
        if (r < 0)
                log_debug("Failed to notify %s that its hold has ended: %s", hold->sender,
                          g_strerror(-r));
}

void power_holds_end(BusPower *power, bool emit)
{
        Manager *manager = power->bus->manager;

        if (manager)
                holds_defer(manager_holds(manager), true);
        while (power->holds->len > 0) {
                PowerHold *hold = g_ptr_array_index(power->holds, 0);

                if (emit)
                        emit_released(hold);
                hold_end(hold);
        }
        if (!manager)
                return;
        holds_defer(manager_holds(manager), false);
        manager_attend(manager);
}

void power_holds_follow(BusPower *power)
{
        for (guint i = power->holds->len; i > 0; i--) {
                PowerHold *hold = g_ptr_array_index(power->holds, i - 1);

                if (holds_find(manager_holds(power->bus->manager), hold->id))
                        continue;
                emit_released(hold);
                hold_end(hold);
        }
}

/* One of the three that clients know; NULL if the hold requests none that there is. */
static const char *shown_profile(const Manager *manager, const Held *held)
{
        const Profile *profile = held->profile
                                         ? config_profile(manager_config(manager), held->profile)
                                         : NULL;

        return profile ? profile->family : NULL;
}

int power_append_holds(sd_bus_message *message, const Bus *bus)
{
        const Manager *manager = bus->manager;
        uid_t reader = bus_reader(bus, message);
        int r = sd_bus_message_open_container(message, 'a', "a{sv}");

        for (unsigned i = 0; r >= 0 && i < holds_count(manager_holds(manager)); i++) {
                const Held *held = holds_nth(manager_holds(manager), i);
                const char *profile = shown_profile(manager, held);
                g_autofree char *reason = private_text_for(held->reason, reader);

                if (profile)
                        r = sd_bus_message_append(message, "a{sv}", 3, "ApplicationId", "s",
                                                  held->owner, "Profile", "s", profile, "Reason",
                                                  "s", reason);
        }
        return r < 0 ? r : sd_bus_message_close_container(message);
}

char *power_describe_holds(const Manager *manager)
{
        GString *text = g_string_new(NULL);

        for (unsigned i = 0; i < holds_count(manager_holds(manager)); i++) {
                const Held *held = holds_nth(manager_holds(manager), i);
                const char *profile = shown_profile(manager, held);

                if (profile)
                        g_string_append_printf(text, "%" G_GUINT64_FORMAT " %s\n", held->id,
                                               profile);
        }
        return g_string_free(text, FALSE);
}
