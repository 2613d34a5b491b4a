/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file that systemd keeps for a limit that was set at run time: drop-in 50-AllowedCPUs.conf of
 * the unit, below /run/systemd/system.control or, for units that systemd itself made,
 * /run/systemd/transient.
 *
 * Taking the limit away does not remove it: it then says `AllowedCPUs=`, which overrides what the
 * administrator has in /etc. RevertUnitFiles would remove it together with the administrator's own.
 * So its presence is a knob in addition to the limit, set before it and restored after it:
 *
 *      drop-in  UNIT     absent LIMIT -> present
 *
 * It is made by asking for the limit that is in effect already; at the end it is unlinked, with its
 * directory if that is empty then, and systemd reloads its files, once for all units. If the unit's
 * limit is then not the one found, another program has set one: the file is taken over.
 */
#include "act/park/park-common.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cpuset-text.h"
#include "base/file.h"

#define SYSTEMD "run/systemd"
#define ABSENT  "absent "

static const char *const places[] = { SYSTEMD "/system.control", SYSTEMD "/transient" };

static char *file_of(const char *place, const char *unit)
{
        return g_strdup_printf("%s/%s.d/50-AllowedCPUs.conf", place, unit);
}

static int is_present(int root, const char *unit, bool *ret_present)
{
        bool present = false;

        for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
                g_autofree char *file = file_of(places[i], unit);

                if (faccessat(root, file, F_OK, 0) == 0)
                        present = true;
                else if (errno != ENOENT)
                        return -errno;
        }
        *ret_present = present;
        return 0;
}

/* The record could have been damaged: no file is removed for a name that is no unit's. */
static bool is_unit(const char *name)
{
        return *name && path_is_below(name) && !strchr(name, '/');
}

static int limit_of(const ActContext *context, const char *unit, CpuSet *ret_limit)
{
        const UnitControl *units = context->units;

        return units ? units->get_allowed(units->userdata, unit, ret_limit) : -ENOTCONN;
}

static int dropin_read(const ActContext *context, const char *name, char **ret_value)
{
        g_autofree char *text = NULL;
        bool present = false;
        CpuSet limit;
        int r;

        if (!is_unit(name))
                return -ENOENT;
        r = is_present(context->root, name, &present);
        if (r < 0)
                return r;
        if (present) {
                *ret_value = g_strdup("present");
                return 0;
        }
        r = limit_of(context, name, &limit);
        if (r < 0)
                return r;
        text = cpuset_format(&limit);
        *ret_value = g_strconcat(ABSENT, text, NULL);
        return 0;
}

static int make(const ActContext *context, const char *unit)
{
        CpuSet limit;
        int r = limit_of(context, unit, &limit);

        return r < 0 ? r : context->units->set_allowed(context->units->userdata, unit, &limit);
}

/* Unlinks the file, and its directory unless others have files there. The place is systemd's, which
 * may be about to make something in it. */
static int remove_from(int root, const char *place, const char *unit)
{
        g_autofree char *file = file_of(place, unit), *directory = g_path_get_dirname(file);

        if (unlinkat(root, file, 0) < 0)
                return errno == ENOENT ? 0 : -errno;
        unlinkat(root, directory, AT_REMOVEDIR);
        return 0;
}

/* A unit that is gone has a file all the same. */
static int may_remove(const ActContext *context, const char *unit, const char *found)
{
        CpuSet limit, original;
        int r;

        r = cpuset_parse(found, &original);
        if (r < 0)
                return r;
        r = limit_of(context, unit, &limit);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        return cpuset_equal(&limit, &original) ? 0 : -ESTALE;
}

static int dropin_write(const ActContext *context, const char *name, const char *value)
{
        const UnitControl *units = context->units;
        int r, first = 0;

        if (!is_unit(name))
                return -ENOENT;
        if (!g_str_has_prefix(value, ABSENT))
                return make(context, name);
        r = may_remove(context, name, value + strlen(ABSENT));
        if (r < 0)
                return r;
        for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
                r = remove_from(context->root, places[i], name);
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
