/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What loading a configuration and changing it at run time share.
 */
#ifndef IDLED_CONFIG_SECTION_H
#define IDLED_CONFIG_SECTION_H

#include <stdbool.h>

#include "config/config.h"

/* A configuration without sections. */
Config *config_new(void);

/* Adds a section with its defaults. -EINVAL and `*ret_error` if the table is wrong. */
int section_add(Config *config, const char *name, const Setting *rows, size_t size,
                char **ret_error);

/* How the section is called in its file: "Daemon", "Park", "Policy". */
const char *section_heading(const Section *section);

/* The row with this key, NULL if there is none. */
const Setting *section_row(const Section *section, const char *key);

/* True if users see the value: those of a file, and what idled keeps if an old file has it. */
bool section_shows(const Section *section, const Setting *row);

/* The row of this value that idled keeps for the policy, NULL if there is none. */
const Setting *section_state_row(const Section *section, const char *key);

/* The error for a key that is none of section `heading` in the table, which people know as `shown`:
 * a new string with the key that was probably meant, or all of them. */
char *settings_unknown_key(const Setting *rows, const char *heading, const char *shown,
                           const char *key);

/* The text that `row` has in this section, or would have with another profile (NULL: none), with or
 * without what was set at run time. */
const char *section_text(const Section *section, const Setting *row, const Profile *profile,
                         bool with_runtime);

/* The first option that the text names and that is not `key`, NULL if there is none. */
const Setting *section_named(const Section *section, const char *text, const char *key);

/* Asks the section's policy whether `options` fit together. -EINVAL if not: then `*ret_error` says
 * what contradicts what, and `*ret_key` is the key to blame or NULL. */
int section_check(const Section *section, const void *options, const char **ret_key,
                  char **ret_error);

/* Calls `report` for every option of `options` that contradicts another, with the key to blame or
 * NULL. Those that were reported, and what they contradict, count with their defaults from then on,
 * so that the next is found. */
void section_check_all(const Section *section, const void *options,
                       void (*report)(const char *key, const char *error, void *userdata),
                       void *userdata);

#endif
