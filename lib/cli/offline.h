/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration as files say it, without the daemon.
 */
#ifndef IDLED_OFFLINE_H
#define IDLED_OFFLINE_H

#include "config/config.h"
#include "cli/verb.h"

/* The directory of policies. */
const char *offline_policy_dir(const Ctl *ctl);

/* Where the configuration is, as the command line says; `config_dir` as below. */
typedef struct OfflinePaths {
        ConfigPaths paths;
        char *vendor, *admin, *policies;
        int top;
} OfflinePaths;

void offline_paths_init(OfflinePaths *offline, const Ctl *ctl, const char *config_dir);
void offline_paths_done(OfflinePaths *offline);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OfflinePaths, offline_paths_done)

/* EXIT_FAILED after a message if that is a name, but not of a directory. */
int offline_check_directory(const char *given);

/* Complains of all errors (of ConfigError). EXIT_FAILED. */
int offline_complain(const GPtrArray *errors);

/* The names of the profiles that have a file, as a new vector. */
char **offline_profiles(const Ctl *ctl);

/* Reads and checks the configuration; `config_dir` NULL: as the command line says. An object with
 * "settings" as org.idled1.Manager.GetSettings() returns them (null if there are errors), "errors"
 * with "file", "line", "message" and "text", "warnings" (as config_find_warnings() has them) with
 * the same, and "files", the names of those read. */
json_object *offline_config(const Ctl *ctl, const char *config_dir);

/* One member of that; NULL after messages if there are errors. The caller puts it. */
json_object *offline_member(const Ctl *ctl, const char *member);

#endif
