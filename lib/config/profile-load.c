/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loading profiles.
 *
 * A section of a profile other than [Profile] has the name of a policy, and its keys are those of
 * the policy's own file. Inactive policies are loaded too, to check their sections: a profile is
 * valid or not, whatever policies are active. Only contradictions between options are checked for
 * active policies alone, because the files of the others are not read.
 *
 * Include= of profiles: what a profile says in the end.
 *
 * Depth first, every profile once: a profile has what those that it includes have in the end, in
 * their order, and then its own. A profile that is met while it is being resolved includes itself.
 */
#include "config/profile-load.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/setting-value.h"
#include "config/config-files.h"
#include "config/config-parse.h"
#include "config/config-section.h"
#include "config/removed.h"

#define DIRECTORY "profiles"

static const char *const families[] = { "power-saver", PROFILE_BALANCED, "performance", NULL };

/* What a section of a profile is read by. */
typedef struct Target {
        const Setting *rows; /* NULL: there is no such section */
        void *scratch;       /* options that values are tried on */
        char *problem;       /* why there is no such section */
} Target;

typedef struct Reader {
        const Config *config;
        const ConfigPaths *paths;
        GPtrArray *errors;
        GHashTable *targets; /* policy's name -> Target, of those that were requested */
        GHashTable *wrong;   /* IDs of options with a value that was not understood */
        int error;           /* with which the last policy could not be loaded */
        Target profile;      /* section [Profile]; `scratch` is the profile's own options */
} Reader;

static void target_free(Target *target)
{
        if (target->rows)
                settings_free(target->rows, target->scratch);
        g_free(target->problem);
        g_free(target);
}

/* "found section [x], expected [Profile] or a policy: a, b (did you mean [a]?)" */
static char *unknown_section(const Reader *reader, const char *heading)
{
        g_auto(GStrv) policies = policy_list(reader->paths->policy_dir);
        g_autofree char *clean = log_clean(heading), *known = g_strjoinv(", ", policies);
        const char *nearest = word_nearest(heading, (const char *const *)policies);
        g_autofree char *hint = text_suggest(
                nearest ? nearest : word_nearest(heading, (const char *[]){ "Profile", NULL }));

        return g_strdup_printf("found section [%s], expected [Profile] or a policy: %s%s", clean,
                               *known ? known : "it has none (see --policy-dir)", hint);
}

static Target *target_new(Reader *reader, const char *heading)
{
        const Section *section = config_section(reader->config, heading);
        const IdledPolicy *policy = section ? section->policy : NULL;
        g_autofree char *error = NULL;
        Target *target = g_new0(Target, 1);
        int r = 0;

        if (!policy)
                r = policy_load(reader->paths->policy_dir, heading, &policy, &error);
        if (r == -ENOENT || r == -EINVAL)
                target->problem = unknown_section(reader, heading);
        else if ((reader->error = r) < 0)
                target->problem = g_strdup_printf("found section [%s], but %s", heading, error);
        else if (settings_new(policy->settings, policy->options_size, &target->scratch,
                              &target->problem) == 0)
                target->rows = policy->settings;
        return target;
}

static const Target *target_find(Reader *reader, const char *heading)
{
        Target *target;

        if (g_str_equal(heading, "Profile"))
                return &reader->profile;
        target = g_hash_table_lookup(reader->targets, heading);
        if (!target) {
                target = target_new(reader, heading);
                g_hash_table_insert(reader->targets, g_strdup(heading), target);
        }
        return target;
}

static const Setting *target_row(const Target *target, const char *key)
{
        return setting_find(target->rows, target->rows->section, key);
}

static char *check_name(const char *heading, const char *key, void *userdata)
{
        const Target *target = target_find(userdata, heading);

        if (!target->rows)
                return g_strdup(target->problem);
        if (!key || target_row(target, key) || removed_find(heading, key))
                return NULL;
        return settings_unknown_key(target->rows, target->rows->section, heading, key);
}

static void value_free(ProfileValue *value)
{
        g_free(value->text);
        g_free(value);
}

static void take_value(Profile *profile, const ConfigLine *line, Source source)
{
        ProfileValue *value = g_new0(ProfileValue, 1);

        value->text = g_strdup(line->value);
        value->source = source;
        g_hash_table_insert(profile->own, profile_value_id(line->section, line->key), value);
}

