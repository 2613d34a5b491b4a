/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Saving options: one drop-in per file of the configuration, zz-idlectl.conf, is idlectl's.
 *
 * Its name sorts behind those that administrators choose. 90-idlectl.conf, which idlectl wrote
 * before, is merged into it when something is saved, and removed.
 *
 * What else stands in it, comments included, stays. The text is checked as part of the whole
 * configuration before anything is written, so that the daemon finds either the old file or one
 * that it can load.
 */
#include "cli/save.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/setting-value.h"
#include "cli/client.h"
#include "cli/offline.h"
#include "sense/topology-read.h"

json_object *settings_all(Ctl *ctl)
{
        json_object *settings = NULL;

        if (!client_manager(ctl->client))
                return offline_member(ctl, "settings");
        client_ask(ctl->client, "GetSettings", "", NULL, &settings);
        return settings;
}

int settings_set(const Ctl *ctl, const char *section, const SavedValue *values, guint n,
                 json_object **ret_warnings)
{
        g_autofree const char **options = g_new0(const char *, 3 * n + 1);
        g_autofree char *error = NULL;

        for (guint i = 0; i < n; i++) {
                options[3 * i] = section;
                options[3 * i + 1] = values[i].key;
                options[3 * i + 2] = values[i].value;
        }
        if (client_set_options(ctl->client, options, ret_warnings, &error) >= 0)
                return EXIT_FINE;
        return complain("%s%s", error, n > 1 ? "; nothing was changed" : "");
}

/* The daemon's error is one line for each thing that is wrong. */
static int complain_lines(const char *text)
{
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        for (char **line = lines; *line; line++)
                complain("%s", *line);
        return EXIT_FAILED;
}

int settings_reload(Ctl *ctl)
{
        g_autofree char *error = NULL;
        int status = EXIT_FINE;

        if (client_call(ctl->client, "Reload", "", NULL, NULL, &error) < 0)
                status = complain_lines(error);
        client_forget(ctl->client);
        return status;
}

#define DROP_IN     "zz-idlectl.conf"
#define DROP_IN_OLD "90-idlectl.conf"

/* The section as the files have it. NULL after messages. */
static const Section *find_section(const Config *config, const char *name)
{
        const Section *section = config_section(config, name);
        GString *names;

        if (section)
                return section;
        names = g_string_new(NULL);
        for (guint i = 0; i < config->sections->len; i++)
                g_string_append_printf(names, "%s%s", i > 0 ? ", " : "",
                                       ((const Section *)config->sections->pdata[i])->name);
        complain("set: found section \"%s\", expected one of %s", name, names->str);
        g_string_free(names, TRUE);
        return NULL;
}

static char *drop_in_path(const OfflinePaths *offline, const Section *section, const char *name)
{
        g_autofree char *dir = section->policy
                                       ? g_strdup_printf("policies/%s.conf.d", section->name)
                                       : g_strdup("idled.conf.d");

        return g_build_filename(offline->admin, dir, name, NULL);
}

typedef struct DropIn {
        char *path, *text; /* NULL: there is none */
} DropIn;

static void drop_in_done(DropIn *drop_in)
{
        g_free(drop_in->path);
        g_free(drop_in->text);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DropIn, drop_in_done)

/* Reads the drop-in as it is. */
static int read_drop_in(DropIn *drop_in)
{
        const char *path = drop_in->path;
        g_autoptr(GError) error = NULL;
        struct stat st;

        if (lstat(path, &st) < 0)
                return errno == ENOENT ? EXIT_FINE : complain("%s: %s", path, g_strerror(errno));
        if (!S_ISREG(st.st_mode))
                return complain(
                        "%s: found something else, expected a file that idlectl may replace", path);
        if (!g_file_get_contents(path, &drop_in->text, NULL, &error))
                return complain("%s", error->message);
        return EXIT_FINE;
}

