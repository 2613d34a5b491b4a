/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loading the configuration: from files to checked options.
 *
 * idled.conf comes first because it names the policies; each policy then brings the table by which
 * its own file is read. A load goes on after an error, to report all there are.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/setting-value.h"
#include "config/app.h"
#include "config/config-files.h"
#include "config/config-parse.h"
#include "config/config-section.h"
#include "config/power-table.h"
#include "config/profile-load.h"
#include "config/removed.h"
#include "stats/evaluator.h"

/* What a file may contain: some of a configuration's sections. */
typedef struct FileScope {
        const Config *config;
        Section *const *sections;
        guint n_sections;
} FileScope;

static Section *scope_section(const FileScope *scope, const char *heading)
{
        for (guint i = 0; i < scope->n_sections; i++)
                if (g_str_equal(section_heading(scope->sections[i]), heading))
                        return scope->sections[i];
        return NULL;
}

/* "[A], [B] or [C]"; the array ends with NULL. */
static char *join_or(const GPtrArray *headings)
{
        GString *text = g_string_new(NULL);
        guint n = headings->len - 1;

        for (guint i = 0; i < n; i++)
                g_string_append_printf(text, "%s[%s]",
                                       i == 0      ? ""
                                       : i + 1 < n ? ", "
                                                   : " or ",
                                       (const char *)headings->pdata[i]);
        return g_string_free(text, FALSE);
}

static char *unknown_section(const FileScope *scope, const char *heading)
{
        g_autofree char *clean = log_clean(heading), *known = NULL, *hint = NULL;
        g_autoptr(GPtrArray) headings = g_ptr_array_new();

        for (guint i = 0; i < scope->n_sections; i++)
                g_ptr_array_add(headings, (char *)section_heading(scope->sections[i]));
        g_ptr_array_add(headings, NULL);
        known = join_or(headings);
        hint = text_suggest(word_nearest(heading, (const char *const *)headings->pdata));
        return g_strdup_printf("found section [%s], expected %s in this file%s", clean, known,
                               hint);
}

static char *unknown_key(const FileScope *scope, const Section *section, const char *key)
{
        const char *heading = section_heading(section);
        g_autofree char *clean = log_clean(key);

        for (guint i = 0; i < scope->n_sections; i++)
                if (section_row(scope->sections[i], key))
                        return g_strdup_printf("%s: found in [%s], expected in [%s]", clean,
                                               heading, section_heading(scope->sections[i]));
        return settings_unknown_key(section->rows, heading, heading, key);
}

static char *check_name(const char *heading, const char *key, void *userdata)
{
        const FileScope *scope = userdata;
        const Section *section = scope_section(scope, heading);

        if (!section)
                return unknown_section(scope, heading);
        if (!key || section_row(section, key) || removed_find(section->name, key))
                return NULL;
        return unknown_key(scope, section, key);
}

/* Sets a key as a file has it; without value it goes back to its default. */
static int set_from_file(Section *section, const Setting *row, const char *text, Source source,
                         char **ret_error)
{
        int r;

        r = setting_parse(row, *text ? text : row->fallback, section->options, ret_error);
        if (r < 0)
                return r;
        if (*text) {
                g_hash_table_insert(section->sources, (char *)row->key,
                                    g_memdup2(&source, sizeof(source)));
                g_hash_table_insert(section->texts, (char *)row->key, g_strdup(text));
        } else {
                g_hash_table_remove(section->sources, row->key);
                g_hash_table_remove(section->texts, row->key);
        }
        return 0;
}

static void apply_file(const FileScope *scope, const ConfigFile *file, GPtrArray *errors)
{
        g_autoptr(GPtrArray)
                lines = config_parse(file->text, file->length, check_name, (void *)scope);

        for (guint i = 0; i < lines->len; i++) {
                const ConfigLine *line = g_ptr_array_index(lines, i);
                g_autofree char *error = NULL;
                const Setting *row;
                Section *section;
                Source source;

                section = line->problem ? NULL : scope_section(scope, line->section);
                if (!section) {
                        config_error_add(errors, file->path, line->number, "%s", line->problem);
                        continue;
                }
                source = (Source){ file->path, line->number };
                row = removed_note(scope->config, section->name, line->key, source)
                              ? section_state_row(section, line->key)
                              : section_row(section, line->key);
                if (!row || set_from_file(section, row, line->value, source, &error) >= 0)
                        continue;
                config_error_add(errors, file->path, line->number, "%s: %s", line->key, error);
                g_ptr_array_add(section->wrong, (char *)row->key);
        }
}

static void apply_files(const ConfigPaths *paths, const char *name, const FileScope *scope,
                        GPtrArray *errors)
{
        g_autoptr(GPtrArray) files = config_files_read(paths, name, errors);

        for (guint i = 0; i < files->len; i++)
                apply_file(scope, g_ptr_array_index(files, i), errors);
}

