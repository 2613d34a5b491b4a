/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one policy wishes, and why.
 *
 * Every field has a value that means "no wish", which wish_init() sets; how the wishes of several
 * policies become one plan is said here, field by field, and done by plan_merge() in plan.c.
 *
 * Part of what idled installs for plugins.
 */
#ifndef IDLED_WISH_H
#define IDLED_WISH_H

#include "base/cpuset.h"

#define REASON_INPUTS 4

/* Why a policy decided so: one sentence, the inputs it looked at, and the option whose value was
 * the threshold. All strings are static in the policy's module. */
typedef struct Reason {
        const char *because; /* "the filtered load needs fewer cores"; NULL: no reason given */
        struct {
                const char *name; /* "filtered load"; NULL ends the list */
                const char *unit; /* "CPUs", "%", "s", ... */
                double value;     /* in that unit */
        } inputs[REASON_INPUTS];
        const char *option;         /* key of the option behind the decision; NULL: none */
        double threshold;           /* what the inputs were compared with, in `threshold_unit` */
        const char *threshold_unit; /* NULL: the option's value is no number, see it there */
} Reason;

typedef struct Wish {
        CpuSet allowed;        /* CPUs for ordinary work. No wish: all CPUs. Merge: intersection. */
        Reason allowed_reason; /* of the set as it is now */
        uint64_t period_usec;  /* call again after this time. No wish: 0, never. Merge: minimum. */
        bool settled;     /* the next calls will decide the same as long as the load stays as it
                             is, so the period may stretch. No wish: true. Merge: and. */
        bool on_pressure; /* call at once when tasks begin to wait for CPUs. No wish: false.
                             Merge: or. */
} Wish;

/* A wish for nothing. */
static inline void wish_init(Wish *wish)
{
        *wish = (Wish){ .settled = true };
        memset(&wish->allowed, 0xff, sizeof(wish->allowed));
}

#endif
