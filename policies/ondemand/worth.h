/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Does parking save anything here?
 *
 * What a package draws while CPUs are parked is compared with what it draws while all are in use,
 * at like work. How, is told in worth.c.
 */
#ifndef IDLED_WORTH_H
#define IDLED_WORTH_H

#include "idled-policy.h"
#include "ondemand/worth-side.h"

#define SECOND UINT64_C(1000000) /* microseconds */
#define MINUTE (60 * SECOND)

/* What is in use. */
typedef enum WorthPlace {
        WORTH_ALL,    /* every CPU, or all that others leave us */
        WORTH_PARKED, /* some are parked */
        WORTH_UNSURE, /* they should be, but are not */
} WorthPlace;

typedef enum WorthAdvice {
        WORTH_GO_ON,
        WORTH_COMPARE, /* unpark everything, to see what that draws */
        WORTH_UNPARK,  /* unpark what is parked, for that saved nothing, and begin anew */
} WorthAdvice;

typedef struct Worth {
        WorthSide sides[2];    /* by place */
        CpuSet in_use[2];      /* by place, when that was entered last */
        WorthPlace place;      /* at the last call */
        uint64_t settled_usec; /* what is before this is not counted */
        uint64_t seen_usec;    /* end of the last snapshot */
        bool wanted;           /* energy, at the last call */
        unsigned n_without;    /* readings in a row that it was wanted of and not in */
        bool comparing;        /* everything is in use only to compare, and since: */
        uint64_t compared_usec;
        unsigned doublings;    /* of WINDOW_USEC, for the difference was within the noise */
        unsigned misses;       /* times in a row that parking saved nothing */
        uint64_t again_usec;   /* nothing is to be found out before this */
        uint64_t backoff_usec; /* nothing is to be parked before this */
        uint64_t retry_usec;   /* how long to wait after loads that were not alike, */
        uint64_t check_usec;   /* after parking has saved something, */
        uint64_t pause_usec;   /* and, with nothing parked, after it has not */
        double watts[2];       /* that were compared last, by place, */
        double work;           /* at this work of all CPUs, in CPUs, */
        uint64_t judged_usec;  /* and when; 0: never */
        Benefit benefit;       /* how it came out */
        uint64_t other_usec;   /* since when the load has been another; 0: it is not */
} Worth;

/* What one call sees. */
typedef struct WorthView {
        const Snapshot *snapshot;
        const CpuSet *allowed; /* in use, and since the call before */
        WorthPlace place;
        double work;           /* in this interval, in CPUs */
        double load;           /* the same, filtered */
        uint64_t parking_usec; /* CPUs may be parked in this time; UINT64_MAX: not foreseen */
} WorthView;

/* Forgets everything. */
void worth_init(Worth *worth);

/* Takes in what the snapshot says, and tells what is to be done. Who cannot follow the advice is
 * given it again. */
WorthAdvice worth_watch(Worth *worth, const WorthView *view);

/* True if energy is to be read at both ends of the interval that begins now. It is noted, so that
 * counters that do not come are known for absent: once in each call of decide(). */
bool worth_wants_energy(Worth *worth, const WorthView *view);

/* True while nothing is to be parked at `now_usec`: for it has saved nothing, or until it is known
 * what all CPUs draw. */
bool worth_forbids(const Worth *worth, uint64_t now_usec);

/* How long nothing will be parked, in microseconds; 0 if that is not so. */
uint64_t worth_backoff(const Worth *worth, uint64_t now_usec);

#endif
