/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration: idled.conf, policies/NAME.conf and profiles/NAME.conf with their drop-ins.
 *
 * For every file NAME the directories are read in the order usr/lib/idled, etc/idled below the root
 * (the later file replaces the earlier of the same name whole), then NAME.d/ drop-ins of both in
 * lexical order of their names, a drop-in in etc hiding one of the same name in usr/lib. A link to
 * /dev/null is an empty file. A key without value resets to its default. idled reads and checks
 * all files before it uses any: after one error the old configuration stays in effect.
 */
#ifndef IDLED_CONFIG_H
#define IDLED_CONFIG_H

#include <glib.h>
#include <stdbool.h>

#include "act/park/park.h"
#include "act/tune/quiet.h"
#include "base/setting.h"
#include "config/plugin.h"

typedef struct DaemonOptions {
        char **policies;                    /* names in the order of their rank, highest first */
        int log_level;                      /* syslog priority */
        char *profile_ac, *profile_battery; /* "": none in particular */
        bool power_profiles_names;
        bool log_decisions;
} DaemonOptions;

/* Whether the daemon keeps a recording, and which samples of it. */
typedef struct RecordingOptions {
        bool enabled;
        uint64_t interval_usec, max_age_usec, max_megabytes;
} RecordingOptions;

/* Sections [Daemon] and [Recording] of idled.conf. */
extern const Setting daemon_settings[], recording_settings[];

/* Where a value came from. */
typedef struct Source {
        /* With the root, interned: valid for ever. NULL: the default; "D-Bus": set at run time. */
        const char *file;
        int line; /* from 1; 0: none */
} Source;

typedef struct Profile Profile; /* config/profile.h */

/* One section with its table and values: of the daemon, or of a policy. A value set at run time is
 * stronger than that of the active profile, which is stronger than that of the files. */
typedef struct Section {
        char *name;                /* "Daemon", "Park", or the policy's name */
        const IdledPolicy *policy; /* NULL: of the daemon itself */
        /* As IdledPolicy.check, of a section of the daemon itself; NULL: any options fit. */
        const char *(*check)(const void *options, const char **ret_key);
        const Setting *rows;
        size_t options_size;
        void *options;          /* stays where it is for as long as the section */
        GHashTable *sources;    /* key -> Source *, keys that a file sets */
        GHashTable *texts;      /* key -> text in that file */
        const Profile *profile; /* active; NULL: none */
        GHashTable *runtime;    /* key -> text set over D-Bus; outlives a reload */
        GPtrArray *wrong;       /* keys whose value in a file was not understood; while loading */
} Section;

typedef struct App App;               /* config/app.h */
typedef struct PowerTable PowerTable; /* config/power-table.h */

typedef struct Config {
        GPtrArray *sections;    /* of Section */
        GPtrArray *policies;    /* of const IdledPolicy *, by rank; its section has its name */
        GPtrArray *profiles;    /* of Profile; power-saver, balanced, performance, then by name */
        const Profile *profile; /* active; NULL: none */
        GPtrArray *apps;        /* of App, by name */
        PowerTable *power;      /* that PowerTable= names; NULL: none */
        GPtrArray *removed;     /* of ConfigError: options that files have and idled does not */
} Config;

/* One thing wrong: "FILE:LINE: KEY: what was found, what was expected". */
typedef struct ConfigError {
        const char *file; /* as Source.file */
        int line;         /* 0: the file as a whole */
        int error;        /* negative errno with which the system refused the file; 0: it did not */
        char *message;
} ConfigError;

/* Where configuration and plugins are found. Paths are used as openat() does: one that is absolute
 * is not below the root. */
typedef struct ConfigPaths {
        int root;
        const char *root_path;  /* how the root is called in messages; NULL: "/" */
        const char *vendor_dir; /* "usr/lib/idled" */
        const char *admin_dir;  /* "etc/idled" */
        const char *policy_dir; /* absolute directory of plugins: code is never read below root */

        /* A drop-in to try, which need not exist: instead of the file at this path, which begins
         * with vendor_dir or admin_dir, `trial_text` is read; the one at `trial_without` is not.
         * NULL: none. */
        const char *trial_path, *trial_text, *trial_without;
} ConfigPaths;

