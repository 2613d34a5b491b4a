/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sections of the configuration: their tables, values, sources, and changes at run time.
 */
#include "config/config.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/setting-value.h"
#include "config/config-section.h"
#include "config/power-table.h"
#include "config/profile.h"

static void section_free(Section *section)
{
        settings_free(section->rows, section->options);
        g_hash_table_unref(section->sources);
        g_hash_table_unref(section->texts);
        g_hash_table_unref(section->runtime);
        g_ptr_array_unref(section->wrong);
        g_free(section->name);
        g_free(section);
}

Config *config_new(void)
{
        Config *config = g_new0(Config, 1);

        config->sections = g_ptr_array_new_with_free_func((GDestroyNotify)section_free);
        config->policies = g_ptr_array_new();
        config->profiles = g_ptr_array_new_with_free_func((GDestroyNotify)profile_free);
        config->apps = g_ptr_array_new();
        config->removed = config_errors_new();
        return config;
}

void config_free(Config *config)
{
        if (!config)
                return;
        g_ptr_array_unref(config->sections);
        g_ptr_array_unref(config->policies);
        g_ptr_array_unref(config->profiles);
        g_ptr_array_unref(config->apps);
        g_ptr_array_unref(config->removed);
        power_table_free(config->power);
        g_free(config);
}

int section_add(Config *config, const char *name, const Setting *rows, size_t size,
                char **ret_error)
{
        Section *section;
        void *options;
        int r;

        r = settings_new(rows, size, &options, ret_error);
        if (r < 0)
                return r;
        section = g_new0(Section, 1);
        section->name = g_strdup(name);
        section->rows = rows;
        section->options_size = size;
        section->options = options;
        section->sources = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
        section->texts = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
        section->runtime = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
        section->wrong = g_ptr_array_new();
        g_ptr_array_add(config->sections, section);
        return 0;
}

Section *config_section(const Config *config, const char *name)
{
        for (guint i = 0; i < config->sections->len; i++) {
                Section *section = g_ptr_array_index(config->sections, i);

                if (g_str_equal(section->name, name))
                        return section;
        }
        return NULL;
}

const char *config_section_nearest(const Config *config, const char *name)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        for (guint i = 0; i < config->sections->len; i++)
                g_ptr_array_add(names, ((Section *)g_ptr_array_index(config->sections, i))->name);
        g_ptr_array_add(names, NULL);
        return word_nearest(name, (const char *const *)names->pdata);
}

const char *section_heading(const Section *section)
{
        return section->policy ? "Policy" : section->name;
}

const Setting *section_row(const Section *section, const char *key)
{
        return setting_find(section->rows, section_heading(section), key);
}

const Setting *section_state_row(const Section *section, const char *key)
{
        return section->policy ? setting_find(section->rows, "State", key) : NULL;
}

bool section_shows(const Section *section, const Setting *row)
{
        return section_row(section, row->key) || section_source(section, row->key).line > 0;
}

char *settings_unknown_key(const Setting *rows, const char *heading, const char *shown,
                           const char *key)
{
        g_autofree char *clean = log_clean(key);
        g_autofree char *hint = text_suggest(setting_nearest(rows, heading, key));
        GString *text = g_string_new(NULL);
        const char *between = ": ";

        g_string_append_printf(text, "%s: found an unknown key, expected one of [%s]%s", clean,
                               shown, hint);
        for (const Setting *row = rows; row->key && !*hint; row++)
                if (g_str_equal(row->section, heading)) {
                        g_string_append_printf(text, "%s%s", between, row->key);
                        between = ", ";
                }
        return g_string_free(text, FALSE);
}

const char *section_text(const Section *section, const Setting *row, const Profile *profile,
                         bool with_runtime)
{
        const char *runtime = with_runtime ? g_hash_table_lookup(section->runtime, row->key) : NULL;
        const ProfileValue *value = profile_value(profile, section->name, row->key);
        const char *from_file = g_hash_table_lookup(section->texts, row->key);

        return runtime ? runtime : value ? value->text : from_file ? from_file : row->fallback;
}

