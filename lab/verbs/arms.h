/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arms: the two settings that idlelab prove compares, and switching from one to the other.
 *
 * What belongs to idled is changed by a trial and by holds, which end with their descriptors. Knobs
 * are changed by a sweep, which keeps the daemon's record. So nothing stays changed, however
 * idlelab ends.
 */
#ifndef IDLED_ARMS_H
#define IDLED_ARMS_H

#include "cli/verb.h"
#include "model/topology.h"

typedef enum ArmsKind {
        ARMS_NONE,
        ARMS_POLICY,  /* ignored, honoured */
        ARMS_PROFILE, /* two profiles */
        ARMS_OPTION,  /* two values of each option */
        ARMS_KNOB,    /* two values of each knob */
} ArmsKind;

/* What was asked for on the command line. */
typedef struct ArmsAsked {
        ArmsKind kind;
        GPtrArray *names;     /* of char *: policies, or what has the values: "ondemand.MinCores" */
        GPtrArray *values[2]; /* of char *, one for each name; "": as found. Not of policies */
} ArmsAsked;

/* --policy, --profile, --option and --knob, and what they took, which all of this is about. */
extern const VerbOption arms_options[];
extern ArmsAsked arms_asked;

/* "policy", "profile", "option", "knob", static. */
const char *arms_kind_text(ArmsKind kind);

typedef struct Arms Arms;

/* Finds out whether both settings are available, as far as that is known without trying. Changes
 * nothing. NULL after a message. */
Arms *arms_new(Ctl *ctl, const Topology *topology);

/* The setting, for people: "ondemand ignored", "MinCores=2", "as found". */
const char *arms_label(const Arms *arms, int arm);

/* Puts arm 0 or 1 into effect instead of the other. On failure everything is as found, and
 * `*ret_error`, a new string, says what failed. -ENOTCONN: idled is not running. */
int arms_enter(Arms *arms, int arm, char **ret_error);

/* The values that are in effect according to idled, as a new text: of the compared options, or of
 * all options if profiles are compared. NULL: they are not known, or something else is compared. */
char *arms_in_effect(const Arms *arms);

/* What policies have in effect now, as a new text: parked CPUs, knobs, the latency of all CPUs.
 * NULL: it is not known, or policies are not compared. */
char *arms_state(const Arms *arms);

/* How often the set of parked CPUs has changed since idled started; -1 as for arms_state(). */
int64_t arms_transitions(const Arms *arms);

/* A descriptor on which poll() shows POLLERR when idled has ended the trial; -1: there is none. */
int arms_descriptor(const Arms *arms);

/* Restores everything. Negative errno after a message. */
int arms_leave(Arms *arms);

void arms_free(Arms *arms);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Arms, arms_free)

#endif