/* The file of the text; NULL after a message. */
static GKeyFile *parse(const char *path, const char *text)
{
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_autoptr(GError) error = NULL;

        if (g_key_file_load_from_data(file, text, (gsize)-1, G_KEY_FILE_KEEP_COMMENTS, &error))
                return g_steal_pointer(&file);
        complain("%s: %s", path, error->message);
        return NULL;
}

/* Adds the keys that the file does not have. */
static void merge(GKeyFile *file, GKeyFile *old)
{
        g_auto(GStrv) groups = g_key_file_get_groups(old, NULL);

        for (char **group = groups; *group; group++) {
                g_auto(GStrv) keys = g_key_file_get_keys(old, *group, NULL, NULL);

                for (char **key = keys; key && *key; key++) {
                        g_autofree char *value = g_key_file_get_value(old, *group, *key, NULL);

                        if (!g_key_file_has_key(file, *group, *key, NULL))
                                g_key_file_set_value(file, *group, *key, value);
                }
        }
}

/* The drop-in `now` with what only `old` has and the values in it. NULL after a message. */
static char *edit(const DropIn *now, const DropIn *old, const Section *section,
                  const SavedValue *values, guint n)
{
        const char *heading = section->policy ? "Policy" : section->name;
        const char *text = now->text ?: old->text ?: "# Written by idlectl set --save.\n";
        g_autoptr(GKeyFile) file = parse(now->text ? now->path : old->path, text);
        g_autoptr(GKeyFile) other = now->text && old->text ? parse(old->path, old->text) : NULL;

        if (!file || (now->text && old->text && !other))
                return NULL;
        if (other)
                merge(file, other);
        for (guint i = 0; i < n; i++) {
                for (const char *p = values[i].value; *p; p++)
                        if (g_ascii_iscntrl(*p)) {
                                complain("%s: found a control character, expected one line of text",
                                         values[i].key);
                                return NULL;
                        }
                if (*values[i].value)
                        g_key_file_set_value(file, heading, values[i].key, values[i].value);
                else
                        g_key_file_remove_key(file, heading, values[i].key, NULL);
        }
        return g_key_file_to_data(file, NULL, NULL);
}

/* Places in the file that is not written yet have no line: the numbers would be those of a text
 * that the reader cannot open. */
static int complain_trial(GPtrArray *errors, const char *path)
{
        g_autofree char *place = g_strdup_printf(" is set in %s:", path);

        for (guint i = 0; i < errors->len; i++) {
                ConfigError *error = errors->pdata[i];
                char *other = strstr(error->message, place);

                if (other)
                        other[strlen(place) - 1] = '\0';
                if (!g_str_equal(error->file, path))
                        continue;
                complain("set --save: %s; %s is not changed", error->message, path);
                g_ptr_array_remove_index(errors, i--);
        }
        return offline_complain(errors);
}

/* Reports what a stronger file hid while it was in the old drop-in. */
static void report_moved(const Section *before, const Section *after, const SavedValue *values,
                         guint n)
{
        for (const Setting *row = after ? after->rows : NULL; row && row->key; row++) {
                g_autofree char *old = setting_format(row, before->options);
                g_autofree char *now = setting_format(row, after->options);
                bool saved = false;

                for (guint i = 0; i < n; i++)
                        saved |= g_str_equal(values[i].key, row->key);
                if (!saved && !g_str_equal(old, now))
                        complain("%s %s is no longer %s but %s, because " DROP_IN_OLD
                                 " was merged into " DROP_IN,
                                 after->name, row->key, old, now);
        }
}

/* Loads the configuration as it would be. EXIT_FAILED after messages. */
static int check(const Ctl *ctl, const OfflinePaths *offline, const char *path, Config **ret_config)
{
        g_autoptr(GPtrArray) errors = config_errors_new();
        g_autoptr(GPtrArray) absent = config_errors_new();
        Topology *topology;

        if (config_load(&offline->paths, errors, ret_config) < 0)
                return complain_trial(errors, path);
        if (topology_read(ctl->root, &topology) < 0)
                return EXIT_FINE;
        config_find_absent(*ret_config, &topology->possible, absent);
        topology_free(topology);
        for (guint i = absent->len; i-- > 0;)
                if (!g_str_equal(((const ConfigError *)absent->pdata[i])->file, path))
                        g_ptr_array_remove_index(absent, i);
        return absent->len > 0 ? complain_trial(absent, path) : EXIT_FINE;
}

