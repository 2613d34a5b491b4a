/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Following the processes that application rules match: finding out which these are, and holding
 * for them until they end. The caller says which processes to check.
 */
#ifndef IDLED_FOLLOWER_H
#define IDLED_FOLLOWER_H

#include <glib.h>
#include <systemd/sd-event.h>

#include "holds/holds.h"

typedef struct Follower Follower;

/* What it reports. */
typedef struct FollowerListener {
        /* The first process is followed whose forks matter, or the last is no longer. */
        void (*first_or_last)(bool first, void *userdata);
        /* A hold ended, and others were refused: check all processes again. */
        void (*room)(void *userdata);
        void *userdata;
} FollowerListener;

/* Follows nothing yet. `rules` are of App, and kept. `root` is only read now; `proc`, a descriptor
 * of /proc, stays the caller's. The listener is copied. */
Follower *follower_new(sd_event *event, int root, int proc, Holds *holds, GPtrArray *rules,
                       const FollowerListener *listener);

/* Takes all holds back; NULL is allowed. */
void follower_free(Follower *follower);

/* Checks which rules mean the process now, and follows it or no longer; so with its children, if
 * they count from now on. */
void follower_check(Follower *follower, pid_t pid);

/* Follows a process because its parent is followed. */
void follower_inherit(Follower *follower, pid_t parent, pid_t child);

/* Which processes are followed: whether this one is, and all of them, as a new array of pid_t. */
bool follower_has(const Follower *follower, pid_t pid);
GArray *follower_pids(const Follower *follower);

/* How many holds there are for rules, those that linger included. */
unsigned follower_count_holds(const Follower *follower);

/* All processes are about to be checked, those that were refused a hold among them. */
void follower_forget_refused(Follower *follower);

#endif
