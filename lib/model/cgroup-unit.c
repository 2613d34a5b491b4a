/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Paths of cgroups in version 2, and the units that they belong to.
 */
#include "model/cgroup-unit.h"

#include <glib.h>
#include <string.h>

char *cgroup_path_of_names(const char *names, size_t size, bool whole)
{
        GString *path = g_string_new(NULL);

        for (size_t at = 0; at < size;) {
                size_t length = strnlen(names + at, size - at);

                if (length > 0) {
                        g_string_prepend_len(path, names + at, (gssize)length);
                        g_string_prepend_c(path, '/');
                }
                at += length + 1;
        }
        if (!whole)
                g_string_prepend_c(path, '?');
        else if (path->len == 0)
                g_string_append_c(path, '/');
        return g_string_free(path, FALSE);
}

static bool has_suffix(const char *name, size_t length, const char *suffix)
{
        size_t n = strlen(suffix);

        return length > n && strncmp(name + length - n, suffix, n) == 0;
}

static bool is_unit(const char *name, size_t length)
{
        static const char *const suffixes[] = { ".service", ".scope", ".socket", ".mount",
                                                ".swap" };

        for (size_t i = 0; i < G_N_ELEMENTS(suffixes); i++)
                if (has_suffix(name, length, suffixes[i]))
                        return true;
        return false;
}

/* Where the unit's name begins and the unit's path ends; false: no systemd made the group. */
static bool find_unit(const char *path, const char **ret_name, const char **ret_end)
{
        const char *name = path, *manager = NULL;

        while (*path == '/' && (name = strchr(name, '/'))) {
                size_t length = strcspn(++name, "/");

                if (is_unit(name, length) && (manager || !g_str_has_prefix(name, "user@"))) {
                        *ret_name = name;
                        *ret_end = name + length;
                        return true;
                }
                if (is_unit(name, length))
                        manager = name;
                else if (!has_suffix(name, length, ".slice"))
                        break;
        }
        if (!manager)
                return false;
        *ret_name = manager;
        *ret_end = manager + strcspn(manager, "/");
        return true;
}

char *cgroup_unit_path(const char *path)
{
        const char *name, *end;

        return find_unit(path, &name, &end) ? g_strndup(path, (size_t)(end - path))
                                            : g_strdup(path);
}

char *cgroup_unit_name(const char *path)
{
        const char *name, *end;

        return find_unit(path, &name, &end) ? g_strndup(name, (size_t)(end - name))
                                            : g_strdup(path);
}

bool cgroup_is_of_user(const char *path, uint32_t uid)
{
        g_autofree char *slice = g_strdup_printf("/user.slice/user-%u.slice/", uid);

        return g_str_has_prefix(path, slice);
}
