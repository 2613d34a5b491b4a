/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the parts of application rules share, the lowest first:
 *   apps-hold.c    holds for processes that rules mean, and their ends
 *   apps-follow.c  which processes these are
 *   apps-scan.c    checking families, and all processes
 *   apps-events.c  what makes it check processes
 *   apps.c         begins and ends all this
 */
#ifndef IDLED_APPS_PARTS_H
#define IDLED_APPS_PARTS_H

#include "config/app.h"
#include "apps/apps.h"

typedef struct Follow Follow;
typedef struct Scan Scan;

/* The holds of one rule. */
typedef struct RuleHolds {
        unsigned n;        /* for processes that it means */
        Follow *lingering; /* for the last one that it meant; NULL: none */
} RuleHolds;

/* One process and one rule that means it, or whose hold lingers. */
struct Follow {
        Apps *apps;
        const App *app;
        pid_t pid;
        uid_t uid;            /* its user when it was last checked */
        FileId program;       /* that it executed when it was found to be meant; else zero */
        bool inherited;       /* from its parent: whatever it is now, the rule still applies */
        uint64_t hold;        /* 0: it was released */
        sd_event_source *end; /* of the process, if no hold reports it; of lingering */
};

/* What lower parts have higher ones do. */
typedef struct AppsCalls {
        void (*check)(Apps *apps, pid_t pid);          /* apps_check() */
        void (*rescan)(Apps *apps);                    /* apps_rescan() */
        void (*first_or_last)(Apps *apps, bool first); /* apps_first_or_last() */
} AppsCalls;

struct Apps {
        const AppsCalls *calls;
        sd_event *event;
        int proc;
        int files; /* the root of the first process, else ours: where paths of programs count */
        Holds *holds;
        GPtrArray *rules;  /* of App */
        bool any_children; /* some rule means what its processes start, too */
        GHashTable *users;
        GHashTable *followed; /* pid -> GPtrArray of Follow, owned */
        ProcessFacts *facts;  /* of the process that is being checked */

        GHashTable *holds_of_rule; /* App -> RuleHolds, owned */
        unsigned n_holds;
        GHashTable *holds_of; /* uid -> how many of them are for that user's processes */
        bool full;            /* holds were refused since the last check of all processes */
        bool reported;        /* and that was said */

        int error;               /* why there are no events */
        uint64_t scanned_usec;   /* of the last check of all processes; CLOCK_MONOTONIC */
        sd_event_source *source; /* of process events; its descriptor is ours */
        sd_event_source *rest;   /* until they are read again */
        sd_event_source *again;  /* until the next check of all processes */
        Scan *scan;              /* they are, a part of them in every turn; NULL: they are not */
        sd_event_source *scanning;
};

/* What the process is followed for, an array of Follow; NULL: nothing. */
GPtrArray *apps_follows_of(const Apps *apps, pid_t pid);

/* Holds for the process, whatever has its number now. -ESRCH: it is not there; -EMFILE: there are
 * too many, or too many of its user; else as holds_add(). */
int follow_hold(Follow *follow, int pidfd);

/* Ends it: what its hold was for is asked for no longer. */
void follow_end(Follow *follow);

/* The same when all of them end. */
void follow_free(Follow *follow, Holds *holds);

/* Looks which rules mean the process now, and follows; so with its children, if they count from now
 * on. */
void apps_check(Apps *apps, pid_t pid);

/* The same of the process alone: true if its children must be checked. */
bool apps_check_one(Apps *apps, pid_t pid);

/* Follows a process because its parent is followed. */
void apps_inherit(Apps *apps, pid_t parent, pid_t child);

/* The first process is followed, or the last is no longer: hears of forks, or not. */
void apps_first_or_last(Apps *apps, bool first);

/* Looks at all processes that there are: now, or SCAN_AT_ONCE in every turn of the loop from now
 * on, once more if that was begun already. */
#define SCAN_AT_ONCE 200
void apps_scan(Apps *apps);
int apps_scan_begin(Apps *apps);
void scan_free(Scan *scan);

/* Listens for what becomes of processes; `error` says whether it does. */
void apps_listen(Apps *apps);
void apps_unlisten(Apps *apps);

#endif