/* True if the text has the key as a word. */
static bool has_word(const char *text, const char *key)
{
        size_t length = strlen(key);

        for (const char *at = text; (at = strstr(at, key)); at += length)
                if ((at == text || !g_ascii_isalnum(at[-1])) && !g_ascii_isalnum(at[length]))
                        return true;
        return false;
}

const Setting *section_named(const Section *section, const char *text, const char *key)
{
        for (const Setting *row = section->rows; row->key; row++)
                if (!(key && g_str_equal(row->key, key)) && has_word(text, row->key))
                        return row;
        return NULL;
}

/* " (found "2")": what another option that the text names has; "" without one. */
static char *format_other(const Section *section, const void *options, const char *text,
                          const char *key)
{
        const Setting *other = section_named(section, text, key);
        g_autofree char *value = other ? setting_format(other, options) : NULL;
        g_autofree char *clean = value ? log_clean(value) : NULL;

        return clean ? g_strdup_printf(" (found \"%s\")", clean) : g_strdup("");
}

int section_check(const Section *section, const void *options, const char **ret_key,
                  char **ret_error)
{
        const char *(*check)(const void *, const char **) = section->policy ? section->policy->check
                                                                            : section->check;
        const char *key = NULL, *wrong = check ? check(options, &key) : NULL;
        const Setting *row = wrong && key
                                     ? section_row(section, key) ?: section_state_row(section, key)
                                     : NULL;
        g_autofree char *text = NULL, *clean = NULL, *other = NULL;

        if (!wrong)
                return 0;
        *ret_key = row ? row->key : NULL;
        if (!row) {
                *ret_error = g_strdup(wrong);
                return -EINVAL;
        }
        text = setting_format(row, options);
        clean = log_clean(text);
        other = format_other(section, options, wrong, row->key);
        *ret_error = g_strdup_printf("%s: found \"%s\", which %s%s", row->key, clean, wrong, other);
        return -EINVAL;
}

/* Gives the options that the text names their defaults. */
static void reset_named(const Section *section, const char *text, void *options)
{
        for (const Setting *row = section->rows; row->key; row++) {
                g_autofree char *never = NULL;

                if (has_word(text, row->key))
                        setting_parse(row, row->fallback, options, &never);
        }
}

void section_check_all(const Section *section, const void *options,
                       void (*report)(const char *key, const char *error, void *userdata),
                       void *userdata)
{
        void *copy = settings_copy(section->rows, section->options_size, options);
        g_autoptr(GPtrArray) blamed = g_ptr_array_new();

        for (;;) {
                g_autofree char *error = NULL;
                const char *key = NULL;

                if (section_check(section, copy, &key, &error) >= 0 ||
                    (key && g_ptr_array_find(blamed, key, NULL)))
                        break;
                report(key, error, userdata);
                if (!key)
                        break;
                reset_named(section, error, copy);
                g_ptr_array_add(blamed, (char *)key);
        }
        settings_free(section->rows, copy);
}

/* Checks `text` on a copy of the options first, so that what contradicts others changes nothing. */
static int try_value(const Section *section, const Setting *row, const char *text, char **ret_error)
{
        void *copy = settings_copy(section->rows, section->options_size, section->options);
        g_autofree char *error = NULL;
        const char *blamed;
        int r;

        r = setting_parse(row, text, copy, &error);
        if (r < 0)
                *ret_error = g_strdup_printf("%s: %s", row->key, error);
        else
                r = section_check(section, copy, &blamed, ret_error);
        settings_free(section->rows, copy);
        return r;
}

static int set_runtime(Section *section, const Setting *row, const char *text, char **ret_error)
{
        g_autofree char *stripped = g_strstrip(g_strdup(text)), *never = NULL;
        const char *value = *stripped ? stripped
                                      : section_text(section, row, section->profile, false);
        int r;

        r = try_value(section, row, value, ret_error);
        if (r < 0)
                return r;
        r = setting_parse(row, value, section->options, &never);
        if (*stripped)
                g_hash_table_insert(section->runtime, (char *)row->key, g_steal_pointer(&stripped));
        else
                g_hash_table_remove(section->runtime, row->key);
        return r;
}

