/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pauses of idled: while there is one, the machine is left as it was found.
 */
#ifndef IDLED_PAUSES_H
#define IDLED_PAUSES_H

#include <sys/types.h>

#include "manager/ground.h"

/* A pause of idled: for as long as a client keeps its descriptor open, or, if the pause lasts,
 * until it is resumed or its time is over. */
typedef struct Pause {
        char *reason; /* clean */
        char *owner;  /* the client, for people */
        uid_t uid;    /* whose; (uid_t)-1: the daemon's own */
        bool lasting;
        uint64_t until_usec; /* of one that lasts, CLOCK_REALTIME; 0: until it is resumed */
} Pause;

typedef struct Pauses Pauses;

Pauses *pauses_new(Ground *ground);

/* Ends all, and raises nothing. */
void pauses_free(Pauses *pauses);

/* Pauses until the other end of the returned descriptor is closed. `reason` and `owner` are cleaned
 * here; `uid` serves the limit on the pauses of a user. Negative errno. */
int pauses_add(Pauses *pauses, const char *reason, const char *owner, uid_t uid, int *ret_fd);

/* Pauses until pauses_resume(), or until `usec` (CLOCK_BOOTTIME; 0: no limit) are over, whatever
 * becomes of the client. A user has one such pause: a later one replaces it. Negative errno. */
int pauses_add_lasting(Pauses *pauses, const char *reason, const char *owner, uid_t uid,
                       uint64_t usec);

/* Ends the pauses that last, of this user or with (uid_t)-1 of all, and returns how many there
 * were. */
unsigned pauses_resume(Pauses *pauses, uid_t uid);

/* One by one, the oldest first; NULL after the last. */
const Pause *pauses_nth(const Pauses *pauses, unsigned i);

/* True while there is one; and why, as a new string. A known end is local time. */
bool pauses_any(const Pauses *pauses);
char *pauses_text(const Pauses *pauses);

#endif
