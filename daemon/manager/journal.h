/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The journal: why each CPU is parked or not, and the changes of the set of parked CPUs
 * (history.h).
 */
#ifndef IDLED_JOURNAL_H
#define IDLED_JOURNAL_H

#include "manager/history.h"
#include "model/explain.h"
#include "model/plan.h"

/* Why a CPU is parked or not, as decided when that last changed. */
typedef struct CpuCause {
        Cause cause;
        const char *policy; /* name if that is a policy; NULL: no policy requested anything */
        Reason reason;
        Source option_source; /* of reason.option */
        Safety safety;        /* SAFETY_NONE: as the policies requested */
        bool ignored;         /* what the policy requests is not done, to save energy or to measure
                                 what it saves */
} CpuCause;

typedef struct Journal Journal;

/* `now_usec` as history_new(). */
Journal *journal_new(int n_cpus, uint64_t now_usec);
void journal_free(Journal *journal);

/* The cause of the CPU, for the caller to change. Its texts are static, or journal_text()'s. */
CpuCause *journal_cause(Journal *journal, int cpu);

/* The same text, which lives as long as a cause refers to it; takes `text` over. */
const char *journal_text(Journal *journal, char *text);

/* The changes; they copy the texts of their causes. */
History *journal_history(Journal *journal);

#endif
