/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any configuration loads whole or not at all: then every error has a file and a message of one
 * line. Lines "%%" divide the input: idled.conf, the policy's file, a profile, and another that may
 * include it. Going from any profile to any other leaves values that would be accepted.
 */
#include <errno.h>

#include "base/setting-value.h"
#include "config/profile.h"
#include "fuzz-config.h"

static void put_files(const uint8_t *data, size_t size)
{
        static const char use[] = "[Daemon]\nPolicies=alpha\n";
        static const char *const names[] = { "etc/idled/idled.conf",
                                             "etc/idled/policies/alpha.conf",
                                             "etc/idled/profiles/one.conf",
                                             "etc/idled/profiles/two.conf" };
        GString *parts[G_N_ELEMENTS(names)];

        fuzz_split(data, size, parts, (int)G_N_ELEMENTS(names));
        fuzz_put("etc/idled/idled.conf.d/use.conf", use, strlen(use));
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                fuzz_put(names[i], parts[i]->str, parts[i]->len);
                g_string_free(parts[i], TRUE);
        }
}

/* Every value is one that would be accepted, and has a source. */
static void check_section(const Section *section)
{
        for (const Setting *row = section->rows; row->key; row++) {
                void *copy = settings_copy(section->rows, section->options_size, section->options);
                g_autofree char *text = setting_format(row, section->options), *error = NULL;
                Source source = section_source(section, row->key);
                g_autofree char *from = source_format(&source);

                g_assert(setting_parse(row, text, copy, &error) == 0);
                g_assert(source.file ? source.line > 0 : g_str_equal(from, "default"));
                settings_free(section->rows, copy);
        }
}

static void check_sections(const Config *config)
{
        for (guint i = 0; i < config->sections->len; i++)
                check_section(g_ptr_array_index(config->sections, i));
}

/* Nothing is set at run time: all profiles that loaded can be used, in any order. */
static void check_profiles(Config *config)
{
        for (guint i = 0; i < 2 * config->profiles->len; i++) {
                const Profile *profile = config->profiles->pdata[i % config->profiles->len];
                g_autofree char *error = NULL;

                g_assert(config_use_profile(config, profile, &error) >= 0);
                g_assert(config_use_profile(config, profile, &error) == 0);
                g_assert(config->profile == profile);
                check_sections(config);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        ConfigPaths paths = { fuzz_root(), "/", "usr/lib/idled", "etc/idled", fuzz_modules() };
        g_autoptr(GPtrArray) errors = config_errors_new();
        g_autoptr(Config) config = NULL;
        int r;

        put_files(data, size);
        r = config_load(&paths, errors, &config);
        g_assert(r == (errors->len > 0 ? -EINVAL : 0));
        g_assert((r == 0) == (config != NULL));
        fuzz_check_errors(errors);
        if (config) {
                check_sections(config);
                check_profiles(config);
        }
        return 0;
}
