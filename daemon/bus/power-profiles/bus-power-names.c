/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The two names, the profiles that their clients know, and the error for clients that come too
 * late.
 */
#include "bus/power-profiles/bus-power.h"

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
