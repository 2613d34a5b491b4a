/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holds: requests of applications, in effect while these run.
 *
 * A hold ends as soon as one of these happens: all copies of the other end of its descriptor are
 * closed, the process that it is bound to exits, or it is removed or released. So no crash leaves a
 * hold behind.
 *
 * A hold applies to the CPUs that it names; else to those that the threads of its process may run
 * on, which idled follows, and with `cgroup` to those of the other processes there; else to all. If
 * the process has exited, its last CPUs stay, because a child that inherited the descriptor runs
 * where its parent did.
 */
#ifndef IDLED_HOLDS_H
#define IDLED_HOLDS_H

#include <sys/types.h>
#include <systemd/sd-event.h>

#include "model/hold.h"
#include "model/kind.h"

typedef struct Holds Holds;

typedef struct Held Held;

/* Called when a hold has ended, except by holds_remove(). It is none of them any more; `held` is
 * valid during the call. */
typedef void (*HoldEnded)(const Held *held, void *userdata);

/* Called when a hold ends; NULL: not requested. */
typedef struct HoldCalls {
        HoldEnded ended;
        HoldEnded gone; /* called when its process ended instead of ending it; NULL: it ends */
        void *userdata;
} HoldCalls;

/* What is asked; start from HOLD_REQUEST_NONE. The strings are copied. */
typedef struct HoldRequest {
        const char *owner;   /* for people: "user 1000 (:1.4)", "app game.conf" */
        const char *reason;  /* what for; NULL or empty: not said */
        const char *process; /* added to the reason for the user that is shown, and root; or NULL */
        const char *sender;  /* the bus name that may release it; NULL: none */
        const char *profile; /* NULL: none */
        uid_t uid;           /* whose; decides what processes it may be for */
        uid_t shown_uid;     /* the user that is shown; (uid_t)-1: `uid` */
        pid_t pid;           /* for this process; 0: for none */
        int pidfd;           /* for this one, whatever `pid` says; -1: none. Stays the caller's. */
        bool bound;          /* it ends with that process, too */
        int32_t latency_us;  /* -1: any */
        bool global;
        uint32_t p99_us;    /* a contract of its process's unit (contract.h); 0: none */
        const char *cgroup; /* that unit's, which the process may leave; NULL: follow the process */
        uint32_t min_khz;   /* 0: any */
        unsigned min_cores; /* 0: any */
        unsigned kinds;     /* of cores, bits of CoreKind, for `unit`; 0: any */
        const char *unit;   /* its cgroup; NULL: that which only its process is in, if any */
        const CpuSet *cpus; /* these must stay active, and it is about them; NULL: see above */
        HoldCalls calls;
} HoldRequest;

#define HOLD_REQUEST_NONE ((HoldRequest){ .shown_uid = (uid_t)-1, .pidfd = -1, .latency_us = -1 })

/* A contract as it was requested, and what manager/contracts.c found out about its unit. */
typedef struct HeldContract {
        uint32_t p99_us;
        char *cgroup; /* NULL: that of its process */
        char *unit;   /* the path of the unit that this is in, or was last; NULL: it is not known */
        int error;    /* why that could not be read last */
} HeldContract;

/* One hold. What policies see of it is holds_hold(). */
struct Held {
        Holds *holds;
        uint64_t id;
        unsigned index;         /* in the list for policies; changes when others end */
        char *owner, *reason;   /* clean; the reason may have private words (private-text.h) */
        char *sender, *profile; /* NULL: none */
        uid_t uid, shown_uid;
        struct Holder *holder; /* its process; NULL: none */
        HeldContract contract;
        bool bound;
        bool left;               /* its process exited, and `gone` was called */
        unsigned kinds;          /* of cores; 0: any */
        char *unit;              /* the cgroup of the unit that gets them; NULL: there is none */
        CpuSet *named;           /* CPUs that were named, online or not; NULL: none were */
        uint64_t since_usec;     /* CLOCK_REALTIME */
        sd_event_source *source; /* reports when the other end closes; NULL: there is none */
        unsigned n_moves;        /* how often it came to be about other CPUs */
        HoldCalls calls;
};

/* The limit of all holds, and that of one user other than root for holds requested on the bus.
 * Callers on the bus check the latter. */
#define HOLDS_MAX         4096
#define HOLDS_OF_USER_MAX 256

/* The longest time between readings of the CPUs of processes. */
#define HOLDS_FOLLOW_USEC 5000000

/* None held yet. `root` leads to /proc and stays the caller's; `follow_usec` is HOLDS_FOLLOW_USEC
 * but in tests. `changed` is called after every hold that came or was ended by a call below, and
 * what it does is done when that returns; once for all holds that ended by themselves in one turn
 * of the loop; and, with `moved`, when none did and one came to be about other CPUs, unless
 * holds_follow() says so.
 */
Holds *holds_new(sd_event *event, int root, const CpuSet *online, uint64_t follow_usec,
                 void (*changed)(bool moved, void *userdata), void *userdata);

/* Ends all without notifying their owners. */
void holds_free(Holds *holds);

/* Makes a pipe whose reading end belongs to the event source, which calls when the writing end,
 * the caller's `*ret_fd`, is closed everywhere. Negative errno. */
int hangup_watch(sd_event *event, sd_event_source **ret_source, sd_event_io_handler_t callback,
                 void *userdata, int *ret_fd);

/* Begins a hold. `ret_fd`, if not NULL, is the descriptor whose closing ends it; NULL: it has none.
 * -EDQUOT: HOLDS_MAX of them are there; -EPERM: the process is another user's; -ESRCH: there is no
 * such process; -EBADF: not a pidfd; else the system's lack of descriptors. */
int holds_add(Holds *holds, const HoldRequest *request, int *ret_fd, uint64_t *ret_id);

/* Ends a hold: the first for its owner, which is not notified; the second for others. -ENOENT:
 * there is no hold of this number. */
int holds_remove(Holds *holds, uint64_t id);
int holds_release(Holds *holds, uint64_t id);

/* While this is on (calls nest), `changed` waits until it is off and is then called once if any
 * hold changed. Use it to end many holds. */
void holds_defer(Holds *holds, bool on);

/* The hold of this number, NULL if there is none, and all of them in no order. Valid until the next
 * one comes or goes. */
const Held *holds_find(const Holds *holds, uint64_t id);
unsigned holds_count(const Holds *holds);
Held *holds_nth(const Holds *holds, unsigned i);
unsigned holds_count_of(const Holds *holds, uid_t uid);

/* Its process, 0 if it has none. */
pid_t held_pid(const Held *held);

/* What policies see: one of them, and all. */
const Hold *holds_hold(const Held *held);
unsigned holds_list(const Holds *holds, const Hold **ret_list);

/* Adds the kinds of cores that they request to the list of unit_kinds_new(). */
void holds_list_kinds(const Holds *holds, GPtrArray *list);

/* Brings the CPUs of all holds up to date: when other CPUs are `online`, after
 * holds_recheck(), and else once in a while, so that it costs one percent of a CPU at most.
 * True if a hold is about other CPUs than before; `changed` is not called. */
bool holds_follow(Holds *holds, const CpuSet *online, uint64_t now_usec);
void holds_recheck(Holds *holds);

/* Removes all bus names that may release holds, because names on another bus belong to other
 * clients. */
void holds_forget_senders(Holds *holds);

#endif
