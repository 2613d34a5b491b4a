/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values of options written into a drop-in of the configuration.
 */
#ifndef IDLED_SAVE_H
#define IDLED_SAVE_H

#include "cli/verb.h"

typedef struct SavedValue {
        const char *key;
        const char *value; /* "": the drop-in no longer sets the option */
} SavedValue;

/* Writes the values of one section into its drop-in zz-idlectl.conf, and has the daemon reload, if
 * it runs. It checks the whole configuration with them first and exchanges the file in one step; if
 * the daemon refuses it, the old one is restored. `*ret_path`, a new string, is the drop-in's.
 * EXIT_FAILED after messages: the files are as they were, or something stronger than the drop-in
 * hides a value. */
int settings_save(Ctl *ctl, const char *section, const SavedValue *values, guint n,
                  char **ret_path);

/* All settings, as org.idled1.Manager.GetSettings() returns them: the daemon's, else the files'.
 * NULL after messages if the files are wrong. */
json_object *settings_all(Ctl *ctl);

/* Sets options of one section until the daemon ends or reloads: all of them, or none. "" takes back
 * what was set before. `ret_warnings` as client_set_options(). EXIT_FAILED after a message. */
int settings_set(const Ctl *ctl, const char *section, const SavedValue *values, guint n,
                 json_object **ret_warnings);

/* Has the daemon read its files again. EXIT_FAILED after messages, one for each mistake. */
int settings_reload(Ctl *ctl);

#endif
