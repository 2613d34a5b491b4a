/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loading the rules of applications: apps/NAME.conf with their drop-ins, a rule each.
 *
 * A rule that names nothing would mean every process, and one that requests nothing is a mistake
 * somewhere else: both are refused.
 */
#include <string.h>

#include "base/log.h"
#include "base/setting-value.h"
#include "config/app.h"
#include "config/config-files.h"
#include "config/config-parse.h"
#include "config/config-section.h"
#include "config/profile.h"

#define DIRECTORY "apps"

/* Bytes of a name, as the kernel keeps it (TASK_COMM_LEN). */
#define COMM_MAX 15

static bool is_section(const char *name)
{
        return g_str_equal(name, "Match") || g_str_equal(name, "Ask");
}

static char *unknown_key(const char *heading, const char *key)
{
        g_autofree char *clean = log_clean(key);

        for (const Setting *row = app_settings; row->key; row++)
                if (g_str_equal(row->key, key))
                        return g_strdup_printf("%s: found in [%s], expected in [%s]", clean,
                                               heading, row->section);
        return settings_unknown_key(app_settings, heading, heading, key);
}

static char *check_name(const char *heading, const char *key, void *userdata)
{
        g_autofree char *clean = log_clean(heading);

        if (!is_section(heading))
                return g_strdup_printf("found section [%s], expected [Match] or [Ask] in this file",
                                       clean);
        return !key || setting_find(app_settings, heading, key) ? NULL : unknown_key(heading, key);
}

/* How many characters a name has at least that fits the glob. */
static size_t least_length(const char *glob)
{
        size_t n = 0;

        for (; *glob; glob++) {
                if (*glob == '[') {
                        const char *end = strchr(glob + 2 - (glob[1] == '\0'), ']');

                        glob = end ? end : glob;
                } else if (*glob == '\\' && glob[1]) {
                        glob++;
                }
                n += *glob != '*';
        }
        return n;
}

/* The kernel cuts a process's name: what is longer never fits. */
static char *check_comms(const char *value)
{
        g_auto(GStrv) globs = g_strsplit_set(value, " \t", -1);

        for (char **glob = globs; *glob; glob++) {
                size_t n = least_length(*glob);

                if (n > COMM_MAX)
                        return g_strdup_printf("found \"%s\", of %zu bytes, expected at most %d: "
                                               "the kernel truncates names of processes",
                                               *glob, n, COMM_MAX);
        }
        return NULL;
}

/* What a value may be beyond its type. */
static char *check_value(const Config *config, const char *key, const char *value)
{
        g_auto(GStrv) globs = NULL;
        char *error = NULL;

        if (g_str_equal(key, "Profile"))
                return *value && profile_check_name(config, value, &error) < 0 ? error : NULL;
        if (g_str_equal(key, "Comm"))
                return check_comms(value);
        if (!g_str_equal(key, "Executable") && !g_str_equal(key, "Cgroup"))
                return NULL;
        globs = g_strsplit_set(value, " \t", -1);
        for (char **glob = globs; *glob; glob++)
                if (**glob && **glob != '/')
                        return g_strdup_printf("found \"%s\", expected a path that begins with /",
                                               *glob);
        return NULL;
}

/* Sections of a rule with errors in them. */
enum { WRONG_MATCH = 1 << 0, WRONG_ASK = 1 << 1 };

/* Returns which section the line is an error of; 0: it is none. */
static unsigned read_line(const Config *config, App *app, const ConfigFile *file,
                          const ConfigLine *line, GPtrArray *errors)
{
        const Setting *row;
        g_autofree char *error = NULL;

        if (line->problem) {
                config_error_add(errors, file->path, line->number, "%s", line->problem);
                return WRONG_MATCH | WRONG_ASK;
        }
        row = setting_find(app_settings, line->section, line->key);
        error = check_value(config, line->key, line->value);
        if (error || setting_parse(row, *line->value ? line->value : row->fallback, app->options,
                                   &error) < 0) {
                config_error_add(errors, file->path, line->number, "%s: %s", line->key, error);
                return g_str_equal(line->section, "Match") ? WRONG_MATCH : WRONG_ASK;
        }
        g_hash_table_insert(app->sources, (char *)row->key,
                            g_memdup2(&(Source){ file->path, line->number }, sizeof(Source)));
        return 0;
}

/* Returns how many lines say something; adds to `*wrong`. */
static guint read_file(const Config *config, App *app, const ConfigFile *file, unsigned *wrong,
                       GPtrArray *errors)
{
        g_autoptr(GPtrArray) lines = config_parse(file->text, file->length, check_name, NULL);

        for (guint i = 0; i < lines->len; i++)
                *wrong |= read_line(config, app, file, g_ptr_array_index(lines, i), errors);
        return lines->len;
}

/* What a section with errors in it says is not known. */
static void check_whole(const App *app, unsigned wrong, GPtrArray *errors)
{
        const AppOptions *o = app->options;

        if (app_needs(app) == 0 && !(wrong & WRONG_MATCH))
                config_error_add(errors, app->file, 0,
                                 "matches every process, expected Executable, Comm, Unit, Cgroup "
                                 "or User in [Match]");
        if (o->latency_usec == 0 && o->p99_usec == 0 && !*o->profile && o->cores == 0 &&
            !*o->kinds && !(wrong & WRONG_ASK))
                config_error_add(
                        errors, app->file, 0,
                        "requests nothing, expected Latency, WakeupP99, Profile, Cores or Kind in "
                        "[Ask]");
}

Source app_source(const App *app, const char *key)
{
        const Source *source = g_hash_table_lookup(app->sources, key);

        return source ? *source : (Source){ app->file, 0 };
}

void app_free(App *app)
{
        g_hash_table_unref(app->sources);
        settings_free(app_settings, app->options);
        g_free(app->name);
        g_free(app);
}

static App *app_new(const char *name, const char *file)
{
        g_autofree char *never = NULL;
        App *app = g_new0(App, 1);
        void *options = NULL;

        settings_new(app_settings, sizeof(AppOptions), &options, &never);
        app->name = g_strdup(name);
        app->file = file;
        app->options = options;
        app->sources = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
        return app;
}

/* Files without a line that says something are no rule: a link to /dev/null, or an example. */
static void load_app(Config *config, const ConfigPaths *paths, const char *name, GPtrArray *errors)
{
        g_autofree char *path = g_strdup_printf(DIRECTORY "/%s.conf", name);
        g_autoptr(GPtrArray) files = config_files_read(paths, path, errors);
        unsigned wrong = 0;
        guint lines = 0;
        App *app;

        if (files->len == 0)
                return;
        app = app_new(name, ((const ConfigFile *)files->pdata[0])->path);
        for (guint i = 0; i < files->len; i++)
                lines += read_file(config, app, files->pdata[i], &wrong, errors);
        if (lines == 0) {
                app_free(app);
                return;
        }
        check_whole(app, wrong, errors);
        g_ptr_array_add(config->apps, app);
}

void apps_load(Config *config, const ConfigPaths *paths, GPtrArray *errors)
{
        g_auto(GStrv) names = config_files_list(paths, DIRECTORY, errors);

        g_ptr_array_set_free_func(config->apps, (GDestroyNotify)app_free);
        for (char **name = names; *name; name++)
                load_app(config, paths, *name, errors);
}
