/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A hold, as policies see it: what an application requests. daemon/holds/ knows its owner and when
 * it ends.
 *
 * Part of what idled installs for plugins.
 */
#ifndef IDLED_HOLD_H
#define IDLED_HOLD_H

#include <stdbool.h>

#include "base/cpuset.h"

/* The longest latency that one can request: whatever is slower than this needs no promise. */
#define HOLD_LATENCY_MAX_US 1000000u

typedef struct Hold {
        uint64_t id;         /* counts from 1, never used twice */
        const char *reason;  /* clean, for people; never NULL */
        const char *profile; /* name of one that it requests; NULL: none */
        CpuSet cpus;         /* the online CPUs it is about: where the application may run */
        int32_t latency_us;  /* it must be running within this time of a wake-up; -1: any */
        bool global;         /* and so on all CPUs there are, by the one limit for the machine */
        uint32_t min_khz;    /* on `cpus`; 0: any */
        unsigned min_cores;  /* active on the machine; 0: any */
        bool keep;           /* `cpus` must not be parked */
} Hold;

/* True if it requests more than its profile, which a policy that looks at holds must see to. */
static inline bool hold_needs_policy(const Hold *hold)
{
        return hold->latency_us >= 0 || hold->min_khz > 0 || hold->min_cores > 0 || hold->keep;
}

#endif
