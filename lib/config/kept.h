/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values of policies that idled keeps (section State of a policy's table): clients set them as
 * options, and each is in a file, SECTION-KEY, over a restart. For one release an old file of the
 * configuration may have one, too, which counts while there is no such file.
 */
#ifndef IDLED_CONFIG_KEPT_H
#define IDLED_CONFIG_KEPT_H

#include "config/config.h"

/* Sets the values of files in directory `dir` that the configuration does not have yet. Logs what
 * is wrong with a file, which then has no effect. */
void kept_read(Config *config, const char *dir);

/* Keeps the value if it is one of these; "" removes it. Does not wait for the disk. Logs why that
 * fails. */
void kept_write(const Config *config, const char *dir, const char *section, const char *key,
                const char *value);

#endif