/* The place to correct a value: its line, or the administrator's file. */
static Source place_to_mend(const ConfigPaths *paths, const Section *section, const char *key,
                            const char *name)
{
        Source source = section_source(section, key);

        return source.file ? source : (Source){ config_admin_path(paths, name), 0 };
}

/* For report_contradiction(). */
typedef struct Contradictions {
        const Section *section;
        const ConfigPaths *paths;
        const char *name; /* of the file */
        GPtrArray *errors;
} Contradictions;

/* "; MaxCores is set in FILE:LINE", or which of the two options has its default. */
static char *explain_pair(const Section *section, const char *key, const char *other)
{
        Source first = section_source(section, key), second = section_source(section, other);
        g_autofree char *where = source_format(&second);

        return first.file && second.file
                       ? g_strdup_printf("; %s is set in %s", other, where)
                       : g_strdup_printf("; %s has its default value", first.file ? other : key);
}

/* Whether values contradict each other of which one was not understood is not known before that is
 * corrected. */
static void report_contradiction(const char *key, const char *error, void *userdata)
{
        const Contradictions *found = userdata;
        const Section *section = found->section;
        const Setting *other = key ? section_named(section, error, key) : NULL;
        g_autofree char *pair = other ? explain_pair(section, key, other->key) : g_strdup("");
        bool is_default = other && !section_source(section, key).file;
        Source source = place_to_mend(found->paths, section, is_default ? other->key : key,
                                      found->name);

        for (guint i = 0; i < section->wrong->len; i++)
                if (strstr(error, section->wrong->pdata[i]))
                        return;
        config_error_add(found->errors, source.file, source.line, "%s%s", error, pair);
}

static void check_section(const Section *section, const ConfigPaths *paths, const char *name,
                          GPtrArray *errors)
{
        Contradictions found = { section, paths, name, errors };

        section_check_all(section, section->options, report_contradiction, &found);
}

static void load_policy(Config *config, const ConfigPaths *paths, const IdledPolicy *policy,
                        GPtrArray *errors)
{
        g_autofree char *name = g_strdup_printf("policies/%s.conf", policy->name);
        g_autofree char *error = NULL;
        const char *admin = config_admin_path(paths, name);
        Section *section;

        if (section_add(config, policy->name, policy->settings, policy->options_size, &error) < 0) {
                config_error_add(errors, admin, 0, "policy %s: %s", policy->name, error);
                return;
        }
        section = g_ptr_array_index(config->sections, config->sections->len - 1);
        section->policy = policy;
        g_ptr_array_add(config->policies, (void *)policy);
        apply_files(paths, name, &(FileScope){ config, &section, 1 }, errors);
        check_section(section, paths, name, errors);
}

/* "found "ondemnd", expected one of the policies in DIR: a, b (did you mean ...?)" */
static char *unknown_policy(const char *dir, const char *name)
{
        g_auto(GStrv) known = policy_list(dir);
        g_autofree char *clean = log_clean(name), *list = g_strjoinv(", ", known);
        g_autofree char *hint = text_suggest(word_nearest(name, (const char *const *)known));

        return g_strdup_printf("found \"%s\", expected policies in %s: %s%s", clean, dir,
                               *list ? list : "it has none (see --policy-dir)", hint);
}

/* While Policies= is wrong, the active policies are not known. The files of all policies are then
 * checked, so that all errors are reported at once. */
static void load_hidden(Config *config, const ConfigPaths *paths, GPtrArray *errors)
{
        g_autoptr(GPtrArray) reported = g_ptr_array_new_with_free_func(
                (GDestroyNotify)config_error_free); /* freed by the code that reads the files one by
                                                       one */
        g_auto(GStrv) names = config_files_list(paths, "policies", reported);

        for (char **name = names; *name; name++) {
                g_autofree char *error = NULL;
                const IdledPolicy *policy;

                if (!config_section(config, *name) &&
                    policy_load(paths->policy_dir, *name, &policy, &error) == 0)
                        load_policy(config, paths, policy, errors);
        }
}

/* A list that is longer has been damaged, and each of its words would be an error. */
#define POLICIES_MAX 64

