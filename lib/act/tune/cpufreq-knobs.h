/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of the cpufreq actuator: cpufreq.c is the actuator, and does what is for the whole
 * machine; cpufreq-policy.c does policies; cpufreq-found.c knows what limits were before;
 * cpufreq-knobs.c has the knobs. For these files only.
 */
#ifndef IDLED_CPUFREQ_KNOBS_H
#define IDLED_CPUFREQ_KNOBS_H

#include "act/tune/tuning.h"

/* EPP and EPB; the governor; scaling_min_freq and scaling_max_freq; what boosts; a maximum that a
 * boost of ours moves, on record as it was before. */
extern const KnobKind cpufreq_choice_kind, cpufreq_governor_kind, cpufreq_limit_kind,
        cpufreq_boost_kind, cpufreq_moved_kind;

/* What a knob of the last kind counts as having. */
#define CPUFREQ_MOVED "moved"

/* Names of knobs of policy or CPU `number`. */
void cpufreq_name(char name[TUNE_NAME], int number, const char *file);
void cpufreq_bias_name(char name[TUNE_NAME], int cpu);

/* The limits of a policy. */
#define CPUFREQ_MIN "scaling_min_freq"
#define CPUFREQ_MAX "scaling_max_freq"
#define CPUFREQ_EPP "energy_performance_preference"

/* What boosts the whole machine, if anything does. */
#define CPUFREQ_BOOST    "cpufreq/boost"
#define CPUFREQ_NO_TURBO "intel_pstate/no_turbo" /* the other way round */

/* Limits of a policy that a boost or a maximum of ours moved, in kHz; 0: not known. */
typedef struct CpufreqFound {
        uint32_t min_khz;   /* before that */
        uint32_t moved_khz; /* the maximum once boost was switched */
        uint32_t left_khz;  /* where the last boost put it and the kernel left it */
        uint32_t free_khz;  /* the highest without boost, restored after that */
} CpufreqFound;

typedef struct CpufreqState {
        ActContext context;
        TuneOptions options;
        bool excludes; /* some CPU is excluded */
        int n_cpus;
        Tuned *policies;     /* by policy number, which is that of a CPU */
        CpufreqFound *found; /* by policy number */
        CpuWish *seen;       /* the CPUs' last requests; NULL: there was none */
        bool all_known;      /* and they were all carried out */
        bool boosts_known;   /* the boosts requested last were carried out */
        int machine_boost;   /* requested last; -1 none */
} CpufreqState;

/* Carries out for `n` policies what their CPUs get together, as far as it differs from the last
 * time; limits in any case if they have `moved`. Returns the first error; what could be done is
 * done all the same. */
int cpufreq_apply_policies(CpufreqState *state, Knobs *knobs, const FreqPolicy *policies,
                           const CpuWish *wishes, int n, bool moved);

/* The directory of all CPUs, for the caller to close; negative errno. */
int cpufreq_open_dir(const ActContext *context);

/* To be called before what moves the minimum is written, boost or a maximum: remembers it, unless
 * something of ours does so already. `dir` is that directory. */
void cpufreq_remember_minimum(CpufreqState *state, const Knobs *knobs, int dir, int policy);

/* The same for the maximum of each policy, which boost moves: puts it on record. */
void cpufreq_keep_maxima(CpufreqState *state, Knobs *knobs, const ActFacts *facts);

/* To be called before a maximum of ours is restored while boost is ours. */
void cpufreq_keep_maximum(Knobs *knobs, int policy);

/* To be called after boost was written: restores the maxima where no boost is ours any more. */
void cpufreq_restore_maxima(CpufreqState *state, Knobs *knobs, const ActFacts *facts);

/* The same: moves those with boost that the kernel did not move because they were restored. */
void cpufreq_move_maxima(CpufreqState *state, Knobs *knobs, const ActFacts *facts);

/* True if boost, on or off, puts the maximum there. */
bool cpufreq_is_top(int root, int policy, uint64_t khz);

/* To be called after boost was written: notes where the maximum is now, for the first time only. */
void cpufreq_note_maximum(CpufreqState *state, int policy);

/* The limit's original, in kHz, if it has been moved from there; NULL or 0: the present value. A
 * maximum was moved only if it stands where the kernel puts it, a minimum only if it stands at the
 * maximum: otherwise a program set it. */
const char *cpufreq_found_maximum(const CpufreqState *state, const Knobs *knobs, int policy);
uint32_t cpufreq_found_minimum(const CpufreqState *state, const Knobs *knobs, int policy);

/* The policy's limit in that file, in kHz; 0 if it cannot be read. */
uint32_t cpufreq_read_limit(const ActContext *context, int policy, const char *file);

/* The first of two errors; what is not negative is none. */
int cpufreq_first_error(int a, int b);

#endif
