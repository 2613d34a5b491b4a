/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decisions as sentences for people. All results are new strings without a newline; pure.
 */
#ifndef IDLED_SENTENCE_H
#define IDLED_SENTENCE_H

#include "manager/manager.h"

/* "CPU 3 is parked by ondemand: the load needs fewer cores (load 0.4 CPUs); DownThreshold is 30 %
 * (/etc/idled/policies/ondemand.conf:12)." `wanted` is what the plan says, `parked` what is so;
 * where they differ (a dry run, an error) it "should be parked ..., but nobody is kept off it:
 * OBSTACLE", without the end if `obstacle` is NULL. `why` is of an online CPU. */
char *cpu_sentence(int cpu, bool wanted, bool parked, const CpuCause *why, const char *obstacle);

/* True if the inputs were compared with something that no option sets: the CPUs in use. */
bool reason_lacks_option(const Reason *reason);

/* "cstates: the deepest state within the limit (C1E 10 us); DeepestState is 50 us (FILE:LINE)." */
char *reason_sentence(const char *policy, const Reason *reason, const Source *option_source);

/* "2-3 are parked by ondemand: ...", or "Nothing is parked: ..." if that was the end of it. */
char *transition_sentence(const Transition *transition);

/* "Wishes 0-1 in use: ..."; `online` are the CPUs that there are. */
char *wish_sentence(const Wish *wish, const CpuSet *online, const Source *option_source);

#endif