/* `suspect`: idled.conf has mistakes, one of which may be why it has no Policies=. */
static void load_policies(Config *config, const ConfigPaths *paths, bool suspect, GPtrArray *errors)
{
        const Section *daemon = config_section(config, "Daemon");
        const DaemonOptions *options = daemon->options;
        Source source = section_source(daemon, "Policies");
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
        g_autoptr(GHashTable) repeated = g_hash_table_new(g_str_hash, g_str_equal);
        bool wrong = suspect && !source.file;

        if (!source.file)
                source.file = "(default)";
        for (int i = 0; options->policies[i]; i++) {
                const char *name = options->policies[i];
                const IdledPolicy *policy;
                g_autofree char *error = NULL;
                int r;

                if (!g_hash_table_add(seen, (gpointer)name)) {
                        if (g_hash_table_add(repeated, (gpointer)name)) /* once is enough */
                                config_error_add(errors, source.file, source.line,
                                                 "Policies: found \"%s\" more than once, "
                                                 "expected it once",
                                                 name);
                        wrong = true;
                        continue;
                }
                if (g_hash_table_size(seen) > POLICIES_MAX) {
                        config_error_add(errors, source.file, source.line,
                                         "Policies: found more than %d, expected fewer",
                                         POLICIES_MAX);
                        return;
                }
                r = policy_load(paths->policy_dir, name, &policy, &error);
                if (r == 0) {
                        load_policy(config, paths, policy, errors);
                        continue;
                }
                if (r == -ENOENT) {
                        g_free(error);
                        error = unknown_policy(paths->policy_dir, name);
                }
                config_error_add(errors, source.file, source.line, "Policies: %s", error)->error =
                        r;
                wrong = true;
        }
        if (wrong)
                load_hidden(config, paths, errors);
}

static void load_daemon(Config *config, const ConfigPaths *paths, GPtrArray *errors)
{
        FileScope scope = { config, (Section *const *)config->sections->pdata,
                            config->sections->len };

        apply_files(paths, "idled.conf", &scope, errors);
        for (guint i = 0; i < config->sections->len; i++)
                check_section(config->sections->pdata[i], paths, "idled.conf", errors);
}

/* The power table that idled.conf names: a file among the configuration, never a path. */
static void load_power_table(Config *config, const ConfigPaths *paths, GPtrArray *errors)
{
        const Section *section = config_section(config, "Evaluate");
        const char *name = ((const EvaluateOptions *)section->options)->power_table;
        Source source = section_source(section, "PowerTable");
        g_autofree char *clean = log_clean(name), *list = NULL, *hint = NULL;
        g_auto(GStrv) known = NULL;
        int r = -ENOENT;

        if (!*name)
                return;
        if (!strchr(name, '/') && name[0] != '.')
                r = power_table_load(paths, name, &config->power, errors);
        if (r != -ENOENT)
                return;
        known = power_tables_list(paths);
        list = g_strjoinv(", ", known);
        hint = text_suggest(word_nearest(name, (const char *const *)known));
        config_error_add(errors, source.file, source.line,
                         "PowerTable: found \"%s\", expected the name of a table in power/: %s%s",
                         clean, *list ? list : "there is none", hint);
}

/* What config_load() returns for the errors from number `first` on. An error of the system may have
 * caused the others. */
static int errors_sum(const GPtrArray *errors, guint first)
{
        static const int passing[] = { -EMFILE, -ENFILE, -ENOMEM, -EIO, -EINTR, -EAGAIN };

        for (guint i = first; i < errors->len; i++)
                for (size_t k = 0; k < G_N_ELEMENTS(passing); k++)
                        if (((const ConfigError *)errors->pdata[i])->error == passing[k])
                                return passing[k];
        return errors->len > first ? -EINVAL : 0;
}

/* The sections of idled.conf. */
static const struct {
        const Setting *rows;
        size_t size;
} sections[] = {
        { daemon_settings, sizeof(DaemonOptions) },
        { park_settings, sizeof(ParkOptions) },
        { recording_settings, sizeof(RecordingOptions) },
        { frequency_settings, sizeof(TuneOptions) },
        { idle_states_settings, sizeof(TuneOptions) },
        { latency_settings, sizeof(TuneOptions) },
        { evaluate_settings, sizeof(EvaluateOptions) },
        { interrupt_settings, sizeof(InterruptOptions) },
        { housekeeping_settings, sizeof(HousekeepingOptions) },
};

bool config_check_directory(const char *given, GPtrArray *errors)
{
        if (!given || g_file_test(given, G_FILE_TEST_IS_DIR))
                return true;
        config_error_add(errors, g_intern_string(given), 0,
                         "found no directory, expected the configuration's");
        return false;
}

int config_load(const ConfigPaths *paths, GPtrArray *errors, Config **ret_config)
{
        g_autoptr(Config) config = config_new();
        g_autofree char *error = NULL;
        guint errors_before = errors->len;
        int r = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(sections) && r == 0; i++)
                r = section_add(config, sections[i].rows->section, sections[i].rows,
                                sections[i].size, &error);
        if (r < 0) {
                config_error_add(errors, config_admin_path(paths, "idled.conf"), 0, "%s", error);
                return r;
        }
        config_section(config, "Park")->check = park_check;
        load_daemon(config, paths, errors);
        load_power_table(config, paths, errors);
        load_policies(config, paths, errors->len > errors_before, errors);
        profiles_load(config, paths, errors);
        apps_load(config, paths, errors);
        r = errors_sum(errors, errors_before);
        if (r < 0)
                return r;
        *ret_config = g_steal_pointer(&config);
        return 0;
}
