/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The two names, the profiles that their clients know, and other programs that choose profiles and
 * frequencies.
 *
 * If another program owns a name, idled reports that and does not wait for the name, because two
 * daemons that take turns would confuse every client. Units are checked, too, because not all
 * programs that write the same knobs have a name, and because one without a name may be about to
 * take it. Both are checked once, when the names begin to be served; a conflict that systemd knows
 * of (units/power-profiles.conf) leaves nothing to find.
 */
#include "base/log.h"
#include "bus/bus-power.h"
#include "systemd/power-daemons.h"

#define SYSTEMD "org.freedesktop.systemd1"

/* Replies to RequestName. */
enum { NAME_OWNER = 1, NAME_OWNED_ALREADY = 4 };

const PowerName power_names[POWER_NAMES] = {
        { "net.hadess.PowerProfiles", "/net/hadess/PowerProfiles" },
        { "org.freedesktop.UPower.PowerProfiles", "/org/freedesktop/UPower/PowerProfiles" },
};

const char *const power_profiles[] = { "power-saver", PROFILE_BALANCED, "performance", NULL };

bool power_is_profile(const char *name)
{
        return g_strv_contains(power_profiles, name);
}

const PowerName *power_name_of(sd_bus_message *message)
{
        const char *path = sd_bus_message_get_path(message);

        return g_str_equal(path, power_names[0].path) ? &power_names[0] : &power_names[1];
}

int power_refuse(sd_bus_error *error)
{
        return sd_bus_error_set(error, SD_BUS_ERROR_UNKNOWN_INTERFACE,
                                "The power-profiles names are not served any more");
}

static void add_rival(BusPower *power, const char *rival)
{
        g_ptr_array_add(power->rivals, (void *)rival);
        bus_changed(power->bus->manager, CHANGE_DEGRADED, power->bus);
}

static int on_name(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
        struct PowerAsked *asked = userdata;
        const char *name = asked->name->name;
        uint32_t outcome = 0;

        if (sd_bus_message_is_method_error(reply, NULL)) {
                log_warning("The bus refuses the name %s: %s", name,
                            sd_bus_message_get_error(reply)->message);
                return 0;
        }
        if (sd_bus_message_read(reply, "u", &outcome) < 0)
                return 0;
        if (outcome == NAME_OWNER || outcome == NAME_OWNED_ALREADY) {
                log_info("Serving %s", name);
                return 0;
        }
        log_warning("Another process, such as power-profiles-daemon or tuned-ppd, owns the name "
                    "%s: idled does not serve it",
                    name);
        add_rival(asked->power, name);
        return 0;
}

int power_ask_name(BusPower *power, int i)
{
        struct PowerAsked *asked = &power->asked[i];

        *asked = (struct PowerAsked){ .power = power, .name = &power_names[i] };
        return sd_bus_request_name_async(power->bus->connection, &power->slots[i][2],
                                         asked->name->name, 0, on_name, asked);
}

static bool runs(const char *state)
{
        return g_str_equal(state, "active") || g_str_equal(state, "activating") ||
               g_str_equal(state, "reloading");
}

static void note_unit(BusPower *power, const char *unit, const char *state)
{
        for (const PowerDaemon *known = power_daemons; known->unit; known++) {
                if (known->of_user || !g_str_equal(unit, known->unit) || !runs(state))
                        continue;
                log_warning("%s is running and writes to the same knobs as idled: stop it, see THE "
                            "NAMES OF POWER-PROFILES-DAEMON in idled.conf(5)",
                            known->unit);
                add_rival(power, known->unit);
        }
}

/* No answer is one, too: there is no systemd, or it is an old one. */
static int on_units(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
        const char *unit, *state;
        int r = 0;

        if (sd_bus_message_is_method_error(reply, NULL))
                return 0;
        if (sd_bus_message_enter_container(reply, 'a', "(ssssssouso)") < 0)
                return 0;
        while ((r = sd_bus_message_read(reply, "(ssssssouso)", &unit, NULL, NULL, &state, NULL,
                                        NULL, NULL, NULL, NULL, NULL)) > 0)
                note_unit(userdata, unit, state);
        if (r < 0)
                log_debug("Failed to read systemd's answer about units: %s", g_strerror(-r));
        return 0;
}

int power_ask_units(BusPower *power)
{
        g_autoptr(GPtrArray) units = g_ptr_array_new();
        _message_ sd_bus_message *message = NULL;
        int r = sd_bus_message_new_method_call(power->bus->connection, &message, SYSTEMD,
                                               "/org/freedesktop/systemd1", SYSTEMD ".Manager",
                                               "ListUnitsByNames");

        for (const PowerDaemon *known = power_daemons; known->unit; known++)
                if (!known->of_user)
                        g_ptr_array_add(units, (char *)known->unit);
        g_ptr_array_add(units, NULL);
        if (r >= 0)
                r = sd_bus_message_set_auto_start(message, false);
        if (r >= 0)
                r = sd_bus_message_append_strv(message, (char **)units->pdata);
        return r < 0 ? r
                     : sd_bus_call_async(power->bus->connection, &power->units, message, on_units,
                                         power, 0);
}

int power_append_rivals(sd_bus_message *reply, const BusPower *power)
{
        int r = 0;

        for (guint i = 0; r >= 0 && i < power->rivals->len; i++) {
                const char *rival = g_ptr_array_index(power->rivals, i);

                r = sd_bus_message_append(
                        reply, "(sss)", "power-profiles", rival,
                        g_str_has_suffix(rival, ".service")
                                ? "it is running and writes to the same knobs as idled"
                                : "another process owns the name");
        }
        return r;
}
