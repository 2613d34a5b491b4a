/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files of a configuration: which ones count, in which order, and what is in them.
 */
#ifndef IDLED_CONFIG_FILES_H
#define IDLED_CONFIG_FILES_H

#include "config/config.h"

/* A larger file is a mistake. */
#define CONFIG_SIZE_MAX (1u << 20)

typedef struct ConfigFile {
        const char *path; /* as Source.file */
        char *text;       /* may hold NULs; one more is behind it */
        size_t length;
} ConfigFile;

/* Reads "idled.conf" or "policies/NAME.conf" and its drop-ins, in the order in which they apply, as
 * an array of ConfigFile. What is absent is not in it; what cannot be read is in `errors`. */
GPtrArray *config_files_read(const ConfigPaths *paths, const char *name, GPtrArray *errors);

/* The names, without ".conf" and sorted, of all NAME.conf in the directory `name` of either, as a
 * new vector. */
char **config_files_list(const ConfigPaths *paths, const char *name, GPtrArray *errors);

/* The path, for messages, that an administrator's own file `name` has or would have; interned. */
const char *config_admin_path(const ConfigPaths *paths, const char *name);

/* Appends an error, and returns it; `file` is interned. */
ConfigError *config_error_add(GPtrArray *errors, const char *file, int line, const char *format,
                              ...) __attribute__((format(printf, 4, 5)));

#endif
