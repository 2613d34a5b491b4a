/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Programs other than idled that write frequencies, governors or idle states: how to find each, and
 * the command that stops it for good. The one list of them, for the daemon and for idlectl doctor.
 */
#ifndef IDLED_POWER_DAEMONS_H
#define IDLED_POWER_DAEMONS_H

#include <stdbool.h>

typedef struct PowerDaemon {
        const char *unit;    /* as systemd names it; of the user's manager if `of_user` */
        const char *process; /* as /proc/PID/comm names it, 15 bytes at most; NULL: none stays */
        bool masked;         /* to stop it for good: D-Bus would start a disabled one again */
        bool of_user;
        const char *stop; /* the command for that, if another one is necessary */
} PowerDaemon;

/* The last one has no unit. */
extern const PowerDaemon power_daemons[];

#endif
