/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of the cpufreq actuator: cpufreq.c is the actuator, and does what is for the whole
 * machine; cpufreq-policy.c does policies; cpufreq-knobs.c has the knobs. Of no use to anybody
 * else.
 */
#ifndef IDLED_CPUFREQ_KNOBS_H
#define IDLED_CPUFREQ_KNOBS_H

#include "act/tuning.h"

/* EPP and EPB; the governor; scaling_min_freq and scaling_max_freq; what boosts. */
extern const KnobKind cpufreq_choice_kind, cpufreq_governor_kind, cpufreq_limit_kind,
        cpufreq_boost_kind;

/* Names of knobs of policy or CPU `number`. */
void cpufreq_name(char name[TUNE_NAME], int number, const char *file);
void cpufreq_bias_name(char name[TUNE_NAME], int cpu);

/* The limits of a policy. */
#define CPUFREQ_MIN "scaling_min_freq"
#define CPUFREQ_MAX "scaling_max_freq"

/* What boosts the whole machine, if anything does. */
#define CPUFREQ_BOOST    "cpufreq/boost"
#define CPUFREQ_NO_TURBO "intel_pstate/no_turbo" /* the other way round */

typedef struct CpufreqState {
        ActContext context;
        TuneOptions options;
        bool excludes; /* some CPU is excluded */
        int n_cpus;
        Tuned *policies;   /* by policy number, which is that of a CPU */
        uint32_t *maxima;  /* by policy number, in kHz, as before a boost of ours; 0: not known */
        CpuWish *seen;     /* the CPUs' wishes as of the last time; NULL: there was none */
        bool all_known;    /* and they were all carried out */
        bool boosts_known; /* the boosts wished last were carried out */
        int machine_boost; /* wished last; -1 none */
} CpufreqState;

/* Carries out for `n` policies what their CPUs get together, as far as it differs from the last
 * time; limits in any case if they have `moved`. Returns the first error; what could be done is
 * done all the same. */
int cpufreq_apply_policies(CpufreqState *state, Knobs *knobs, const FreqPolicy *policies,
                           const CpuWish *wishes, int n, bool moved);

/* True if a boost of the policy is ours, so that its limits may not be what was found. */
bool cpufreq_is_boosted(const Knobs *knobs, int policy);

/* The policy's limit in that file, in kHz; 0 if it cannot be read. */
uint32_t cpufreq_read_limit(const ActContext *context, int policy, const char *file);

/* The first of two errors; what is not negative is none. */
int cpufreq_first_error(int a, int b);

#endif
