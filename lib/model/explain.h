/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Explanations of decisions as text: the one formatter, for the daemon and for idlectl. All results
 * are new strings without a newline and without a full stop; pure.
 */
#ifndef IDLED_EXPLAIN_H
#define IDLED_EXPLAIN_H

#include "model/wish.h"

/* Who decided. Policies have any names, also those of the others. */
typedef enum Cause { CAUSE_POLICY, CAUSE_PAUSE, CAUSE_WINDOW, CAUSE_SAFETY } Cause;

/* Why something was decided. */
typedef struct Explanation {
        const char *policy; /* the name if a policy decided; NULL or "": nothing did */
        Reason reason;      /* empty texts count as NULL */
        const char *source; /* where reason.option is set, such as "FILE:LINE"; NULL: not known */
        Cause cause;
} Explanation;

/* "policy", "pause", "window" or "safety", "" if nothing decided; and the cause of that name,
 * CAUSE_POLICY if there is none such. */
const char *cause_text(Cause cause, const char *policy);
Cause cause_parse(const char *text);

/* The policy's name where a policy decided, "" if nothing did, else the cause's. */
const char *cause_name(Cause cause, const char *policy);

/* The state of a CPU, or of several with the same state. */
typedef struct CpuState {
        bool wanted;          /* parked by the plan */
        bool parked;          /* in fact */
        const char *since;    /* for how long, such as "3 min"; NULL: nothing of that */
        const char *obstacle; /* why it is not parked although it is wanted; NULL: not known */
} CpuState;

/* "parked 3 min ago by ondemand: the load needs fewer cores (load 0.4 CPUs); DownThreshold is 30 %
 * (/etc/idled/policies/ondemand.conf:12)", without a subject. Where plan and fact differ, as in a
 * dry run: "should be parked by ..., but tasks may still run there: OBSTACLE". */
char *explain_cpu(const CpuState *state, const Explanation *why);

/* "2-3 parked by ondemand: ...", "nothing parked while paused: ..."; `parked` in list format. */
char *explain_change(const char *parked, const Explanation *why);

/* "cstates: the deepest state within the limit (C1E 10 us); DeepestState is 50 us (FILE:LINE)". */
char *explain_reason(const Explanation *why);

/* "Requests CPUs 0-1: ..."; `online` are the CPUs that exist. Names no policy. */
char *explain_wish(const CpuSet *allowed, const CpuSet *online, const Explanation *why);

/* True if the inputs were compared with something that no option sets: the active CPUs. */
bool reason_lacks_option(const Reason *reason);

#endif
