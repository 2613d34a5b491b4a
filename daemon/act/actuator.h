/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Actuators: each carries out one part of the plan, through knobs.
 */
#ifndef IDLED_ACTUATOR_H
#define IDLED_ACTUATOR_H

#include "act/knob.h"
#include "model/plan.h"

typedef struct Actuator {
        const char *name;
        const char *section;          /* of idled.conf, with its options */
        const KnobKind *const *kinds; /* the kinds of knobs it uses, ends with NULL */

        /* Looks whether its part can be done here, changing nothing. -EOPNOTSUPP: not on this
         * machine, which is normal. `options` is the struct of its section of idled.conf. */
        int (*open)(const ActContext *context, const void *options, void **ret_state);

        /* Carries out the plan. Returns the first error; what could be done is done all the same.
         */
        int (*apply)(void *state, Knobs *knobs, const Plan *plan, const Topology *topology);

        /* True if `a` and `b` ask the same of this actuator, so that it need not be called when one
         * follows the other. NULL: it is always called. */
        bool (*same)(const Plan *a, const Plan *b);

        /* How it does it, for people: "cgroup v1 cpuset at /sys/fs/cgroup/cpuset". May change, and
         * the text become invalid, whenever the plan is carried out. */
        const char *(*describe)(void *state);

        /* True if units and cgroups that come have to be looked at for the plan to stay in force;
         * NULL: they have not. */
        bool (*follows_units)(void *state);

        void (*close)(void *state);
} Actuator;

extern const Actuator actuator_park;

/* Ends with NULL. */
extern const Actuator *const actuators[];

#endif
