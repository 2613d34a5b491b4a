/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration without the daemon: loaded as the daemon would, in the form of its answers.
 */
#include "cli/offline.h"

#include "base/file.h"
#include "base/setting-value.h"
#include "config/config-files.h"
#include "config/config-section.h"
#include "config/config.h"
#include "config/profile-load.h"

const char *offline_policy_dir(const Ctl *ctl)
{
        return ctl->policy_dir ? ctl->policy_dir : POLICY_DIR;
}

/* A directory that was given, else the usual one below the root; absolute, a new string. */
static char *directory(const Ctl *ctl, const char *given, const char *usual)
{
        g_autofree char *root = g_canonicalize_filename(ctl->root_path ? ctl->root_path : "/",
                                                        NULL);

        return given ? g_canonicalize_filename(given, NULL) : g_build_filename(root, usual, NULL);
}

static json_object *describe_setting(const Section *section, const Setting *row)
{
        g_autofree char *value = setting_format(row, section->options);
        g_autofree char *expects = setting_expectation(row);
        Source source = section_source(section, row->key);
        g_autofree char *where = source_format(&source);
        json_object *object = json_object_new_object();

        json_put_text(object, "section", section->name);
        json_put_text(object, "key", row->key);
        json_put_text(object, "value", value);
        json_put_text(object, "default", row->fallback);
        json_put_text(object, "source", where);
        json_put_text(object, "expects", expects);
        json_put_text(object, "help", row->help);
        json_put_bool(object, "runtime", false);
        return object;
}

static json_object *describe_settings(const Config *config)
{
        json_object *array = json_object_new_array();

        for (guint i = 0; i < config->sections->len; i++) {
                const Section *section = g_ptr_array_index(config->sections, i);

                for (const Setting *row = section->rows; row->key; row++)
                        if (section_shows(section, row))
                                json_object_array_add(array, describe_setting(section, row));
        }
        return array;
}

static json_object *describe_profiles(const Config *config)
{
        json_object *array = json_object_new_array();

        for (guint i = 0; i < config->profiles->len; i++) {
                const Profile *profile = g_ptr_array_index(config->profiles, i);
                json_object *object = json_add(array);

                json_put_text(object, "name", profile->name);
                json_put_text_any(object, "summary", profile->summary);
                json_put_text(object, "file", profile->file);
                json_put_bool(object, "active", false);
        }
        return array;
}

static json_object *describe_errors(const GPtrArray *errors)
{
        json_object *array = json_object_new_array();

        for (guint i = 0; i < errors->len; i++) {
                const ConfigError *error = g_ptr_array_index(errors, i);
                g_autofree char *text = config_error_format(error);
                json_object *object = json_add(array);

                json_put_text(object, "file", error->file);
                json_put(object, "line", error->line ? json_object_new_int(error->line) : NULL);
                json_put_text(object, "message", error->message);
                json_put_text(object, "text", text);
        }
        return array;
}

static void describe_files(json_object *array, const ConfigPaths *paths, const char *name)
{
        g_autoptr(GPtrArray) ignored = config_errors_new();
        g_autoptr(GPtrArray) files = config_files_read(paths, name, ignored);

        for (guint i = 0; i < files->len; i++) {
                const ConfigFile *file = g_ptr_array_index(files, i);

                json_add_text(array, file->path);
        }
}

static json_object *describe_all_files(const ConfigPaths *paths, const Config *config)
{
        json_object *array = json_object_new_array();
        g_auto(GStrv) profiles = profiles_list(paths);

        describe_files(array, paths, "idled.conf");
        for (guint i = 0; config && i < config->policies->len; i++) {
                const IdledPolicy *policy = g_ptr_array_index(config->policies, i);
                g_autofree char *name = g_strdup_printf("policies/%s.conf", policy->name);

                describe_files(array, paths, name);
        }
        for (char **profile = profiles; *profile; profile++) {
                g_autofree char *name = g_strdup_printf("profiles/%s.conf", *profile);

                describe_files(array, paths, name);
        }
        return array;
}

void offline_paths_init(OfflinePaths *offline, const Ctl *ctl, const char *config_dir)
{
        offline->vendor = directory(ctl, ctl->vendor_dir, &VENDOR_DIR[1]);
        offline->admin = directory(ctl, config_dir ? config_dir : ctl->config_dir, &ADMIN_DIR[1]);
        offline->policies = g_canonicalize_filename(offline_policy_dir(ctl), NULL);
        offline->top = root_open("/");
        offline->paths = (ConfigPaths){
                .root = offline->top,
                .root_path = "/",
                .vendor_dir = offline->vendor,
                .admin_dir = offline->admin,
                .policy_dir = offline->policies,
        };
}

int offline_check_directory(const char *given)
{
        g_autoptr(GPtrArray) errors = config_errors_new();

        return config_check_directory(given, errors) ? EXIT_FINE : offline_complain(errors);
}

int offline_complain(const GPtrArray *errors)
{
        for (guint i = 0; i < errors->len; i++) {
                g_autofree char *text = config_error_format(errors->pdata[i]);

                complain("%s", text);
        }
        return EXIT_FAILED;
}

void offline_paths_done(OfflinePaths *offline)
{
        g_free(offline->vendor);
        g_free(offline->admin);
        g_free(offline->policies);
        fd_close(&offline->top);
}

char **offline_profiles(const Ctl *ctl)
{
        g_auto(OfflinePaths) offline = { .top = -1 };

        offline_paths_init(&offline, ctl, NULL);
        return profiles_list(&offline.paths);
}

json_object *offline_config(const Ctl *ctl, const char *config_dir)
{
        g_auto(OfflinePaths) offline = { .top = -1 };
        const ConfigPaths *paths = &offline.paths;
        g_autoptr(GPtrArray) errors = config_errors_new(), warnings = config_errors_new();
        g_autoptr(Config) config = NULL;
        json_object *answer = json_object_new_object();

        offline_paths_init(&offline, ctl, config_dir);
        if (config_load(paths, errors, &config) >= 0)
                config_find_warnings_below(ctl->root, paths, config, warnings);
        json_put(answer, "settings", config ? describe_settings(config) : NULL);
        json_put(answer, "profiles", config ? describe_profiles(config) : NULL);
        json_put(answer, "errors", describe_errors(errors));
        json_put(answer, "warnings", describe_errors(warnings));
        json_put(answer, "files", describe_all_files(paths, config));
        return answer;
}

json_object *offline_member(const Ctl *ctl, const char *member)
{
        g_autoptr(json_object) offline = offline_config(ctl, NULL);
        json_object *error;

        JSON_FOREACH(error, json_get(offline, "errors"))
                complain("%s", json_text(error, "text"));
        return json_object_get(json_get(offline, member));
}
