/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Warnings: what the daemon accepts and ignores, because it may be right on another machine or is
 * harmless. The daemon logs them when it reads its configuration, and `idled --check` and `idlectl
 * check` print the same ones.
 *
 * - files that are never read (config-unread.c)
 * - CPUs that this machine cannot have: one file may serve many machines, and absent CPUs do no
 *   harm. A value set at run time is meant for this machine, so they are an error there. A CPU that
 *   is possible but offline is valid in both: the value applies when it comes online.
 * - options that were removed (removed.c)
 * - users that are not in /etc/passwd
 * - idle states that the power table of PowerTable= has no figure for
 * - executables that are scripts: the kernel executes their interpreter, so no process matches
 * - what policies request and the hardware or its drivers do not offer: of profiles only in the
 *   administrator's files, because shipped ones list what different machines offer
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "base/setting-value.h"
#include "config/app.h"
#include "config/config-files.h"
#include "config/config-section.h"
#include "config/power-table.h"
#include "config/profile.h"
#include "sense/frequency-read.h"
#include "sense/sensor.h"
#include "sense/topology-read.h"
#include "sense/users.h"

#define UNMET_MAX 8
#define SAME_MAX  20 /* warnings about the words of one option; the others are counted */

static bool is_glob(const char *text)
{
        return strpbrk(text, "*?[\\");
}

static bool has_user(GHashTable *users, const char *name)
{
        GHashTableIter iter;
        void *number, *known;
        uint64_t uid;

        if (u64_parse(name, &uid) >= 0)
                return true;
        g_hash_table_iter_init(&iter, users);
        while (g_hash_table_iter_next(&iter, &number, &known))
                if (g_str_equal(known, name))
                        return true;
        return false;
}

/* `n` were found, of `what`. */
static void count_others(const Source *source, const char *key, const char *what, int n,
                         GPtrArray *warnings)
{
        if (n > SAME_MAX)
                config_error_add(warnings, source->file, source->line, "%s: found %d more %s", key,
                                 n - SAME_MAX, what);
}

static void find_users(const App *app, GHashTable *users, GPtrArray *warnings)
{
        Source source = app_source(app, "User");
        int n = 0;

        for (char **user = app->options->users; *user; user++) {
                g_autofree char *clean = NULL;

                if (is_glob(*user) || has_user(users, *user) || ++n > SAME_MAX)
                        continue;
                clean = log_clean(*user);
                config_error_add(warnings, source.file, source.line,
                                 "User: found \"%s\", which is not in /etc/passwd, expected a user "
                                 "of this machine",
                                 clean);
        }
        count_others(&source, "User", "names that are not in /etc/passwd", n, warnings);
}