static void read_line(Reader *reader, Profile *profile, const ConfigFile *file,
                      const ConfigLine *line)
{
        const Target *target = target_find(reader, line->section);
        const Setting *row = target_row(target, line->key);
        Source source = { file->path, line->number };
        g_autofree char *error = NULL;

        if (removed_note(reader->config, line->section, line->key, source))
                row = setting_find(target->rows, "State", line->key);
        if (!row)
                return;
        if (setting_parse(row, *line->value ? line->value : row->fallback, target->scratch,
                          &error) < 0) {
                config_error_add(reader->errors, file->path, line->number, "%s: %s", line->key,
                                 error);
                g_hash_table_add(reader->wrong, profile_value_id(line->section, line->key));
        } else if (target != &reader->profile) {
                take_value(profile, line, source);
        } else if (g_str_equal(line->key, "Include")) {
                profile->include_source = source;
        }
}

static void read_file(Reader *reader, Profile *profile, const ConfigFile *file)
{
        g_autoptr(GPtrArray) lines = config_parse(file->text, file->length, check_name, reader);

        for (guint i = 0; i < lines->len; i++) {
                const ConfigLine *line = g_ptr_array_index(lines, i);

                if (line->problem)
                        config_error_add(reader->errors, file->path, line->number, "%s",
                                         line->problem)
                                ->error = reader->error;
                else
                        read_line(reader, profile, file, line);
        }
}

static Profile *profile_new(const char *name)
{
        Profile *profile = g_new0(Profile, 1);

        profile->name = g_strdup(name);
        profile->own = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                             (GDestroyNotify)value_free);
        profile->values = g_hash_table_new(g_str_hash, g_str_equal);
        return profile;
}

static void read_profile(Reader *reader, const char *name)
{
        g_autofree char *path = g_strdup_printf(DIRECTORY "/%s.conf", name), *never = NULL;
        g_autoptr(GPtrArray) files = config_files_read(reader->paths, path, reader->errors);
        Profile *profile = profile_new(name);
        ProfileOptions *options;
        void *scratch = NULL;

        settings_new(profile_settings, sizeof(ProfileOptions), &scratch, &never);
        reader->profile = (Target){ .rows = profile_settings, .scratch = scratch };
        for (guint i = 0; i < files->len; i++)
                read_file(reader, profile, g_ptr_array_index(files, i));
        profile->file = files->len > 0 ? ((const ConfigFile *)files->pdata[0])->path : NULL;
        options = scratch;
        profile->summary = g_strdup(options->summary);
        profile->includes = g_strdupv(options->includes);
        settings_free(profile_settings, scratch);
        g_ptr_array_add(reader->config->profiles, profile);
}

/* Families in the usual order; then by name. */
static int place(const char *name)
{
        int i = 0;

        while (families[i] && !g_str_equal(families[i], name))
                i++;
        return i;
}

static int compare_names(const void *a, const void *b)
{
        const char *x = *(char *const *)a, *y = *(char *const *)b;
        int difference = place(x) - place(y);

        return difference ? difference : strcmp(x, y);
}

/* All names of files, whether a profile can have them or not. */
static char **list_names(const ConfigPaths *paths, GPtrArray *errors)
{
        g_auto(GStrv) files = config_files_list(paths, DIRECTORY, errors);
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        char **names;

        if (!g_strv_contains((const char *const *)files, PROFILE_BALANCED))
                g_strv_builder_add(builder, PROFILE_BALANCED);
        g_strv_builder_addv(builder, (const char **)files);
        names = g_strv_builder_end(builder);
        qsort(names, g_strv_length(names), sizeof(char *), compare_names);
        return names;
}

char **profiles_list(const ConfigPaths *paths)
{
        g_autoptr(GPtrArray) ignored = config_errors_new();

        return list_names(paths, ignored);
}

/* Where the profile says something of a policy: of the key to blame if it does, else its first. */
static Source place_to_mend(const Profile *profile, const Section *section, const char *key)
{
        const ProfileValue *value = key ? profile_value(profile, section->name, key) : NULL;

        for (const Setting *row = section->rows; row->key && !value; row++)
                value = profile_value(profile, section->name, row->key);
        return value ? value->source : (Source){ profile->file, 0 };
}

/* True if the text names an option with a value that was not understood, in the policy's own file
 * or in a profile: whether it contradicts others is not known before that is corrected. */
