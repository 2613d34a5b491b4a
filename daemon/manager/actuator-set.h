/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The actuators as opened on this machine: which are available, and what failed.
 */
#ifndef IDLED_ACTUATOR_SET_H
#define IDLED_ACTUATOR_SET_H

#include "act/actuator.h"
#include "config/config.h"

/* What became of an actuator. */
typedef struct ActuatorState {
        const Actuator *actuator;
        void *state; /* NULL: not available */
        int error;   /* of opening it, or of its last try to carry out the plan; 0: none */
        char *why;   /* for people: what the machine lacks, or what failed; NULL: no error */
} ActuatorState;

typedef struct ActuatorSet ActuatorSet;

/* Without actuators. */
ActuatorSet *actuator_set_new(const ActContext *context);
void actuator_set_free(ActuatorSet *set);

/* Opens all with their options in `config`, and logs how that went; or again those that were not
 * available: then true if one is now. */
void actuator_set_open(ActuatorSet *set, const Config *config);
bool actuator_set_open_absent(ActuatorSet *set, const Config *config);

/* Adds one that was opened by the caller. */
void actuator_set_add(ActuatorSet *set, const Actuator *actuator, void *state);

/* Closes all and removes them. */
void actuator_set_close(ActuatorSet *set);

/* The result of the actuator's last try to carry out the plan, and if that is an error (negative
 * errno) why; takes the text over. */
void actuator_set_note(ActuatorSet *set, const Actuator *actuator, int error, char *why);

/* One by one; NULL after the last. */
const ActuatorState *actuator_set_nth(const ActuatorSet *set, unsigned i);

/* NULL: this build does not have it. */
const ActuatorState *actuator_set_find(const ActuatorSet *set, const Actuator *actuator);

/* The first error of those with which actuators last tried to carry out the plan; 0: there is none.
 */
int actuator_set_error(const ActuatorSet *set);

/* The error of the actuator's last try to carry out the plan, if no knob reports it; else 0. */
int actuator_unreported_error(const ActuatorState *actuator, const Knobs *knobs);

/* What is in effect for `cpu` by all actuators, each part as CpuWish says it. */
CpuWish actuator_set_limits(const ActuatorSet *set, const ActFacts *facts, int cpu);

/* True if it is the section of an actuator. */
bool actuator_is_section(const char *section);

#endif
