/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a snapshot says about how much the machine has to do.
 *
 * Work is measured in CPUs of the machine's fastest kind: a CPU of half the capacity that is busy
 * all the time does 0.5. The threads of a core share it: two that are both busy do a quarter more
 * than one (SMT_GAIN). Only their busy shares are known, and not how long they overlap, so they are
 * taken as independent: with shares b of its threads a core is occupied for o = 1 - (1 - b1)(1 -
 * b2)..., and does o + SMT_GAIN * (b1 + b2 + ... - o) of its capacity.
 */
#ifndef IDLED_DEMAND_H
#define IDLED_DEMAND_H

#include "idled-policy.h"
#include "model/pack.h"

typedef struct DemandLimits {
        double full;        /* a CPU that is busy for this share or more may want more */
        double target;      /* of a core that has room */
        uint64_t full_usec; /* what a CPU must have been full for to count as saturated */
} DemandLimits;

/* In CPUs of the fastest kind: what all CPUs that may be parked did, and the share of the busiest
 * active one. */
typedef struct Load {
        double work, busiest;
} Load;

typedef struct Demand {
        Load load;
        double rest;       /* of those that are active and not saturated, without SMT's discount */
        double idle;       /* active CPUs that had nothing to do, on average */
        int active;        /* active CPUs that may be parked */
        int full;          /* of these, how many were full in this interval */
        int saturated;     /* of these, how many were full for long enough */
        int fast;          /* active CPUs with work that a slow core has no room for */
        unsigned runnable; /* tasks runnable at the end that are not on CPUs set aside or parked */
        unsigned tasks;    /* of these, as many as could use a CPU each */
} Demand;

/* What `input` requests of the CPUs in `pack`, which is up to date. `full_since_usec` has the time
 * since which each CPU has been full, 0 if it is not, by its number, and is brought up to date;
 * `runnable_before` is the number of runnable tasks at the end of the interval before. */
Demand demand_read(const PolicyInput *input, const Pack *pack, DemandLimits limits,
                   uint64_t *full_since_usec, unsigned runnable_before);

/* How many of the runnable tasks could use a CPU each: those that were runnable at both ends of an
 * interval in which active CPUs had nothing to do are bound or throttled, and count as the number
 * of CPUs that were busy. */
unsigned demand_tasks(const Demand *demand, unsigned runnable_before);

/* True if active CPUs had nothing to do for half of the time or more. */
static inline bool demand_is_light(const Demand *demand)
{
        return demand->idle >= 0.5 * demand->active;
}

#endif
