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

/* Writes the values of one section into its drop-in 90-idlectl.conf, and has the daemon reload, if
 * it runs. It checks the whole configuration with them first and exchanges the file in one step; if
 * the daemon refuses it, the old one is restored. `*ret_path`, a new string, is the drop-in's.
 * EXIT_FAILED after messages: the files are as they were. */
int settings_save(Ctl *ctl, const char *section, const SavedValue *values, guint n,
                  char **ret_path);

/* "KEY stays VALUE (SOURCE)" for every value that something stronger than the drop-in at `path`
 * hides, as an array; empty without the daemon. */
json_object *settings_hidden(Ctl *ctl, const char *section, const SavedValue *values, guint n,
                             const char *path);

#endif
