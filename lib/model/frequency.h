/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What cpufreq offers: facts about each of its policies, a policy being a set of CPUs that change
 * their frequency together.
 *
 * Part of what idled installs for plugins.
 */
#ifndef IDLED_FREQUENCY_H
#define IDLED_FREQUENCY_H

#include <stdbool.h>

#include "base/cpuset.h"

typedef struct FreqPolicy {
        int number;  /* of /sys/devices/system/cpu/cpufreq/policyN */
        CpuSet cpus; /* that are online and share it */
        char driver[32];
        char **governors;   /* that may be written now, NULL-terminated, never NULL */
        char **preferences; /* energy_performance_preference's words, the same; empty: none */
        uint32_t min_khz, max_khz; /* cpuinfo's: what the hardware can do */
        uint32_t *frequencies; /* kHz that can be set, ascending, ended by 0; NULL: all between */
        uint32_t base_khz;     /* without boost; 0: not known */
        bool has_bias;         /* energy_perf_bias (EPB) is there for its CPUs */
        bool has_boost;        /* boost can be switched, for it or for the machine */
} FreqPolicy;

#endif
