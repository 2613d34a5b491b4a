/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The profile that a client chose, kept over a restart as one line in the file "profile", which is
 * written without waiting for the disk.
 */
#ifndef IDLED_PROFILE_KEEPER_H
#define IDLED_PROFILE_KEEPER_H

#include <stdbool.h>
#include <systemd/sd-event.h>

/* Reads the name from directory `dir`. -ENOENT: none was chosen; -EBADMSG: no name of a profile is
 * in the file; else why it cannot be read. */
int profile_state_read(const char *dir, char **ret_name);

/* Keeps the name, or none (NULL). `dir` is made if it is not there. Whatever happens meanwhile, the
 * file holds the old name or the new one whole. */
int profile_state_write(const char *dir, const char *name);

typedef struct ProfileKeeper ProfileKeeper;

/* Called with the result of the last write: 0, or why the choice cannot be kept, as of
 * profile_state_write(). */
typedef void (*ProfileKept)(int error, void *userdata);

/* Keeps choices in directory `dir`, which is copied. */
int profile_keeper_new(sd_event *event, const char *dir, ProfileKept kept, void *userdata,
                       ProfileKeeper **ret_keeper);

/* Waits until the last choice is written, without a callback, and frees. */
void profile_keeper_free(ProfileKeeper *keeper);

/* Has the name (NULL: none) written, and returns at once. If several choices come while one is
 * being written, only the last is. */
void profile_keeper_keep(ProfileKeeper *keeper, const char *name);

/* True until every choice is written and reported. */
bool profile_keeper_is_busy(const ProfileKeeper *keeper);

#endif
