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
        sd_event_source *source; /* tells of its end */
} Holder;

/* `ended` is called when a process ends that is in use; its entry stays until it is put back. */
Holders *holders_new(sd_event *event, int root, void (*ended)(Holder *holder, void *userdata),
                     void *userdata);
void holders_free(Holders *holders);

/* The process, to be given back with holder_put(); where it may run is looked at now. `pidfd` (kept
 * by the caller) says which process is meant; -1: the one that has the number `pid` now. Unless
 * `uid` is 0 its real and effective user must be `uid`: -EPERM. -ESRCH: it is not there, or not any
 * more; -EBADF: not a pidfd. Returns 1 if it is in use already and may run elsewhere than it could
 * when last looked at, else 0. */
int holder_get(Holders *holders, pid_t pid, int pidfd, uid_t uid, const CpuSet *online,
               Holder **ret_holder);
void holder_put(Holder *holder);

/* Reads anew where every process that is in use may run; of one that is gone the last answer
 * stands. */
void holders_follow(Holders *holders, const CpuSet *online);

#endif
