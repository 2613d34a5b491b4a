/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Policies as plugins: found, checked, loaded.
 *
 * A module runs with the daemon's privileges, so it is loaded only if it, its directory and every
 * directory above belong to root (or to the user that runs the daemon) and no other user can write
 * to them. A loaded module stays loaded, because reasons point to strings in it.
 */
#ifndef IDLED_PLUGIN_H
#define IDLED_PLUGIN_H

#include <glib.h>

#include "idled-policy.h"

/* Loads policy `name` from the absolute directory `dir`. On failure `*ret_error` is a new string
 * that says which file, what was found and what was expected. -ENOENT: no such module; -EPERM: its
 * owner or mode is not safe; -EPROTO: another ABI, or not what it says it is; -EINVAL: not a name
 * that a policy can have; else why the file cannot be opened. */
int policy_load(const char *dir, const char *name, const IdledPolicy **ret_policy,
                char **ret_error);

/* Names of all modules in `dir`, sorted, as a new string vector. */
char **policy_list(const char *dir);

#endif