/* In one step, and on the disk when this returns; NULL removes it. */
static int write_drop_in(const char *path, const char *text)
{
        g_autofree char *dir = g_path_get_dirname(path);
        int r;

        if (!text)
                return unlink(path) < 0 && errno != ENOENT
                               ? complain("%s: %s", path, g_strerror(errno))
                               : EXIT_FINE;
        if (g_mkdir_with_parents(dir, 0755) < 0)
                return complain("%s: %s%s", dir, g_strerror(errno),
                                errno == EACCES ? "; run idlectl as root to save" : "");
        r = file_save(path, text, 0644);
        if (r >= 0)
                return EXIT_FINE;
        return complain("%s: %s%s", path, g_strerror(-r),
                        r == -EACCES ? "; run idlectl as root to save" : "");
}

/* Takes back what was set at run time of the values, all of it or, after a message, nothing. */
static void forget_runtime(Ctl *ctl, const char *section, const SavedValue *values, guint n)
{
        g_autoptr(json_object) settings = NULL, warnings = NULL;
        g_autofree const char **options = g_new0(const char *, 3 * n + 1);
        g_autofree char *error = NULL;
        json_object *row;
        guint at = 0;

        if (client_ask(ctl->client, "GetSettings", "", NULL, &settings) != EXIT_FINE)
                return;
        JSON_FOREACH(row, settings)
                for (guint i = 0; i < n; i++) {
                        if (!json_true(row, "runtime") ||
                            !g_str_equal(json_text(row, "section"), section) ||
                            !g_str_equal(json_text(row, "key"), values[i].key))
                                continue;
                        options[at++] = section;
                        options[at++] = values[i].key;
                        options[at++] = "";
                }
        if (at > 0 && client_set_options(ctl->client, options, &warnings, &error) < 0)
                complain("%s", error);
}

/* Has the daemon take the values from the file: what was set at run time would hide them. */
static int activate(Ctl *ctl, const char *section, const SavedValue *values, guint n)
{
        int status = settings_reload(ctl);

        if (status == EXIT_FINE)
                forget_runtime(ctl, section, values, n);
        return status;
}

/* EXIT_FAILED, after a message, if the daemon reads no directory that would be changed. */
static int check_directories(const Ctl *ctl, const OfflinePaths *offline)
{
        json_object *files = json_get(client_manager(ctl->client), "ConfigFiles");

        if (ctl->config_dir || ctl->vendor_dir || json_length(files) == 0)
                return EXIT_FINE;
        for (size_t i = 0; i < json_length(files); i++) {
                const char *file = json_element_text(files, i);

                if (g_str_has_prefix(file, offline->admin) ||
                    g_str_has_prefix(file, offline->vendor))
                        return EXIT_FINE;
        }
        return complain("set --save: the running idled reads none of its files from %s or %s, but "
                        "%s; name its directories with --config-dir, --vendor-dir and --policy-dir",
                        offline->admin, offline->vendor, json_element_text(files, 0));
}

/* The value as settings are shown, "2s" for "2000ms". */
static char *shown_value(const Section *section, const SavedValue *value)
{
        const Setting *row = section->rows;
        g_autofree char *error = NULL;

        while (row->key && !g_str_equal(row->key, value->key))
                row++;
        return row->key && setting_parse(row, value->value, section->options, &error) >= 0
                       ? setting_format(row, section->options)
                       : g_strdup(value->value);
}

