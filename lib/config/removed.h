/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Options that idled had once. For one release a file or SetOptions may still have them: idled
 * warns of each, so that an upgrade does not stop at an old drop-in or profile. They have no
 * effect, but a value that idled keeps itself now counts while it keeps none.
 */
#ifndef IDLED_CONFIG_REMOVED_H
#define IDLED_CONFIG_REMOVED_H

#include "config/config.h"

/* What to do instead of setting `key`, for messages; NULL: it is not one of these options.
 * `section` is the name of a Section. */
const char *removed_find(const char *section, const char *key);

/* The warning of it, as a new string; NULL: it is not one of these options. */
char *removed_warning(const char *section, const char *key);

/* If the key of this line is one of these, appends a warning to config->removed, and returns true.
 */
bool removed_note(const Config *config, const char *section, const char *key, Source source);

#endif
