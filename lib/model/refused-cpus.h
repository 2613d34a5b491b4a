/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CPUs that sched_setaffinity(2) refused to processes because they were parked: which of them stay
 * active, for whom, and for how long. Pure: the caller reads clocks and says what is loaded.
 *
 * A refusal harms once. Its CPUs stay active
 * - for a service of the system manager as long as it is loaded, also after a restart of idled:
 * what it tried once it will try again;
 * - for any other process until it exits, and at least REFUSED_KEEP_USEC, so that a script that
 *   tries again succeeds.
 *
 * Programs fail in a loop, too: with each refusal a user's time of keeping CPUs active goes on for
 * REFUSED_KEEP_USEC. It is limited to REFUSED_SAVED_USEC, and in the long run to one part in
 * REFUSED_SHARE. Refusals beyond are only counted, as are those of more processes than
 * REFUSED_OF_USER_MAX. A login user's process in a service, such as a job of cron, counts as the
 * user's, because users could otherwise keep CPUs active for good. The next job is refused, too.
 */
#ifndef IDLED_REFUSED_CPUS_H
#define IDLED_REFUSED_CPUS_H

#include <glib.h>
#include <sys/types.h>

#include "model/plan.h"

#define REFUSED_KEEP_USEC   10000000u
#define REFUSED_SAVED_USEC  120000000u
#define REFUSED_SHARE       10
#define REFUSED_OF_USER_MAX 256  /* processes, as many as holds */
#define REFUSED_MAX         4096 /* processes of all users */
#define REFUSED_UNITS_MAX   64   /* then the one whose refusal is the oldest is forgotten */

/* A service, or a process that is of none. */
typedef struct Refused {
        char *unit;    /* NULL: a process */
        char *program; /* the last one that was refused; clean */
        uid_t uid;     /* its user */
        pid_t pid;
        CpuSet cpus;         /* all that were refused to it */
        uint64_t count;      /* how often */
        uint64_t until_usec; /* a process: CLOCK_MONOTONIC, or later, while it is `alive` */
        bool alive;
} Refused;

typedef struct RefusedTable RefusedTable;

RefusedTable *refused_table_new(void);
void refused_table_free(RefusedTable *table);

/* The service that the cgroup belongs to, if the system manager runs it: `path` has the names of
 * the cgroup and those above, the innermost first, each ended by a NUL. NULL: there is none, as for
 * processes of logins and of scopes, in which containers are. As a new string. */
char *refused_unit(const char *path, size_t size);

/* Notes a refusal at `now`. Strings are copied. The returned entry is valid until the next call,
 * and
 * `*ret_new` says whether its CPUs are others than before; NULL: it is only counted. */
const Refused *refused_note(RefusedTable *table, const Refused *refusal, uint64_t now,
                            bool *ret_new);

/* True if CPUs stay active for the process, though a later refusal was only counted. */
bool refused_has_process(const RefusedTable *table, pid_t pid);

/* The process exited. */
void refused_exited(RefusedTable *table, pid_t pid);

/* Removes what no longer counts; true if there was anything. */
bool refused_expire(RefusedTable *table, uint64_t now);

/* When the next entry expires by time; 0: none does. */
uint64_t refused_expires_at(const RefusedTable *table);

/* Forgets a service, or with "" all; how many there were. */
unsigned refused_forget(RefusedTable *table, const char *unit);

/* All entries, in the order of their last refusals, and how many refusals there were, with those
 * that were only counted. */
const Refused *refused_nth(const RefusedTable *table, unsigned i);
uint64_t refused_total(const RefusedTable *table);

/* A set of its own for each CPU of the entries that count now: all of them must be active. Services
 * count that `loaded` says are; NULL: all. */
Affinities *refused_affinities(const RefusedTable *table,
                               bool (*loaded)(const char *unit, const void *userdata),
                               const void *userdata);

/* The services as lines "UNIT CPUS PROGRAM", and back; lines that are none are skipped, and their
 * number is returned. */
char *refused_format(const RefusedTable *table);
unsigned refused_parse(RefusedTable *table, const char *text);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RefusedTable, refused_table_free)

#endif