/* -EINVAL if the option names a profile, and `text` none that there is. */
static int check_profile(const Config *config, const Setting *row, const char *text,
                         char **ret_error)
{
        g_autofree char *name = g_strstrip(g_strdup(text)), *wrong = NULL;

        if (!profile_row_is_name(row) || !*name || profile_check_name(config, name, &wrong) >= 0)
                return 0;
        *ret_error = g_strdup_printf("%s: %s", row->key, wrong);
        return -EINVAL;
}

int config_set(Config *config, const char *section_name, const char *key, const char *text,
               char **ret_error)
{
        Section *section = config_section(config, section_name);
        const Setting *row = section ? section_row(section, key) : NULL;
        g_autofree char *clean = NULL, *hint = NULL;
        int r;

        if (section && !row)
                row = section_state_row(section, key);
        if (!section) {
                clean = log_clean(section_name);
                hint = text_suggest(config_section_nearest(config, section_name));
                *ret_error = g_strdup_printf("found section \"%s\", expected a section of "
                                             "idled.conf or an active policy%s",
                                             clean, hint);
                return -ENOENT;
        }
        if (!row) {
                *ret_error = settings_unknown_key(section->rows, section_heading(section),
                                                  section->name, key);
                return -ENOENT;
        }
        if (g_str_equal(section->name, "Daemon") && g_str_equal(row->key, "Policies")) {
                *ret_error = g_strdup("Policies: can only be changed in idled.conf");
                return -EOPNOTSUPP;
        }
        /* It names a file. */
        if (g_str_equal(section->name, "Evaluate") && g_str_equal(row->key, "PowerTable")) {
                *ret_error = g_strdup("PowerTable: can only be changed in idled.conf");
                return -EOPNOTSUPP;
        }
        r = check_profile(config, row, text, ret_error);
        return r < 0 ? r : set_runtime(section, row, text, ret_error);
}

/* Takes over what fits now. Returns how many keys were taken over. */
static int adopt_section(Config *config, const Section *from)
{
        const Section *to = config_section(config, from->name);
        GHashTableIter iter;
        void *key, *text;
        int taken = 0;

        g_hash_table_iter_init(&iter, from->runtime);
        while (to && g_hash_table_iter_next(&iter, &key, &text)) {
                g_autofree char *error = NULL;

                if (!g_hash_table_contains(to->runtime, key) &&
                    config_set(config, from->name, key, text, &error) == 0)
                        taken++;
        }
        return taken;
}

void config_adopt_runtime(Config *config, const Config *from)
{
        for (guint i = 0; i < from->sections->len; i++)
                /* One may fit only after another: a minimum above the file's maximum. */
                while (adopt_section(config, g_ptr_array_index(from->sections, i)) > 0)
                        continue;
}

Source section_source(const Section *section, const char *key)
{
        const ProfileValue *value;
        const Source *source;

        if (!key)
                return (Source){ 0 };
        if (g_hash_table_contains(section->runtime, key))
                return (Source){ "D-Bus", 0 };
        value = profile_value(section->profile, section->name, key);
        if (value)
                return value->source;
        source = g_hash_table_lookup(section->sources, key);
        return source ? *source : (Source){ 0 };
}

char *section_because(const Section *section, const Reason *reason)
{
        const Setting *row = reason->option ? section_row(section, reason->option) : NULL;
        g_autofree char *value = row ? setting_format(row, section->options) : NULL;
        g_autofree char *clean = value ? log_clean(value) : NULL;

        if (!clean || !*clean || reason->threshold_unit || !reason->because)
                return NULL;
        return g_strdup_printf("%s (%s %s)", reason->because, row->key, clean);
}

char *source_format(const Source *source)
{
        if (!source->file)
                return g_strdup("default");
        if (source->line == 0)
                return g_strdup_printf("set over %s", source->file);
        return g_strdup_printf("%s:%d", source->file, source->line);
}
