/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loading profiles: from files to checked values.
 */
#ifndef IDLED_PROFILE_LOAD_H
#define IDLED_PROFILE_LOAD_H

#include "config/profile.h"

/* Reads and checks all profiles into config->profiles, which comes empty; policies are loaded
 * already. What is wrong, also with the names that [Daemon] has of profiles, is in `errors`. */
void profiles_load(Config *config, const ConfigPaths *paths, GPtrArray *errors);

/* The names of all profiles, as a new vector. */
char **profiles_list(const ConfigPaths *paths);

#endif
