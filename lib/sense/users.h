/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of users, from /etc/passwd alone: asking a directory service could wait for a network. */
#ifndef IDLED_USERS_H
#define IDLED_USERS_H

#include <glib.h>

/* Number (GUINT_TO_POINTER) -> name (owned) of all users below `root`; empty if they cannot be
 * read. */
GHashTable *users_read(int root);

#endif