/* The interpreter that the first line of a script names, as a new string; NULL: it is no script. */
static char *interpreter_of(int root, const char *path)
{
        _fd_ int fd = openat(root, path + strspn(path, "/"), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        char line[128];
        ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
        char *start = line + 2;

        if (n < 3 || line[0] != '#' || line[1] != '!')
                return NULL;
        line[n] = '\0';
        start += strspn(start, " \t");
        start[strcspn(start, " \t\n")] = '\0';
        return g_strdup(start);
}

static void find_scripts(const App *app, int root, GPtrArray *warnings)
{
        Source source = app_source(app, "Executable");
        int n = 0;

        for (char **path = app->options->executables; *path; path++) {
                g_autofree char *interpreter = is_glob(*path) ? NULL : interpreter_of(root, *path);
                g_autofree char *clean = NULL, *by = NULL;

                if (!interpreter || ++n > SAME_MAX)
                        continue;
                clean = log_clean(*path);
                by = log_clean(interpreter);
                config_error_add(warnings, source.file, source.line,
                                 "Executable: found \"%s\", a script: the kernel executes its "
                                 "interpreter %s instead; expected Comm=, Unit= or Cgroup=",
                                 clean, by);
        }
        count_others(&source, "Executable", "scripts", n, warnings);
}

/* What is wrong with this value, as a new string; NULL if nothing is, or if it is no such list. */
static char *complaint(const Setting *row, const char *text, const CpuSet *possible)
{
        g_autofree char *rest = NULL, *all = NULL;
        CpuSet cpus;

        if (row->type != SETTING_CPUSET || cpuset_parse(text, &cpus) < 0 ||
            cpuset_is_subset(&cpus, possible))
                return NULL;
        cpuset_subtract(&cpus, possible);
        rest = cpuset_format(&cpus);
        all = cpuset_format(possible);
        return g_strdup_printf(
                "%s: found CPU%s %s, which this machine does not have, expected some of %s",
                row->key, cpuset_count(&cpus) == 1 ? "" : "s", rest, all);
}

int config_check_cpus(const Config *config, const char *section_name, const char *key,
                      const char *text, const CpuSet *possible, char **ret_error)
{
        const Section *section = config_section(config, section_name);
        const Setting *row = section ? section_row(section, key) : NULL;
        char *error = row ? complaint(row, text, possible) : NULL;

        if (!error)
                return 0;
        *ret_error = error;
        return -EINVAL;
}

/* Calls the policy's function, if there is one and the machine is known. */
static int ask_unmet(const Section *section, const void *options, const ConfigMachine *machine,
                     Unmet *ret_unmet)
{
        const IdledPolicy *policy = section->policy;
        PolicyInput input = {
                .topology = machine->topology,
                .idle = machine->idle,
                .frequency = machine->frequency,
                .n_frequency = machine->n_frequency,
        };

        return machine->topology && policy && policy->unmet
                       ? policy->unmet(options, &input, ret_unmet, UNMET_MAX)
                       : 0;
}

/* The text and place of the option in the files, or in the profile's own unless that is NULL. False
 * if it does not stand there. */
static bool find_value(const Section *section, const Profile *profile, const char *key,
                       const char **ret_text, Source *ret_source)
{
        g_autofree char *id = profile_value_id(section->name, key);
        const ProfileValue *value = profile ? g_hash_table_lookup(profile->own, id) : NULL;
        const Source *source = profile ? NULL : g_hash_table_lookup(section->sources, key);

        if (!value && !source)
                return false;
        *ret_text = value ? value->text : g_hash_table_lookup(section->texts, key);
        *ret_source = value ? value->source : *source;
        return true;
}

/* Options that find_value() finds. */
static void find_absent(const Section *section, const Profile *profile, const CpuSet *possible,
                        GPtrArray *warnings)
{
        for (const Setting *row = section->rows; row->key; row++) {
                const char *text;
                Source source;
                char *wrong = find_value(section, profile, row->key, &text, &source)
                                      ? complaint(row, text, possible)
                                      : NULL;

                if (wrong)
                        config_error_add(warnings, source.file, source.line, "%s", wrong);
                g_free(wrong);
        }
}

void config_find_absent(const Config *config, const CpuSet *possible, GPtrArray *warnings)
{
        for (guint i = 0; i < config->sections->len; i++) {
                const Section *section = config->sections->pdata[i];

                find_absent(section, NULL, possible, warnings);
                for (guint j = 0; j < config->profiles->len; j++)
                        find_absent(section, config->profiles->pdata[j], possible, warnings);
        }
}

/* `place` is how the path of a file begins that is reported. */
static void find_unmet(const Section *section, const Profile *profile, const char *place,
                       const ConfigMachine *machine, GPtrArray *warnings)
{
        void *options = section->policy ? profile_options(profile, section, false) : NULL;
        Unmet unmet[UNMET_MAX];
        int n = options ? ask_unmet(section, options, machine, unmet) : 0;

        for (int i = 0; i < n; i++) {
                g_autofree char *clean = NULL;
                const char *text;
                Source source;

                if (!find_value(section, profile, unmet[i].key, &text, &source) ||
                    !g_str_has_prefix(source.file, place))
                        continue;
                clean = log_clean(text);
                config_error_add(warnings, source.file, source.line, "%s: found \"%s\", which %s",
                                 unmet[i].key, clean, unmet[i].text);
        }
        if (options)
                settings_free(section->rows, options);
}

static void find_all_unmet(const ConfigPaths *paths, const Config *config,
                           const ConfigMachine *machine, GPtrArray *warnings)
{
        const char *own = config_admin_path(paths, "profiles/");

        for (guint i = 0; i < config->sections->len; i++) {
                const Section *section = config->sections->pdata[i];

                find_unmet(section, NULL, "", machine, warnings);
                for (guint j = 0; j < config->profiles->len; j++)
                        find_unmet(section, config->profiles->pdata[j], own, machine, warnings);
        }
}

char *config_runtime_unmet(const Config *config, const ConfigMachine *machine,
                           const char *section_name, const char *key)
{
        const Section *section = config_section(config, section_name);
        const char *text = section ? g_hash_table_lookup(section->runtime, key) : NULL;
        g_autofree char *clean = text ? log_clean(text) : NULL;
        Unmet unmet[UNMET_MAX];
        int n = text ? ask_unmet(section, section->options, machine, unmet) : 0;

        for (int i = 0; i < n; i++)
                if (g_str_equal(unmet[i].key, key))
                        return g_strdup_printf("%s: found \"%s\", which %s", key, clean,
                                               unmet[i].text);
        return NULL;
}

/* States that the table has no figure for count as 0 W, which makes a saving look larger; or, if
 * they take much of the time, nothing is estimated. */
static void find_unpriced(const Config *config, const ConfigMachine *machine, GPtrArray *warnings)
{
        Source source = section_source(config_section(config, "Evaluate"), "PowerTable");
        g_autofree char *unknown = power_table_unknown(config->power, machine->idle,
                                                       machine->topology->n_cpus);

        if (unknown)
                config_error_add(warnings, source.file, source.line,
                                 "PowerTable: the table %s has no figure for %s of this machine, "
                                 "expected a line for each state in [States]; without one a state "
                                 "counts as 0 W, and above %g %% of the time no power is known",
                                 config->power->name, unknown, POWER_TABLE_UNKNOWN_MAX * 100);
}

void config_find_warnings(const ConfigPaths *paths, const Config *config,
                          const ConfigMachine *machine, GPtrArray *warnings)
{
        config_find_unread(paths, warnings);
        for (guint i = 0; i < config->removed->len; i++) {
                const ConfigError *found = config->removed->pdata[i];

                config_error_add(warnings, found->file, found->line, "%s", found->message);
        }
        if (machine->topology)
                config_find_absent(config, &machine->topology->possible, warnings);
        if (machine->topology && machine->idle && config->power)
                find_unpriced(config, machine, warnings);
        for (guint i = 0; i < config->apps->len; i++) {
                const App *app = config->apps->pdata[i];

                if (machine->users)
                        find_users(app, machine->users, warnings);
                find_scripts(app, machine->root, warnings);
        }
        find_all_unmet(paths, config, machine, warnings);
}

void config_find_warnings_below(int root, const ConfigPaths *paths, const Config *config,
                                GPtrArray *warnings)
{
        g_autoptr(GHashTable) users = users_read(root);
        g_autofree IdleTable *idle = NULL;
        ConfigMachine machine = { .root = root, .users = users };
        FreqPolicy *frequency = NULL;
        Topology *topology = NULL;

        if (topology_read(root, &topology) >= 0) {
                frequency_read(root, topology, &frequency, &machine.n_frequency);
                machine.idle = idle = idle_tables_read(root, topology->n_cpus);
        }
        machine.topology = topology;
        machine.frequency = frequency;
        config_find_warnings(paths, config, &machine, warnings);
        frequency_free(frequency, machine.n_frequency);
        topology_free(topology);
}

void config_errors_log(const GPtrArray *errors, int level)
{
        for (guint i = 0; i < errors->len; i++) {
                g_autofree char *text = config_error_format(errors->pdata[i]);

                log_message(level, "%s", text);
        }
}
