/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The history: why each CPU is parked or not; the last changes of the set of parked CPUs, which it
 * can log; and how long each CPU was parked in all.
 */
#ifndef IDLED_HISTORY_H
#define IDLED_HISTORY_H

#include "base/cpuset.h"
#include "config/config.h"
#include "model/explain.h"
#include "model/plan.h"

/* So many changes are kept, at about 200 bytes each. */
#define HISTORY_KEPT 1000

/* One change of the set of parked CPUs. Its strings belong to the history, except those that are
 * static in a policy. */
typedef struct Transition {
        uint64_t number;    /* from 1, the first since the start */
        uint64_t time_usec; /* CLOCK_REALTIME */
        const char *parked; /* after it, in list format; "" for none */
        Cause cause;
        const char *policy; /* NULL: none */
        Reason reason;
        Source option_source;
} Transition;

/* "2-3 parked by ondemand: ...", "Nothing parked while paused: ...", as a new string. */
char *transition_explain(const Transition *transition);

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

/* How many changes had one cause; with policy "": no policy requests anything any more, or what it
 * requests is no longer in effect. */
typedef struct CauseCount {
        Cause cause;
        const char *policy; /* "" for other causes */
        uint64_t count;
} CauseCount;

typedef struct History History;

/* `now_usec` is CLOCK_MONOTONIC, here and below. */
History *history_new(int n_cpus, uint64_t now_usec);
void history_free(History *history);

/* The CPUs of `online` that are parked, and were not after the last change; or the reverse. */
CpuSet history_moved(const History *history, const CpuSet *online, const CpuSet *parked);

/* Adds a change, of the CPUs that `moved`; `number` is given here, strings are copied. Returns what
 * was added, valid until the next one is. */
const Transition *history_add(History *history, const Transition *transition, const CpuSet *moved);

/* Since when the CPU is parked or not, CLOCK_REALTIME; 0: since before the start. */
uint64_t history_since_usec(const History *history, int cpu);

/* For how long there are changes: the time since history_new(), in which the machine did not
 * sleep. */
uint64_t history_age_usec(const History *history, uint64_t now_usec);

/* Changes since the start, whether kept or not: the number of the last. */
uint64_t history_count(const History *history);

/* The change with this number, NULL if there is none or it is no longer kept. */
const Transition *history_find(const History *history, uint64_t number);

/* The changes since the start by their causes, each cause once: `*ret_counts` has as many elements
 * as are returned, valid until the next change. */
unsigned history_causes(const History *history, const CauseCount **ret_counts);

/* The present cause of the CPU, for the caller to change. Its texts are static, or
 * history_text()'s. */
CpuCause *history_cause(History *history, int cpu);

/* The same text, which lives as long as a cause of a CPU refers to it; takes `text` over. */
const char *history_text(History *history, char *text);

/* From `now_usec` (CLOCK_MONOTONIC) on, these CPUs are parked. */
void history_note_parked(History *history, const CpuSet *parked, uint64_t now_usec);

/* How long the CPU was parked until `now_usec`, in microseconds, the time now included. */
uint64_t history_parked_usec(const History *history, int cpu, uint64_t now_usec);

/* The MESSAGE_ID of these entries in the journal. */
#define DECISION_MESSAGE_ID "89d5960d4b0545049aac3412d473ac7b"

/* Logs a change at level info: into the journal with fields, if the log goes there and journald
 * listens below `root`; else as a line. */
void decision_log(int root, const Transition *transition);

#endif
