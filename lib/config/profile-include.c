/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Include= of profiles: what a profile says in the end.
 *
 * Depth first, every profile once: a profile has what those that it includes have in the end, in
 * their order, and then its own. A profile that is met while it is being resolved includes itself.
 */

#include "config/config-files.h"
#include "config/profile-load.h"

typedef struct Resolver {
        const Config *config;
        GPtrArray *errors;
        GPtrArray *path; /* of Profile: being resolved, the outermost first */
} Resolver;

static const char *const families[] = { "power-saver", PROFILE_BALANCED, "performance", NULL };

static void take_values(Profile *profile, GHashTable *values)
{
        GHashTableIter iter;
        void *id, *value;

        g_hash_table_iter_init(&iter, values);
        while (g_hash_table_iter_next(&iter, &id, &value))
                if (*((const ProfileValue *)value)->text)
                        g_hash_table_insert(profile->values, id, value);
                else
                        g_hash_table_remove(profile->values, id);
}

/* "a includes b includes a", from where `profile` stands in the path. */
static char *describe_cycle(const Resolver *resolver, const Profile *profile)
{
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < resolver->path->len; i++) {
                const Profile *step = g_ptr_array_index(resolver->path, i);

                if (text->len > 0 || step == profile)
                        g_string_append_printf(text, "%s includes ", step->name);
        }
        g_string_append(text, profile->name);
        return g_string_free(text, FALSE);
}

static void resolve(Resolver *resolver, Profile *profile);

static void include(Resolver *resolver, Profile *profile, const char *name)
{
        Profile *other = (Profile *)config_profile(resolver->config, name);
        const Source *source = &profile->include_source;
        g_autofree char *error = NULL;

        if (!other) {
                profile_check_name(resolver->config, name, &error);
                config_error_add(resolver->errors, source->file, source->line, "Include: %s",
                                 error);
                return;
        }
        if (g_ptr_array_find(resolver->path, other, NULL)) {
                error = describe_cycle(resolver, other);
                config_error_add(resolver->errors, source->file, source->line,
                                 "Include: found \"%s\", expected no circle: %s", name, error);
                return;
        }
        resolve(resolver, other);
        take_values(profile, other->values);
        if (!profile->family &&
            (g_strv_contains(families, name) || !g_str_equal(other->family, PROFILE_BALANCED)))
                profile->family = other->family;
}

/* A profile with a family is done. */
static void resolve(Resolver *resolver, Profile *profile)
{
        if (profile->family)
                return;
        for (int i = 0; families[i]; i++)
                if (g_str_equal(families[i], profile->name))
                        profile->family = families[i];
        g_ptr_array_add(resolver->path, profile);
        for (char **name = profile->includes; *name; name++)
                include(resolver, profile, *name);
        g_ptr_array_remove_index(resolver->path, resolver->path->len - 1);
        take_values(profile, profile->own);
        if (!profile->family)
                profile->family = PROFILE_BALANCED;
}

void profiles_include(const Config *config, GPtrArray *errors)
{
        g_autoptr(GPtrArray) path = g_ptr_array_new();
        Resolver resolver = { config, errors, path };

        for (guint i = 0; i < config->profiles->len; i++)
                resolve(&resolver, g_ptr_array_index(config->profiles, i));
}
