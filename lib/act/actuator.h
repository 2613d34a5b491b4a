/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Actuators: each carries out one part of the plan, through knobs.
 */
#ifndef IDLED_ACTUATOR_H
#define IDLED_ACTUATOR_H

#include <errno.h>

#include "act/knob/knob.h"
#include "model/frequency.h"
#include "model/plan.h"

/* What the machine is and offers, for actuators that need more than the plan. */
typedef struct ActFacts {
        const Topology *topology;
        const IdleTable *idle;       /* by CPU number; NULL: there are no idle states */
        const FreqPolicy *frequency; /* of cpufreq, n_frequency of them */
        int n_frequency;
        const GPtrArray *unit_kinds; /* of UnitKinds (model/kind.h): what holds request */
        bool parks;                  /* parking is about to be tried, or it did not fail */
} ActFacts;

/* The error of open() if the administrator's options request nothing. */
#define ACTUATOR_OFF (-ECANCELED)

/* The result of apply() while the actuator leaves its part of the plan alone on purpose, as its
 * describe() says. That is no error. */
#define ACTUATOR_YIELDS (-EAGAIN)

typedef struct Actuator {
        const char *name;
        const char *section;          /* of idled.conf, with its options */
        const KnobKind *const *kinds; /* the kinds of knobs it uses, ends with NULL */

        /* Looks whether its part can be done here, changing nothing. -ENOENT: this machine
         * does not have it, -EOPNOTSUPP: not usable here; both are normal; ACTUATOR_OFF. `options`
         * is the struct of its section of idled.conf. */
        int (*open)(const ActContext *context, const void *options, void **ret_state);

        /* Why open() fails on this machine, for people, as a new string. NULL: nothing more than
         * its error is known; NULL as a function: it never is. */
        char *(*lacks)(const ActContext *context, const void *options);

        /* Carries out the plan, as far as it differs from what it did the last time. Returns the
         * first error, or ACTUATOR_YIELDS; what could be done is done all the same. */
        int (*apply)(void *state, Knobs *knobs, const Plan *plan, const ActFacts *facts);

        /* The result of the last apply() may not be in effect any more: the next apply() checks
         * every knob. The kernel may have set the knobs of `returned`, CPUs that were away,
         * itself. */
        void (*forget)(void *state, Knobs *knobs, const CpuSet *returned);

        /* Fills those parts of `effective`, which comes empty, that this actuator has in effect for
         * the CPU. NULL: none. */
        void (*report)(void *state, const ActFacts *facts, int cpu, CpuWish *effective);

        /* What the plan requests and the machine does not offer, which apply() refuses with
         * -EINVAL: the word, and as a new string what there is ("an idle governor of this kernel:
         * ladder, menu"). NULL if it is something else; NULL as a function: it always is. */
        char *(*refused)(void *state, const Plan *plan, const ActFacts *facts,
                         const char **ret_word);

        /* True if `a` and `b` ask the same of this actuator, so that it need not be called when one
         * follows the other. NULL: it is always called. */
        bool (*same)(const Plan *a, const Plan *b);

        /* How it does it, for people: "cgroup v1 cpuset at /sys/fs/cgroup/cpuset". May change, and
         * the text become invalid, whenever the plan is carried out. */
        const char *(*describe)(void *state);

        /* True if the plan stays in effect only if new units and cgroups are checked; NULL: always
         * false. */
        bool (*follows_units)(void *state);

        /* The directory, relative to the root, whose cgroups it writes to one by one, so that new
         * ones must be checked; NULL, or a function that is NULL: there is none. */
        const char *(*groups)(void *state);

        /* The cgroup of that name there was made or removed: what is known of one that had the name
         * before means nothing any more. */
        void (*group_moved)(void *state, Knobs *knobs, const char *name);

        /* The file that it writes apart from its knobs, with a slash before it; NULL: none. */
        const char *file;

        /* It depends on what is parked, so it is called again whenever parking has written. */
        bool follows_park;

        void (*close)(void *state);
} Actuator;

extern const Actuator actuator_kinds, actuator_park, actuator_cpufreq, actuator_cpuidle,
        actuator_pmqos, actuator_irq, actuator_sysctl, actuator_platform;

/* Ends with NULL. */
extern const Actuator *const actuators[];

/* Kinds of knobs that are only restored. Ends with NULL. */
extern const KnobKind *const kinds_for_one_release[];

/* The kinds of all knobs; a new array that ends with NULL. */
const KnobKind **actuators_kinds(void);

#endif
