/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file that systemd keeps for a limit that was set at run time: drop-in 50-AllowedCPUs.conf of
 * the unit, below /run/systemd/system.control or, for units that systemd itself made,
 * /run/systemd/transient.
 *
 * Taking the limit away does not remove it: it then says `AllowedCPUs=`, which overrides what the
 * administrator has in /etc. RevertUnitFiles would remove it together with the administrator's own.
 * So whether it is there is a knob beside the limit, set before it. It is made by asking for the
 * limit that is in force already; at the end it is unlinked, with the directories that are empty
 * then, and systemd is told to read its files anew, once for all units.
 */
#include "act/park-common.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define SYSTEMD "run/systemd"

static const char *const places[] = { SYSTEMD "/system.control", SYSTEMD "/transient" };

static char *file_of(const char *place, const char *unit)
{
        return g_strdup_printf("%s/%s.d/50-AllowedCPUs.conf", place, unit);
}

bool park_has_dropins(int root)
{
        return faccessat(root, SYSTEMD "/system", F_OK, 0) == 0;
}

static int dropin_read(const ActContext *context, const char *name, char **ret_value)
{
        bool present = false;

        for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
                g_autofree char *file = file_of(places[i], name);

                if (faccessat(context->root, file, F_OK, 0) == 0)
                        present = true;
                else if (errno != ENOENT)
                        return -errno;
        }
        *ret_value = g_strdup(present ? "present" : "absent");
        return 0;
}

static int make(const UnitControl *units, const char *unit)
{
        CpuSet allowed;
        int r;

        if (!units)
                return -ENOTCONN;
        r = units->get_allowed(units->userdata, unit, &allowed);
        return r < 0 ? r : units->set_allowed(units->userdata, unit, &allowed);
}

/* Unlinks the file, and its directory and the one above unless others have files there. */
static int remove_from(int root, const char *place, const char *unit)
{
        g_autofree char *file = file_of(place, unit), *directory = g_path_get_dirname(file);

        if (unlinkat(root, file, 0) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (unlinkat(root, directory, AT_REMOVEDIR) == 0)
                unlinkat(root, place, AT_REMOVEDIR);
        return 0;
}

static int dropin_write(const ActContext *context, const char *name, const char *value)
{
        const UnitControl *units = context->units;
        int first = 0;

        if (g_str_equal(value, "present"))
                return make(units, name);
        for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
                int r = remove_from(context->root, places[i], name);

                first = first < 0 ? first : r;
        }
        if (units && units->reload_later)
                units->reload_later(units->userdata);
        return first;
}

const KnobKind park_dropin_kind = {
        .name = "drop-in",
        .read = dropin_read,
        .write = dropin_write,
};
