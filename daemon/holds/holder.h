/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The processes that holds are for: one entry for each, however many holds it has.
 */
#ifndef IDLED_HOLDER_H
#define IDLED_HOLDER_H

#include <glib.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "base/cpuset.h"

typedef struct Holders Holders;

typedef struct Holder {
        Holders *holders;
        pid_t pid;
        int pidfd;
        CpuSet cpus; /* online ones that its threads may run on, as last read */
        bool alive;
        unsigned n_users;
        sd_event_source *source; /* reports its exit */
} Holder;

/* `ended` is called when a process in use exits; its entry stays until it is released. */
Holders *holders_new(sd_event *event, int root, void (*ended)(Holder *holder, void *userdata),
                     void *userdata);
void holders_free(Holders *holders);

/* Returns the process, for holder_put(), and reads where it may run. `pidfd` (kept by the caller)
 * identifies the process; -1: the one that has the number `pid` now. Unless `uid` is 0, its real
 * and effective user must be `uid`: -EPERM. -ESRCH: there is no such process; -EBADF: not a pidfd.
 * Returns 1 if it is in use already and its CPUs have changed, else 0. */
int holder_get(Holders *holders, pid_t pid, int pidfd, uid_t uid, const CpuSet *online,
               Holder **ret_holder);
void holder_put(Holder *holder);

/* Reads again where each process in use may run; for one that has exited the last answer stays. */
void holders_follow(Holders *holders, const CpuSet *online);

#endif
