/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idled-policy.h: how to write a policy for idled.
 *
 * A policy is a shared module in the plugin directory (pkg-config --variable=policydir
 * idled-policy) that exports one object, `const IdledPolicy idled_policy`. Deciding is pure: a
 * policy does no I/O, reads no clock, allocates nothing, calls nothing but libc's pure functions
 * and libm; everything it may know is in its input, everything it requests is in its Wish. So the
 * same code runs in the daemon, in a replay and in a test. See idled-policy(7).
 */
#ifndef IDLED_POLICY_H
#define IDLED_POLICY_H

#include "base/cpuset.h"
#include "base/setting.h"
#include "model/contract.h"
#include "model/frequency.h"
#include "model/hold.h"
#include "model/idle-table.h"
#include "model/snapshot.h"
#include "model/topology.h"
#include "model/wish.h"

/* Grows when a module of an older header would no longer work, or would read something else. A new
 * SENSE_ flag with fields at the end of Snapshot is no such change: modules check `have` first. */
#define IDLED_POLICY_ABI 9

/* What a policy requests in addition to `allowed`; idled prepares no more than that. */
enum {
        WISHES_CPUS = 1 << 0,     /* it fills wish->cpus */
        WISHES_BY_HOLDS = 1 << 1, /* it reads input->holds. When a hold comes or goes idled calls it
                                     at once, with the snapshot of the last call; other policies
                                     keep their last requests */
        WISHES_BESIDE_HOLDS = 1 << 2, /* it is asked at once, too, but only keeps out of holds' way:
                                         it does nothing for them */
        WISHES_NAMED_CPUS = 1 << 3,   /* the administrator named the CPUs of wish->allowed: while a
                                         program starts or a person types, idled keeps the others
                                         parked all the same */
        WISHES_BY_CONTRACTS = 1 << 4, /* it reads input->contracts, and has contracts() */
};

#define EXPLAIN_MAX 7
#define FIGURES_MAX 8

/* Something that a policy counted or computed, for people and programs. */
typedef struct Figure {
        const char *name; /* "correct predictions" */
        const char *unit; /* "" for a count, "%", "us" */
        double value;
} Figure;

/* Something that options request and the machine does not offer. */
typedef struct Unmet {
        const char *key; /* of the option */
        char text[192];  /* goes on after "which ": "is not offered here, expected one of a, b" */
} Unmet;

typedef struct PolicyInput {
        const Topology *topology; /* changes between calls when CPUs come and go; n_cpus never */
        const Snapshot *snapshot; /* since the last call of any policy */
        const CpuSet *allowed;    /* active CPUs, after what was made safe or could not be done */
        bool effect; /* what this policy requests takes effect; false: idled ignores it, either for
                        some seconds to measure what it saves or because it was found to cost
                        energy. Outside trials of clients only requests with `for_saving` are
                        ignored */
        const CpuSet *offered;       /* CPUs that no policy of higher rank takes away; NULL: all */
        const IdleTable *idle;       /* by CPU number; NULL: the machine has no idle states */
        const FreqPolicy *frequency; /* NULL: the machine has no cpufreq */
        int n_frequency;             /* how many */
        const Hold *holds;           /* what applications hold now, n_holds of them */
        int n_holds;
        const void *options;       /* this policy's options, read by its settings */
        const CpuSet *kept;        /* CPUs that policies of higher rank keep active; NULL: none */
        const Contract *contracts; /* n_contracts of them, CONTRACTS_MAX at most */
        int n_contracts;
        unsigned contract_cores; /* as policies of higher rank request; 0: none did */
} PolicyInput;

typedef struct IdledPolicy {
        uint32_t abi;            /* IDLED_POLICY_ABI */
        const char *name;        /* as the module's file: "ondemand" is ondemand.so */
        const char *summary;     /* one line for people, no full stop */
        const Setting *settings; /* of NAME.conf's section [Policy]; ends with a row without key */
        size_t options_size;     /* of the struct that the settings' offsets are into */
        size_t state_size;       /* of the private state that init() and decide() are given */
        unsigned wishes;         /* WISHES_ flags */
        unsigned needs;          /* Sense flags that decide() reads in addition to SENSE_LOAD */

        /* Sense flags that decide() reads in addition to those with these options: idled does not
         * read what only a disabled option needs. NULL: none. */
        unsigned (*reads)(const void *options);

        /* Looks at options that are fine one by one but may contradict each other. NULL: they fit;
         * else what is wrong, a static text such as "is greater than MaxCores", and the key of the
         * option to blame. NULL instead of the function: any options fit together. */
        const char *(*check)(const void *options, const char **ret_key);

        /* Writes what `options` request and no CPU of the machine offers into `ret_unmet` (room for
         * `max`). Returns how many. NULL: they request nothing that a machine may lack. In the
         * input, topology, idle, frequency and n_frequency are set. */
        int (*unmet)(const void *options, const PolicyInput *machine, Unmet *ret_unmet, int max);

        /* Makes the zeroed `state` ready. NULL: zeroes are fine. */
        void (*init)(void *state, const Topology *topology);

        /* Fills `wish`, which comes without any request. Called when the period that it requested
         * is over, and also earlier: any call may be the first after a change of options, topology
         * or load. The time is input->snapshot->time_usec. */
        void (*decide)(void *state, const PolicyInput *input, Wish *wish);

        /* Why the last decision requested what it did for `cpu` in addition to `allowed`, each part
         * with its own reason, into `ret_reasons` (room for EXPLAIN_MAX). Returns how many. NULL:
         * nothing to say. Called only on a client's query, for CPUs that are online. The input is
         * that of the last decision or newer; texts may lie in it or in the state, and are used at
         * once. */
        int (*explain)(const void *state, const PolicyInput *input, int cpu, Reason *ret_reasons);

        /* What the policy counted for `cpu` since it began, into `ret_figures` (room for
         * FIGURES_MAX). Returns how many. NULL: nothing. Called only on a client's query. */
        int (*figures)(const void *state, int cpu, Figure *ret_figures);

        /* What the policy found out about each of the contracts of the last decision, into
         * `ret_reports` (room for CONTRACTS_MAX). Returns how many. Called only with
         * WISHES_BY_CONTRACTS. */
        int (*contracts)(const void *state, ContractReport *ret_reports);
} IdledPolicy;

/* What a module defines, and the only thing that it needs to export. */
extern __attribute__((visibility("default"))) const IdledPolicy idled_policy;

#endif
