/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The controller of contracts: pure, with the time and all that was measured in its input.
 */
#ifndef IDLED_CONTRACT_CONTROLLER_H
#define IDLED_CONTRACT_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/contract.h"
#include "model/idle-table.h"

#define CONTRACT_SHARE          0.01 /* of wake-ups may be late */
#define CONTRACT_WINDOW_USEC    UINT64_C(10000000)
#define CONTRACT_WINDOW_WAKEUPS 200

typedef struct ControlInput {
        uint64_t now_usec;
        bool effect;           /* the last setting was in effect since the last call */
        int n_cores;           /* that may be active */
        int active_cores;      /* that are, where others may keep more than the setting; else 0 */
        double cpus_per_core;  /* 1 or more */
        double work;           /* CPUs that were busy since the last call */
        double starts_per_sec; /* of tasks on CPUs, to guess how long one runs; 0: not known */
        bool can_speed;        /* CPUs can be kept at their highest frequency */
        const IdleTable *idle; /* of the CPU with the most states; NULL: none */
        const Contract *contracts;
        int n_contracts;
} ControlInput;

/* Wake-ups since a moment, and those that took longer than the contract's limit. */
typedef struct Tally {
        double n, late;
        double late_idle; /* of `late`: the CPU left an idle state */
} Tally;

typedef struct ContractState {
        ContractReport report; /* but for the setting */
        double limit_us;
        Tally read;                      /* all that was counted */
        Tally window, recent;            /* in this window; of that, at this setting */
        Tally here;                      /* at this setting with this load */
        Tally left;                      /* the same at the setting that was lowered last */
        WakeupDelays begin;              /* all that was counted when this window began */
        WakeupDelays arrived;            /* the same for this setting */
        uint64_t begin_usec, since_usec; /* this window began, the contract did */
        bool apart;                      /* of a unit that the first contract counts, too */
        double failed_work;              /* of the machine, when it became infeasible */
} ContractState;

/* True if the contract has a part in the setting. */
static inline bool contract_votes(const ContractState *c)
{
        return c->report.measured && !c->report.infeasible;
}

#define CONTRACT_FAILURES 4

/* A setting that failed is not tried again before a time, unless the load decreases. */
typedef struct Failure {
        int at;
        double work;
        uint64_t until_usec;
        unsigned patience;
} Failure;

typedef struct LeftSetting {
        int cores, state;
        bool fast;
        uint64_t usec; /* it was in effect for */
} LeftSetting;

typedef struct Controller {
        ContractState contracts[CONTRACTS_MAX];
        int n_contracts;
        int n_cores;      /* of the machine; 0: nothing was decided yet */
        int cores;        /* active ones requested; 0: no request */
        int active;       /* at the last call, where others may keep more */
        int state;        /* the deepest idle state; -1: any */
        bool fast;        /* CPUs stay at their highest frequency */
        uint64_t decides; /* the contract because of which the setting is not lower; 0: none */
        uint64_t seen_usec, changed_usec;
        uint64_t held_usec;       /* at this setting before it was lowered in vain */
        LeftSetting left;         /* that was lowered last */
        bool raised, lowered;     /* the last change */
        bool full;                /* it was raised because all active CPUs were full */
        uint64_t full_since_usec; /* they are since then; 0: they are not */
        double work, changed_work;
        Failure failed_cores[CONTRACT_FAILURES], failed_state, failed_slow;
} Controller;

/* Brings the setting up to date with what was measured. */
void controller_step(Controller *self, const ControlInput *input);

/* True while it needs the next call soon. */
bool controller_is_busy(const Controller *self, uint64_t now_usec);

/* True if all contracts are kept with good odds, and none is late in this window: calls that are a
 * quarter of a window apart suffice. */
bool controller_is_sure(const Controller *self, uint64_t now_usec);

#endif
