/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is decided: by which policies, with which requests, and why.
 */
#ifndef IDLED_DECIDED_H
#define IDLED_DECIDED_H

#include "manager/active-policy.h"
#include "manager/asked.h"
#include "manager/done.h"
#include "manager/history.h"
#include "idled-policy.h"

typedef struct Decided Decided;

/* Without policies. */
Decided *decided_new(Ground *ground, Seen *seen, const Asked *asked, const Done *done);
void decided_free(Decided *decided);

/* Puts policies of `config`, which is in effect next, to work in place of the old ones, whose state
 * is kept where the policy is the same. Reads what the machine offers if one of them needs it. */
void decided_use_config(Decided *decided, const Config *config);

/* What the active policies read with their present options, evaluators, and what decides which
 * profile is in effect: Sense flags. */
unsigned decided_senses(const Decided *decided);

/* The input of a policy's decide(), without `offered`. */
PolicyInput decided_input(const Decided *decided, const ActivePolicy *active);

/* The active policies by rank, one by one; NULL after the last. */
const ActivePolicy *decided_policy(const Decided *decided, unsigned i);

/* The first active policy by rank with one of these Wishes flags; NULL: there is none. */
const ActivePolicy *decided_who(const Decided *decided, unsigned wishes);

/* Calls every policy by its rank and merges their requests, or requests nothing while paused. With
 * `by_holds` it calls only those that read holds, and the others keep their last requests. True if
 * the requests are not those of the last time, or if it is time to look whether tasks that kept
 * CPUs active have ended, of which there is no event. */
bool decided_decide(Decided *decided, bool by_holds, Plan *ret_plan);

/* Makes `plan` safe; scans for pinned tasks before CPUs are parked. `notes` has room for every CPU
 * number. */
void decided_make_safe(Decided *decided, Plan *plan, const SafetyNotes *notes);

/* Why each CPU is parked or not, and the changes. */
History *decided_history(const Decided *decided);

/* True while nothing more is parked until it is known what tasks and units need. */
bool decided_is_asking(const Decided *decided);

#endif