/* Reads and checks everything. All errors found are appended to `errors` (of ConfigError), in the
 * order of files and lines; if there is any, no configuration: -EINVAL, or the error of the system,
 * such as -EMFILE, that kept a file from being read and may be gone at the next try. What is wrong
 * is an error and never a warning; only what may be right on another machine is one, see
 * config_find_absent(). */
int config_load(const ConfigPaths *paths, GPtrArray *errors, Config **ret_config);
void config_free(Config *config);

/* False, with an error, if that is a name, but not of a directory. */
bool config_check_directory(const char *given, GPtrArray *errors);

/* What a configuration is compared with. What is not known of a machine gives no warnings. */
typedef struct ConfigMachine {
        int root;
        const Topology *topology;    /* NULL: not known */
        const FreqPolicy *frequency; /* n_frequency of them; NULL: the machine has none */
        int n_frequency;
        const IdleTable *idle; /* of n_cpus of the topology; NULL: it has no idle states, or they
                                  were not needed */
        GHashTable *users;     /* of users_read(); NULL: not known */
} ConfigMachine;

/* Appends a warning for all that the daemon accepts and does without: files that are never read,
 * CPUs, users, frequencies, governors and idle states that this machine does not have, idle states
 * that the power table lacks, and executables that are scripts. */
void config_find_warnings(const ConfigPaths *paths, const Config *config,
                          const ConfigMachine *machine, GPtrArray *warnings);

/* The same for the machine below `root`, as its files show it. */
void config_find_warnings_below(int root, const ConfigPaths *paths, const Config *config,
                                GPtrArray *warnings);

/* What an option that is set at run time requests and the machine does not offer, as a new string:
 * "KEY: found ..., which ..."; NULL: nothing. */
char *config_runtime_unmet(const Config *config, const ConfigMachine *machine, const char *section,
                           const char *key);

/* All errors or warnings, into the log. */
void config_errors_log(const GPtrArray *errors, int level);

/* Appends a warning for every file and directory among the administrator's that looks like
 * configuration and that no policy, nor the daemon, would ever read. */
void config_find_unread(const ConfigPaths *paths, GPtrArray *errors);

/* Appends a warning for every list of CPUs in a file that names some beyond those possible. */
void config_find_absent(const Config *config, const CpuSet *possible, GPtrArray *warnings);

/* The same for a value set at run time: -EINVAL, and `*ret_error` has the error. Only CPUs are
 * checked; config_set() refuses other errors. */
int config_check_cpus(const Config *config, const char *section, const char *key, const char *text,
                      const CpuSet *possible, char **ret_error);

/* The section of this name, NULL if there is none. */
Section *config_section(const Config *config, const char *name);

/* The name of the section that `name` was probably meant to be, NULL if none is similar. */
const char *config_section_nearest(const Config *config, const char *name);

/* Sets a value at run time, or takes it back to what it is without with the empty text. -ENOENT: no
 * such section or key; -EOPNOTSUPP: the key cannot be changed without a reload; -EINVAL: it
 * contradicts another option; else as setting_parse(). `*ret_error` says what is wrong. */
int config_set(Config *config, const char *section, const char *key, const char *text,
               char **ret_error);

/* Takes over from `from` what was set at run time, as far as it still fits. */
void config_adopt_runtime(Config *config, const Config *from);

/* Where the value of `key` comes from. */
Source section_source(const Section *section, const char *key);

/* What `reason` says because of an option whose value is no number: "BECAUSE (KEY VALUE)", as a new
 * string. NULL: the option is none, a number, or empty. */
char *section_because(const Section *section, const Reason *reason);

/* "/etc/idled/policies/ondemand.conf:12", "default", or "set over D-Bus", as a new string. */
char *source_format(const Source *source);

/* An array of ConfigError that frees them. */
GPtrArray *config_errors_new(void);
void config_error_free(ConfigError *error);

/* "FILE:LINE: MESSAGE", "FILE: MESSAGE" without a line, as a new string. */
char *config_error_format(const ConfigError *error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Config, config_free)

#endif
