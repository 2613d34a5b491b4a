/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The text of a configuration file as sections, keys and values, each with its line number.
 */
#ifndef IDLED_CONFIG_PARSE_H
#define IDLED_CONFIG_PARSE_H

#include <glib.h>

/* One line: a key with its value, or a problem. */
typedef struct ConfigLine {
        int number; /* from 1 */
        char *section, *key, *value;
        char *problem; /* what is wrong with the line; then the others are NULL */
} ConfigLine;

/* Says whether a section exists, or with `key` whether the section has the key: returns NULL if so,
 * else what is wrong, as a new string. Keys that exist are letters and digits. */
typedef char *(*ConfigCheck)(const char *section, const char *key, void *userdata);

/* The lines of `text` (`length` bytes) in their order, as an array of ConfigLine; blank lines and
 * comments are not in it. Keys of a section that does not exist are left out: that the section does
 * not is problem enough. After CONFIG_PROBLEMS_MAX problems the rest of the text is not parsed, and
 * the last problem says so. */
GPtrArray *config_parse(const char *text, size_t length, ConfigCheck check, void *userdata);

#define CONFIG_PROBLEMS_MAX 20

#endif
