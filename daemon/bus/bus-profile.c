/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Profiles on /org/idled1: which there are, which is in effect and why, and choosing one.
 */
#include <errno.h>

#include "base/log.h"
#include "bus/bus-parts.h"
#include "config/profile.h"
#include "manager/manager-explain.h"

BUS_GETTER(get_profile)
{
        const Bus *bus = userdata;
        const Profile *profile = manager_config(bus->manager)->profile;

        return sd_bus_message_append(reply, "s", profile ? profile->name : "");
}

BUS_APPENDED(get_reason, bus_append_shown(reply, bus, manager_profile(bus->manager)->reason));

BUS_GETTER(get_inhibited)
{
        const Bus *bus = userdata;
        g_autofree char *inhibited = manager_profile_inhibited(bus->manager);

        return sd_bus_message_append(reply, "s", inhibited);
}

BUS_VALUE(get_chosen, "s", manager_profile(bus->manager)->chosen);

BUS_GETTER(get_profiles)
{
        const Bus *bus = userdata;
        const GPtrArray *profiles = manager_config(bus->manager)->profiles;
        int r = sd_bus_message_open_container(reply, 'a', "(sss)");

        for (guint i = 0; r >= 0 && i < profiles->len; i++) {
                const Profile *profile = g_ptr_array_index(profiles, i);

                r = sd_bus_message_append(reply, "(sss)", profile->name, profile->summary,
                                          profile->file);
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int do_set_profile(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        const char *name;
        int r = sd_bus_message_read(message, "s", &name);

        if (r >= 0)
                r = bus_set_profile(bus, name, error);
        if (r < 0)
                return r;
        return sd_bus_reply_method_return(message, NULL);
}

int bus_set_profile(Bus *bus, const char *name, sd_bus_error *error)
{
        g_autofree char *problem = NULL, *clean = NULL;
        int r = manager_set_profile(bus->manager, name, &problem);

        if (r >= 0)
                return 0;
        clean = log_clean(problem ? problem : g_strerror(-r));
        if (r == -ENOENT)
                return sd_bus_error_set(error, BUS_ERROR_NO_SUCH_PROFILE, clean);
        return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                 "The profile contradicts options set at run time: %s", clean);
}

static BUS_AUTHORIZED(method_set_profile, "org.idled1.set-profile", do_set_profile);

#define CHANGES SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("SetProfile", SD_BUS_ARGS("s", name), SD_BUS_NO_RESULT,
                                method_set_profile, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_PROPERTY("Profile", "s", get_profile, 0, CHANGES),
        SD_BUS_PROPERTY("ProfileReason", "s", get_reason, 0, CHANGES),
        SD_BUS_PROPERTY("ProfileInhibited", "s", get_inhibited, 0, CHANGES),
        SD_BUS_PROPERTY("ChosenProfile", "s", get_chosen, 0, CHANGES),
        SD_BUS_PROPERTY("Profiles", "a(sss)", get_profiles, 0, CHANGES),
        SD_BUS_VTABLE_END,
};

int bus_export_profiles(Bus *bus)
{
        return sd_bus_add_object_vtable(bus->connection, NULL, BUS_PATH, BUS_INTERFACE, vtable,
                                        bus);
}
