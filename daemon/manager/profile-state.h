/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The profile that a client chose, kept over a restart: one line in the file "profile".
 */
#ifndef IDLED_PROFILE_STATE_H
#define IDLED_PROFILE_STATE_H

/* Reads the name from directory `dir`. -ENOENT: none was chosen; -EBADMSG: no name of a profile is
 * in the file; else why it cannot be read. */
int profile_state_read(const char *dir, char **ret_name);

/* Keeps the name, or none (NULL). `dir` is made if it is not there. Whatever happens meanwhile, the
 * file holds the old name or the new one whole. */
int profile_state_write(const char *dir, const char *name);

#endif
