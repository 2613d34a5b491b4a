/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sections [Daemon] and [Recording] of idled.conf, and those of profiles/NAME.conf and
 * apps/NAME.conf.
 *
 * Apart from the code, so that the tool that writes idled.conf(5) builds from tables alone.
 */
#include <stddef.h>

#include "base/log.h"
#include "config/app.h"
#include "config/config.h"
#include "config/profile.h"
#include "model/kind.h"

static const char *const profile_name[] = { "the name of a profile", NULL };

const Setting daemon_settings[] = {
        { .section = "Daemon",
          .key = "Policies",
          .type = SETTING_LIST,
          .offset = offsetof(DaemonOptions, policies),
          .fallback = "userspace latency contract ondemand cpufreq cstates",
          .help = "Active policies, highest rank first" },
        { .section = "Daemon",
          .key = "LogLevel",
          .type = SETTING_CHOICE,
          .offset = offsetof(DaemonOptions, log_level),
          .fallback = "info",
          .choices = log_level_names,
          .help = "Least important level of messages to log" },
        { .section = "Daemon",
          .key = "ProfileAC",
          .type = SETTING_STRING,
          .offset = offsetof(DaemonOptions, profile_ac),
          .fallback = "",
          .choices = profile_name,
          .help = "Profile on mains power, unless another one is chosen; empty: balanced" },
        { .section = "Daemon",
          .key = "ProfileBattery",
          .type = SETTING_STRING,
          .offset = offsetof(DaemonOptions, profile_battery),
          .fallback = "",
          .choices = profile_name,
          .help = "Profile on battery power, unless another one is chosen; empty: balanced" },
        { .section = "Daemon",
          .key = "PowerProfilesNames",
          .type = SETTING_BOOL,
          .offset = offsetof(DaemonOptions, power_profiles_names),
          .fallback = "no",
          .help = "Serve clients of power-profiles-daemon under its bus names" },
        { .section = "Daemon",
          .key = "LogDecisions",
          .type = SETTING_BOOL,
          .offset = offsetof(DaemonOptions, log_decisions),
          .fallback = "no",
          .help = "Log every change of the set of parked CPUs with its reason, at level info" },
        { .key = NULL },
};

const Setting recording_settings[] = {
        { .section = "Recording",
          .key = "Enabled",
          .type = SETTING_BOOL,
          .offset = offsetof(RecordingOptions, enabled),
          .fallback = "no",
          .help = "Keep a recording of the machine in /var/lib/idled/idled.rec" },
        { .section = "Recording",
          .key = "Interval",
          .type = SETTING_DURATION,
          .offset = offsetof(RecordingOptions, interval_usec),
          .fallback = "1min",
          .min = 1e6,
          .max = 3600e6,
          .help = "Time from one sample to the next; each wakes idled up" },
        { .section = "Recording",
          .key = "MaxAge",
          .type = SETTING_DURATION,
          .offset = offsetof(RecordingOptions, max_age_usec),
          .fallback = "168h",
          .min = 60e6,
          .max = 87600 * 3600e6,
          .help = "Samples older than this are removed" },
        { .section = "Recording",
          .key = "MaxMegabytes",
          .type = SETTING_COUNT,
          .offset = offsetof(RecordingOptions, max_megabytes),
          .fallback = "16",
          .min = 1,
          .max = 65536,
          .help = "The oldest samples are removed when the file would become larger" },
        { .key = NULL },
};

const Setting profile_settings[] = {
        { .section = "Profile",
          .key = "Summary",
          .type = SETTING_STRING,
          .offset = offsetof(ProfileOptions, summary),
          .fallback = "",
          .help = "What the profile is for, in one line" },
        { .section = "Profile",
          .key = "Include",
          .type = SETTING_LIST,
          .offset = offsetof(ProfileOptions, includes),
          .fallback = "",
          .help = "Profiles to include; values of later ones are stronger" },
        { .key = NULL },
};

#define ROW(section, key, type, field, fallback, ...)                                              \
        {                                                                                          \
                section, key, type, offsetof(AppOptions, field), fallback, __VA_ARGS__             \
        }

static const char *const all_cores[] = { "all", NULL };

const Setting app_settings[] = {
        ROW("Match", "Executable", SETTING_LIST, executables, "",
            .help = "Path of the program; * and ? do not match /"),
        ROW("Match", "Comm", SETTING_LIST, comms, "",
            .help = "Name of the process, at most 15 bytes; the process can change it"),
        ROW("Match", "Unit", SETTING_LIST, units, "",
            .help = "Unit of the system manager that contains the process, or a slice above it"),
        ROW("Match", "Cgroup", SETTING_LIST, cgroups, "",
            .help = "Path of a cgroup that contains the process, or of one above it"),
        ROW("Match", "User", SETTING_LIST, users, "",
            .help = "User of the process: a number, or a name in /etc/passwd"),
        ROW("Match", "Children", SETTING_BOOL, children, "no",
            .help = "Also match processes that a matching process starts"),
        ROW("Ask", "Latency", SETTING_DURATION, latency_usec, "0", 0, HOLD_LATENCY_MAX_US,
            .help = "Longest time from a wake-up until the process runs; 0: no limit"),
        ROW("Ask", "WakeupP99", SETTING_DURATION, p99_usec, "0", 0, CONTRACT_LIMIT_MAX_US,
            .help = "99 % of wake-ups of the process's unit run within this time; 0: any"),
        ROW("Ask", "Profile", SETTING_STRING, profile, "", .choices = profile_name,
            .help = "Profile to activate while the process runs"),
        ROW("Ask", "Cores", SETTING_COUNT, cores, "0", 0, CPUSET_MAX, all_cores,
            .help = "Cores to keep active while the process runs, or all; 0: no request"),
        ROW("Ask", "Kind", SETTING_LIST, kinds, "", .choices = kind_names,
            .help = "Kinds of cores for the unit that the processes have for themselves, or that "
                    "Unit= names"),
        ROW("Ask", "Linger", SETTING_DURATION, linger_usec, "2s", 0, 600e6,
            .help = "Keep the request for this long after the last matching process has ended"),
        { 0 },
};
