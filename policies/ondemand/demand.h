/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much the machine is asked to do, from the busy shares of its CPUs.
 *
 * Work is measured in CPUs of the machine's fastest kind: a CPU of half the capacity that is busy
 * all the time does 0.5. Threads share their core: two that are both busy do a quarter more than
 * one (SMT_GAIN). How long they overlap is not known, so they are taken as independent: with shares
 * b of its threads a core is occupied for o = 1 - (1 - b1)(1 - b2)..., and does o + SMT_GAIN * (b1
 * + b2 + ... - o) of its capacity.
 */
#ifndef IDLED_DEMAND_H
#define IDLED_DEMAND_H

#include "idled-policy.h"
#include "model/pack.h"

typedef struct Demand {
        double work;    /* of all CPUs that may be parked */
        double rest;    /* of those that are active and not saturated, without SMT's discount */
        double idle;    /* active CPUs that had nothing to do, on average */
        double busiest; /* share of the busiest active CPU */
        int active;     /* CPUs that may be parked and are not */
        int saturated;  /* of these, busy for UpThreshold or more */
        int fast;       /* of these, how many have work that a slow core has no room for */
} Demand;

/* What `busy` (shares by CPU number) says about the CPUs in `pack`. A CPU is saturated from the
 * share `up` on; a slow core has room for work up to the share `target`. */
Demand demand_read(const PolicyInput *input, const Pack *pack, const float *busy, double up,
                   double target);

/* Tasks that are runnable now and not on CPUs that are set aside or parked. */
unsigned demand_runnable(const PolicyInput *input, const Pack *pack);

/* True if active CPUs had nothing to do for half of the time or more. */
static inline bool demand_is_light(const Demand *demand)
{
        return demand->idle >= 0.5 * demand->active;
}

#endif
