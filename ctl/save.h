/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values of options written into a drop-in of the configuration.
 */
#ifndef IDLED_SAVE_H
#define IDLED_SAVE_H

#include "ctl.h"

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

#endif
