/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a snapshot says about how much the machine is asked to do.
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

/* Shares of utilisation that are searched for. */
typedef struct DemandLimits {
        double full;        /* a CPU that is busy for this share or more may want more */
        double target;      /* of a core that has room */
        uint64_t full_usec; /* what a CPU must have been full for to count as saturated */
} DemandLimits;

typedef struct Demand {
        double work;       /* of all CPUs that may be parked */
        double rest;       /* of those that are in use and not saturated, without SMT's discount */
        double idle;       /* CPUs in use that had nothing to do, on average */
        double busiest;    /* share of the busiest CPU in use */
        int active;        /* CPUs in use that may be parked */
        int full;          /* of these, how many were saturated in this interval */
        int saturated;     /* and how many for as long as it takes to count */
        int fast;          /* of these, how many have work that a slow core has no room for */
        unsigned runnable; /* tasks runnable at the end that are not on CPUs set aside or parked */
        unsigned tasks;    /* of these, as many as could use a CPU each */
} Demand;

/* What `input` asks for of the CPUs in `pack`, which is up to date. `full_usec` is how long each
 * CPU, by its number, has been full; `runnable_before` the number of runnable tasks at the end of
 * the interval before. */
void demand_read(const PolicyInput *input, const Pack *pack, DemandLimits limits,
                 const uint64_t *full_usec, unsigned runnable_before, Demand *ret_demand);

/* How many of the runnable tasks could use a CPU each: those that were runnable at both ends of an
 * interval in which CPUs in use had nothing to do are bound or throttled, and count as the number
 * of CPUs that were busy. */
unsigned demand_tasks(const Demand *demand, unsigned runnable_before);

/* True if CPUs in use had nothing to do for half of the time or more. */
static inline bool demand_is_light(const Demand *demand)
{
        return demand->idle >= 0.5 * demand->active;
}

#endif
