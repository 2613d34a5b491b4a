/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Active profiles: looking values up, and changing from one to another.
 */
#include "config/profile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/setting-value.h"
#include "config/config-section.h"

#define NAME_LENGTH_MAX 64

bool profile_is_name(const char *name)
{
        size_t length = strlen(name);

        return length > 0 && length <= NAME_LENGTH_MAX && g_ascii_isalnum(name[0]) &&
               strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_") == length &&
               !g_str_equal(name, PROFILE_AUTO);
}

void profile_free(Profile *profile)
{
        g_free(profile->name);
        g_free(profile->summary);
        g_strfreev(profile->includes);
        g_hash_table_unref(profile->own);
        g_hash_table_unref(profile->values);
        g_free(profile);
}

const Profile *config_profile(const Config *config, const char *name)
{
        for (guint i = 0; i < config->profiles->len; i++) {
                const Profile *profile = g_ptr_array_index(config->profiles, i);

                if (g_str_equal(profile->name, name))
                        return profile;
        }
        return NULL;
}

/* The names, NULL at the end; they are the profiles'. */
static const char **list_names(const Config *config)
{
        const char **names = g_new0(const char *, config->profiles->len + 1);

        for (guint i = 0; i < config->profiles->len; i++)
                names[i] = ((const Profile *)config->profiles->pdata[i])->name;
        return names;
}

char *config_profile_names(const Config *config)
{
        g_autofree const char **names = list_names(config);

        return g_strjoinv(", ", (char **)names);
}

char *profile_value_id(const char *section, const char *key)
{
        return g_strconcat(section, "\n", key, NULL);
}

const ProfileValue *profile_value(const Profile *profile, const char *section, const char *key)
{
        g_autofree char *id = profile ? profile_value_id(section, key) : NULL;

        return profile ? g_hash_table_lookup(profile->values, id) : NULL;
}

/* Every text is known to parse. */
void *profile_options(const Profile *profile, const Section *section, bool with_runtime)
{
        g_autofree char *never = NULL;
        void *options = NULL;

        settings_new(section->rows, section->options_size, &options, &never);
        for (const Setting *row = section->rows; row->key; row++) {
                const char *text = section_text(section, row, profile, with_runtime);

                if (text != row->fallback)
                        setting_parse(row, text, options, &never);
        }
        return options;
}

void profile_check_section(const Profile *profile, const Section *section,
                           void (*report)(const char *key, const char *error, void *userdata),
                           void *userdata)
{
        void *options = profile_options(profile, section, false);

        section_check_all(section, options, report, userdata);
        settings_free(section->rows, options);
}

/* Exchanges what is in two options structs; a policy without options has none. */
static void swap(void *a, void *b, size_t size)
{
        g_autofree void *kept = g_memdup2(a, size);

        if (size == 0)
                return;
        memcpy(a, b, size);
        memcpy(b, kept, size);
}

/* Frees what compute() made for the first `n` sections. */
static void drop(const Config *config, void **options, guint n)
{
        for (guint i = 0; i < n; i++) {
                const Section *section = g_ptr_array_index(config->sections, i);

                if (options[i])
                        settings_free(section->rows, options[i]);
        }
}

int config_use_profile(Config *config, const Profile *profile, char **ret_error)
{
        guint n = config->sections->len;
        g_autofree void **options = g_new0(void *, n);
        const char *key;
        int changed = 0;

        for (guint i = 0; i < n; i++) {
                const Section *section = g_ptr_array_index(config->sections, i);

                if (!section->policy)
                        continue;
                options[i] = profile_options(profile, section, true);
                if (section_check(section, options[i], &key, ret_error) < 0) {
                        drop(config, options, i + 1);
                        return -EINVAL;
                }
        }
        for (guint i = 0; i < n; i++) {
                Section *section = g_ptr_array_index(config->sections, i);

                if (!options[i])
                        continue;
                changed |= !settings_equal(section->rows, section->options, options[i]);
                swap(section->options, options[i], section->options_size);
                section->profile = profile;
        }
        drop(config, options, n);
        config->profile = profile;
        return changed;
}

bool profile_row_is_name(const Setting *row)
{
        return g_str_equal(row->section, "Daemon") &&
               (g_str_equal(row->key, "ProfileAC") || g_str_equal(row->key, "ProfileBattery"));
}

int profile_check_name(const Config *config, const char *name, char **ret_error)
{
        g_autofree char *clean = NULL, *known = NULL, *hint = NULL;
        g_autofree const char **names = NULL;

        if (config_profile(config, name))
                return 0;
        clean = log_clean(name);
        known = config_profile_names(config);
        names = list_names(config);
        hint = text_suggest(word_nearest(name, names));
        *ret_error = g_strdup_printf("found \"%s\", expected a profile: %s%s", clean, known, hint);
        return -EINVAL;
}
