/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a process matches a rule.
 *
 * Names are bytes that processes choose freely. They are compared as bytes and as a whole. Only
 * paths are split, at their slashes: a wildcard does not match a slash in a path. In the C locale,
 * in which the daemon stays, fnmatch(3) compares bytes.
 *
 * A user can make a mount namespace in which any program has any path. So a path matches only if it
 * leads to the same program in the namespace of the first process (follower.c). idled cannot
 * check that for a program whose file was replaced since, by an upgrade for example.
 *
 * A unit is what systemd makes of a cgroup's path: slices, and below them the first that is no
 * slice. A cgroup below that was made by the unit itself, or by a user to whom it is delegated, and
 * may have any name: it is no unit, and a rule can match it as a cgroup only.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "config/app.h"
#include "model/kind.h"

unsigned app_needs(const App *app)
{
        const AppOptions *o = app->options;

        return (*o->executables ? PROCESS_FACT_EXECUTABLE : 0) |
               (*o->comms ? PROCESS_FACT_COMM : 0) | (*o->users ? PROCESS_FACT_STATUS : 0) |
               (*o->units || *o->cgroups ? PROCESS_FACT_CGROUPS : 0);
}

static bool any_matches(char *const *globs, const char *text, int flags)
{
        for (; *globs; globs++)
                if (fnmatch(*globs, text, flags) == 0)
                        return true;
        return false;
}

/* Whether the group or one that it lies in matches; all lie in "/". */
static bool is_within(char *const *globs, const char *path)
{
        char part[PROCESS_CGROUPS_SIZE], *slash;

        for (g_strlcpy(part, path, sizeof(part)); *part; *slash = '\0') {
                if (any_matches(globs, part, FNM_PATHNAME))
                        return true;
                slash = strrchr(part, '/');
        }
        return any_matches(globs, "/", FNM_PATHNAME);
}

static bool is_in_cgroup(char *const *globs, const ProcessFacts *facts)
{
        for (const char *path = facts->cgroups; *path; path += strlen(path) + 1)
                if (is_within(globs, path))
                        return true;
        return false;
}

/* The end of the highest unit in the path that matches; NULL: none does. */
static const char *find_unit(char *const *globs, const ProcessFacts *facts)
{
        const char *from = facts->unit_cgroup;
        bool slice = true;

        while (*from == '/' && slice) {
                size_t length = strcspn(++from, "/");
                g_autofree char *unit = g_strndup(from, length);

                slice = g_str_has_suffix(unit, ".slice");
                from += length;
                if (any_matches(globs, unit, 0))
                        return from;
        }
        return NULL;
}

/* True if the rule names units and nothing else, but for these facts. */
static bool names_units(const App *app, unsigned also)
{
        return (app_needs(app) & ~also) == PROCESS_FACT_CGROUPS && !*app->options->cgroups;
}

bool app_is_of_units(const App *app)
{
        const AppOptions *o = app->options;

        return names_units(app, *o->kinds ? 0 : PROCESS_FACT_STATUS) && !o->children &&
               o->latency_usec == 0;
}

char *app_unit(const App *app, const ProcessFacts *facts)
{
        const char *end = names_units(app, 0) ? find_unit(app->options->units, facts) : NULL;

        return end ? g_strndup(facts->unit_cgroup, (size_t)(end - facts->unit_cgroup)) : NULL;
}

unsigned app_kinds(const App *app)
{
        const char *word;
        unsigned kinds = 0;

        kinds_parse((const char *const *)app->options->kinds, &kinds, &word);
        return kinds;
}

static bool is_of_user(char *const *globs, const ProcessFacts *facts, GHashTable *users)
{
        const char *name = g_hash_table_lookup(users, GUINT_TO_POINTER(facts->uid));
        char number[16];

        snprintf(number, sizeof(number), "%u", (unsigned)facts->uid);
        return any_matches(globs, number, 0) || (name && any_matches(globs, name, 0));
}

bool app_matches(const App *app, ProcessFact fact, const ProcessFacts *facts, GHashTable *users)
{
        const AppOptions *o = app->options;

        switch (fact) {
        case PROCESS_FACT_EXECUTABLE:
                return !*o->executables ||
                       any_matches(o->executables, facts->executable, FNM_PATHNAME);
        case PROCESS_FACT_COMM:
                return !*o->comms || any_matches(o->comms, facts->comm, 0);
        case PROCESS_FACT_CGROUPS:
                return (!*o->cgroups || is_in_cgroup(o->cgroups, facts)) &&
                       (!*o->units || find_unit(o->units, facts));
        case PROCESS_FACT_STATUS:
                return !*o->users || is_of_user(o->users, facts, users);
        }
        return false;
}
