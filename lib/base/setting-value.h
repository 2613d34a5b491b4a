/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values of settings: from text into an options struct and back, by the rows of a table.
 */
#ifndef IDLED_SETTING_VALUE_H
#define IDLED_SETTING_VALUE_H

#include <stdbool.h>

#include "base/setting.h"

/* Parses `text` by `row` and stores it at the row's offset in `options`, freeing a string or list
 * that was there. On failure `options` is untouched and `*ret_error`, a new string, says what was
 * found and what was expected. -EINVAL: not of the type; -ERANGE: outside the row's bounds. */
int setting_parse(const Setting *row, const char *text, void *options, char **ret_error);

/* The value as a new string, as setting_parse() accepts it. */
char *setting_format(const Setting *row, const void *options);

/* A new options struct of `size` bytes with every row's default. A default that does not parse is
 * a mistake in the table: -EINVAL and `*ret_error`. Free it with settings_free(). */
int settings_new(const Setting *rows, size_t size, void **ret_options, char **ret_error);

/* An independent copy of an options struct. */
void *settings_copy(const Setting *rows, size_t size, const void *options);

/* Frees an options struct with the strings and lists in it; NULL is allowed. */
void settings_free(const Setting *rows, void *options);

/* True if every row has the same value in both. */
bool settings_equal(const Setting *rows, const void *a, const void *b);

/* The row with this section and key, exact case; NULL if there is none. */
const Setting *setting_find(const Setting *rows, const char *section, const char *key);

/* The key of the section that is most like `key` ("did you mean"), NULL if none is near. */
const char *setting_nearest(const Setting *rows, const char *section, const char *key);

/* What a value must look like, for errors and help, as a new string: "a duration from 10ms to
 * 10s, such as 250ms". */
char *setting_expectation(const Setting *row);

#endif