/* True if `row` of the settings is this one, and neither from our file nor what was saved in it. */
static bool is_hidden(json_object *row, const Section *section, const SavedValue *value,
                      const char *prefix)
{
        g_autofree char *shown = NULL;

        if (!*value->value || !g_str_equal(json_text(row, "section"), section->name) ||
            !g_str_equal(json_text(row, "key"), value->key) ||
            g_str_has_prefix(json_text(row, "source"), prefix))
                return false;
        shown = shown_value(section, value);
        return !g_str_equal(json_text(row, "value"), shown);
}

/* EXIT_FAILED, after messages, if something stronger than the drop-in hides a value. `section` is
 * overwritten. */
static int check_effect(Ctl *ctl, const Section *section, const SavedValue *values, guint n,
                        const char *path)
{
        g_autoptr(json_object) settings = settings_all(ctl);
        g_autofree char *prefix = g_strconcat(path, ":", NULL);
        int status = EXIT_FINE;
        json_object *row;

        JSON_FOREACH(row, settings) {
                const char *source = json_text(row, "source");
                bool unread = g_str_equal(source, "default");

                for (guint i = 0; i < n; i++)
                        if (is_hidden(row, section, &values[i], prefix))
                                status = complain("Saved in %s, but %s remains %s: %s%s", path,
                                                  values[i].key, json_text(row, "value"),
                                                  unread ? "the running idled does not read this "
                                                           "directory"
                                                         : source,
                                                  unread ? "" : " is read later and overrides it");
        }
        return status;
}

/* Exchanges the file, removes the old one, and has the daemon load that; if it refuses, all is as
 * before. */
static int carry_out(Ctl *ctl, const DropIn *now, const DropIn *old, const char *text,
                     const char *section, const SavedValue *values, guint n)
{
        int status = write_drop_in(now->path, text);

        if (status != EXIT_FINE)
                return status;
        if (old->text)
                status = write_drop_in(old->path, NULL);
        if (status == EXIT_FINE && client_manager(ctl->client))
                status = activate(ctl, section, values, n);
        if (status == EXIT_FINE)
                return status;
        if (old->text)
                write_drop_in(old->path, old->text);
        write_drop_in(now->path, now->text);
        return status;
}

int settings_save(Ctl *ctl, const char *section, const SavedValue *values, guint n, char **ret_path)
{
        g_auto(OfflinePaths) offline = { .top = -1 };
        g_autoptr(GPtrArray) errors = config_errors_new();
        g_autoptr(Config) config = NULL, after = NULL;
        g_auto(DropIn) now = { 0 }, old = { 0 };
        g_autofree char *text = NULL;
        const Section *found;
        int status;

        offline_paths_init(&offline, ctl, NULL);
        if (check_directories(ctl, &offline) != EXIT_FINE)
                return EXIT_FAILED;
        if (config_load(&offline.paths, errors, &config) < 0)
                return offline_complain(errors);
        found = find_section(config, section);
        if (!found)
                return EXIT_FAILED;
        now.path = drop_in_path(&offline, found, DROP_IN);
        old.path = drop_in_path(&offline, found, DROP_IN_OLD);
        if (read_drop_in(&now) != EXIT_FINE || read_drop_in(&old) != EXIT_FINE)
                return EXIT_FAILED;
        text = edit(&now, &old, found, values, n);
        if (!text)
                return EXIT_FAILED;
        offline.paths.trial_path = now.path;
        offline.paths.trial_text = text;
        offline.paths.trial_without = old.path;
        status = check(ctl, &offline, now.path, &after);
        if (status == EXIT_FINE)
                status = carry_out(ctl, &now, &old, text, section, values, n);
        if (status != EXIT_FINE)
                return status;
        for (guint i = 0; old.text && i < config->sections->len; i++) {
                const Section *before = config->sections->pdata[i];

                report_moved(before, config_section(after, before->name), values, n);
        }
        status = check_effect(ctl, found, values, n, now.path);
        *ret_path = g_steal_pointer(&now.path);
        return status;
}
