/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of the administrator that are never read: policies/onedemand.conf, a drop-in without .conf.
 *
 * Errors in such a file are never found, because it is never opened; so its name is reported. This
 * is a warning, because a package may bring files for a policy of another package. Names that
 * editors and package managers give to copies are ignored.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/nearest.h"
#include "config/config-files.h"
#include "config/profile-load.h"

/* A directory of files NAME.conf and their drop-ins. */
typedef struct Place {
        const ConfigPaths *paths;
        const char *below;        /* the administrator's directory: "policies", or "" for itself */
        const char *const *names; /* that are read */
        const char *what;         /* they are the names of, and where that comes from, for people */
        GPtrArray *errors;
} Place;

static bool is_copy(const char *name)
{
        static const char *const marks[] = { ".dpkg-",   ".ucf-", ".rpmsave", ".rpmnew",
                                             ".rpmorig", ".bak",  ".orig",    ".swp" };

        for (size_t i = 0; i < G_N_ELEMENTS(marks); i++)
                if (strstr(name, marks[i]))
                        return true;
        return g_str_has_suffix(name, "~") ||
               g_ascii_strncasecmp(name, "README", strlen("README")) == 0;
}

/* The names in a directory of the administrator, sorted, without copies; empty if it does not
 * exist, which the code that reads it reports if it matters. */
static char **list(const ConfigPaths *paths, const char *name)
{
        g_autofree char *path = g_build_filename(paths->admin_dir, name, NULL);
        char **names = dir_list(paths->root, path, "");
        size_t n = 0;

        for (char **entry = names; *entry; entry++)
                if (is_copy(*entry))
                        g_free(*entry);
                else
                        names[n++] = *entry;
        names[n] = NULL;
        return names;
}

static const char *shown(const Place *place, const char *a, const char *b)
{
        g_autofree char *path = g_build_filename(place->below, a, b, NULL);

        return config_admin_path(place->paths, path);
}

static void check_drop_ins(const Place *place, const char *directory)
{
        g_autofree char *path = g_build_filename(place->below, directory, NULL);
        g_auto(GStrv) names = list(place->paths, path);

        for (char **name = names; *name; name++)
                if (!g_str_has_suffix(*name, ".conf"))
                        config_error_add(place->errors, shown(place, directory, *name), 0,
                                         "is never read, expected a name that ends in .conf");
}

/* One directly below the administrator's directory. Other files may be notes. */
static void check_directory(const Place *place, const char *entry)
{
        static const char *const known[] = { "policies", "profiles", "apps", "power", NULL };
        g_autofree char *path = g_build_filename(place->paths->admin_dir, entry, NULL);
        g_autofree char *hint = NULL;
        struct stat st;

        if (g_strv_contains(known, entry) || fstatat(place->paths->root, path, &st, 0) < 0 ||
            !S_ISDIR(st.st_mode))
                return;
        hint = text_suggest(word_nearest(entry, known));
        config_error_add(place->errors, shown(place, entry, NULL), 0,
                         "is never read, expected policies, profiles, apps or power%s", hint);
}

static void check_entry(const Place *place, const char *entry)
{
        const char *ending = g_str_has_suffix(entry, ".conf.d") ? ".conf.d" : ".conf", *near;
        g_autofree char *name = NULL, *wanted = NULL, *hint = NULL;

        if (!g_str_has_suffix(entry, ending)) {
                if (!*place->below)
                        check_directory(place, entry);
                else
                        config_error_add(place->errors, shown(place, entry, NULL), 0,
                                         "is never read, expected a name that ends in .conf");
                return;
        }
        name = g_strndup(entry, strlen(entry) - strlen(ending));
        if (g_strv_contains(place->names, name)) {
                if (g_str_equal(ending, ".conf.d"))
                        check_drop_ins(place, entry);
                return;
        }
        near = word_nearest(name, place->names);
        wanted = near ? g_strconcat(near, ending, NULL) : NULL;
        hint = text_suggest(wanted);
        config_error_add(place->errors, shown(place, entry, NULL), 0,
                         "is never read, expected %s%s", place->what, hint);
}

static void check_place(const Place *place)
{
        g_auto(GStrv) entries = list(place->paths, place->below);

        for (char **entry = entries; *entry; entry++)
                check_entry(place, *entry);
}

void config_find_unread(const ConfigPaths *paths, GPtrArray *errors)
{
        static const char *const own[] = { "idled", NULL };
        g_autoptr(GPtrArray) ignored = config_errors_new();
        g_auto(GStrv) policies = policy_list(paths->policy_dir);
        g_auto(GStrv) profiles = profiles_list(paths);
        g_auto(GStrv) apps = config_files_list(paths, "apps", ignored);
        g_autofree char *what = g_strdup_printf("the name of a policy in %s", paths->policy_dir);

        check_place(&(Place){ paths, "", own, "idled.conf", errors });
        check_place(&(Place){ paths, "policies", (const char *const *)policies, what, errors });
        check_place(&(Place){ paths, "profiles", (const char *const *)profiles,
                              "the name of a profile", errors });
        check_place(&(Place){ paths, "apps", (const char *const *)apps, "a rule's name", errors });
}
