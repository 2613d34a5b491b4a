/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Options changed in the running daemon.
 */
#ifndef IDLED_SET_H
#define IDLED_SET_H

#include "save.h"

/* Sets options of one section until the daemon ends or reloads: all of them, or none. "" takes back
 * what was set before. `ret_warnings` as client_set_options(). EXIT_FAILED after a message. */
int settings_set(const Ctl *ctl, const char *section, const SavedValue *values, guint n,
                 json_object **ret_warnings);

#endif