static bool is_about_wrong(const Reader *reader, const Section *section, const char *text)
{
        for (const Setting *row = section->rows; row->key; row++) {
                g_autofree char *id = profile_value_id(section->name, row->key);

                if (strstr(text, row->key) && (g_hash_table_contains(reader->wrong, id) ||
                                               g_ptr_array_find(section->wrong, row->key, NULL)))
                        return true;
        }
        return false;
}

/* True if the policy's own file has the same contradiction, or a profile that this one includes. */
static bool is_reported(const GPtrArray *errors, const char *text, const Source *source)
{
        for (guint i = 0; i < errors->len; i++) {
                const ConfigError *error = errors->pdata[i];
                const char *rest = g_str_has_prefix(error->message, text)
                                           ? error->message + strlen(text)
                                           : NULL;

                if (rest && (!*rest || *rest == ';' ||
                             (error->file == source->file && error->line == source->line)))
                        return true;
        }
        return false;
}

/* For report_contradiction(). */
typedef struct Contradictions {
        const Reader *reader;
        const Profile *profile;
        const Section *section;
} Contradictions;

static void report_contradiction(const char *key, const char *error, void *userdata)
{
        const Contradictions *found = userdata;
        const Reader *reader = found->reader;
        const Section *section = found->section;
        const Setting *other = key ? section_named(section, error, key) : NULL;
        bool is_mine = !other || profile_value(found->profile, section->name, key);
        Source source = place_to_mend(found->profile, section, is_mine ? key : other->key);

        if (!is_about_wrong(reader, section, error) && !is_reported(reader->errors, error, &source))
                config_error_add(reader->errors, source.file, source.line, "%s (in profile %s)",
                                 error, found->profile->name);
}

/* Whether options contradict each other, policy by policy. */
static void check_profile(const Reader *reader, const Profile *profile)
{
        for (guint i = 0; i < reader->config->sections->len; i++) {
                const Section *section = g_ptr_array_index(reader->config->sections, i);
                Contradictions found = { reader, profile, section };

                if (section->policy)
                        profile_check_section(profile, section, report_contradiction, &found);
        }
}

/* ProfileAC= and ProfileBattery= name profiles that there are. */
static void check_defaults(const Config *config, GPtrArray *errors)
{
        const Section *daemon = config_section(config, "Daemon");

        for (const Setting *row = daemon->rows; row->key; row++) {
                const char *name = section_text(daemon, row, NULL, true);
                Source source = section_source(daemon, row->key);
                g_autofree char *error = NULL;

                if (profile_row_is_name(row) && *name &&
                    profile_check_name(config, name, &error) < 0)
                        config_error_add(errors, source.file, source.line, "%s: %s", row->key,
                                         error);
        }
}

static void read_profiles(Reader *reader)
{
        g_auto(GStrv) names = list_names(reader->paths, reader->errors);

        for (char **name = names; *name; name++) {
                g_autofree char *path = g_strdup_printf(DIRECTORY "/%s.conf", *name);

                if (profile_is_name(*name))
                        read_profile(reader, *name);
                else
                        config_error_add(reader->errors, config_admin_path(reader->paths, path), 0,
                                         "found a name that no profile can have, expected letters, "
                                         "digits, - and _, at most 64, and not " PROFILE_AUTO);
        }
}

typedef struct Resolver {
        const Config *config;
        GPtrArray *errors;
        GPtrArray *path; /* of Profile: being resolved, the outermost first */
} Resolver;

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

static void profiles_include(const Config *config, GPtrArray *errors)
{
        g_autoptr(GPtrArray) path = g_ptr_array_new();
        Resolver resolver = { config, errors, path };

        for (guint i = 0; i < config->profiles->len; i++)
                resolve(&resolver, g_ptr_array_index(config->profiles, i));
}

void profiles_load(Config *config, const ConfigPaths *paths, GPtrArray *errors)
{
        g_autoptr(GHashTable) targets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                                              (GDestroyNotify)target_free);
        g_autoptr(GHashTable) wrong = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        Reader reader = {
                .config = config,
                .paths = paths,
                .errors = errors,
                .targets = targets,
                .wrong = wrong,
        };
        guint errors_before;

        read_profiles(&reader);
        check_defaults(config, errors);
        errors_before = errors->len;
        profiles_include(config, errors);
        if (errors->len > errors_before) /* what profiles say in the end is not known */
                return;
        for (guint i = 0; i < config->profiles->len; i++)
                check_profile(&reader, config->profiles->pdata[i]);
}
