/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration as files say it, without the daemon.
 */
#ifndef IDLED_OFFLINE_H
#define IDLED_OFFLINE_H

#include "ctl.h"

/* The directory of policies. */
const char *offline_policy_dir(const Ctl *ctl);

/* Reads and checks the configuration; `config_dir` NULL: as the command line says. An object with
 * "settings" as org.idled1.Manager.GetSettings() tells them (null if there are errors), "errors"
 * with "file", "line", "message" and "text", "unread" and "warnings" (of files that nobody reads,
 * and of CPUs that this machine has not) with the same, and "files", the names of those read. */
json_object *offline_config(const Ctl *ctl, const char *config_dir);

#endif
