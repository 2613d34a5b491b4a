/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A contract, as policies see it: of the wake-ups of a unit's tasks at most 1 % may take longer
 * than its limit from being woken until they run. daemon/manager/contracts.h knows whose it is.
 *
 * Part of what idled installs for plugins.
 */
#ifndef IDLED_CONTRACT_H
#define IDLED_CONTRACT_H

#include <stdbool.h>

#include "base/cpuset.h"
#include "model/wakeups.h"

#define CONTRACTS_MAX WAKEUPS_LIMITS

/* The longest limit, which the delays that are counted exceed. */
#define CONTRACT_LIMIT_MAX_US 10000000u

typedef struct Contract {
        uint64_t id; /* counts from 1, never used twice */
        double limit_us;
        const WakeupDelays *wakeups; /* counted since it began; NULL: they are not measured */
        const WakeupDelays *idle;    /* of these, those for which a CPU left an idle state */
        CpuSet cpus;                 /* the online CPUs that its tasks may run on */
        bool rest;                   /* of all units that have no contract, as if they were one: the
                                      * first of the list; any other one: of one of these units */
        unsigned limit;              /* which of the counts in `late` is that of its limit */
} Contract;

/* What a policy found out about a contract. */
typedef struct ContractReport {
        uint64_t id;
        bool measured;
        bool infeasible;       /* late with everything active, too: nothing is done for it */
        double best_us;        /* the p99 then; 0: it is feasible */
        double p99_us;         /* of the last whole window; 0: none yet */
        double wakeups;        /* in that window */
        uint64_t kept, broken; /* windows */
        unsigned cores;        /* active ones that the policy requests; 0: no request */
        int32_t latency_us;    /* idle states that it permits; -1: any */
        bool fast;             /* it keeps CPUs at their highest frequency */
} ContractReport;

#endif
