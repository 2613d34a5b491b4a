/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Explanations of cpufreq's choices, and of options that a machine cannot follow.
 */
#ifndef IDLED_CPUFREQ_EXPLAIN_H
#define IDLED_CPUFREQ_EXPLAIN_H

#include "cpufreq/cpufreq-choose.h"

#define TEXT_MAX 192

/* The reason of a choice for the CPUs of `policy`, of which the busiest is busy for the share
 * `busiest` of the time. `room` is for its text. */
Reason explain_item(const CpufreqOptions *options, const FreqPolicy *policy, Item item,
                    const Choice *choice, float busiest, char room[TEXT_MAX]);

/* Without cpufreq each item that an option sets has the same reason. Returns how many there are. */
int explain_none(const CpufreqOptions *options, Reason *ret_reasons);

/* The reason of the platform profile, which is all CPUs'. Returns 0 if none is requested, else 1.
 */
int explain_platform(const CpufreqOptions *options, Reason *ret_reason);

/* As IdledPolicy.unmet. */
int cpufreq_unmet(const void *options, const PolicyInput *machine, Unmet *ret_unmet, int max);

#endif
