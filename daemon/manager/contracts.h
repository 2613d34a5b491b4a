/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Contracts of units, and the delays of their wake-ups.
 *
 * A hold with a p99 is a contract of the unit of its process, which idled follows; the tightest
 * limit of a unit's holds counts. Users' holds count only for units of their own service manager.
 * While there is a contract, the kernel has the programs of bpf/bill.h; else nothing of this takes
 * memory or time.
 */
#ifndef IDLED_CONTRACTS_H
#define IDLED_CONTRACTS_H

#include "holds/holds.h"
#include "model/contract.h"

typedef struct Contracts Contracts;

/* What is known of one contract, for as long as it has a place. */
typedef struct UnitCounts {
        uint64_t id;                /* 0: it has no place */
        unsigned limit;             /* as in Contract */
        bool over;                  /* the kernel had no room for some that may be its */
        bool early;                 /* the next reading has wake-ups of before it began */
        WakeupDelays wakeups, idle; /* counted since it began, as in Contract */
        ContractReport report;      /* the policy's last one */
        uint64_t kept, broken;      /* windows of units that are judged apart: see UnitContract */
} UnitCounts;

/* One contract, for people. That of all units without one is of each of these, too: some that are
 * late and wake up often are judged apart. Their contracts are not shown, and their windows are
 * reported as windows of all. */
typedef struct UnitContract {
        char *cgroup, *unit; /* NULL: all units without a contract */
        uint32_t limit_us;
        uint64_t hold; /* the one with this limit; 0: none */
        CpuSet cpus;
        bool apart; /* one of all units without a contract */
        bool root;  /* root or a rule requested it */
        uid_t uid;  /* else: this user */
        UnitCounts counts;
} UnitContract;

/* None yet. `proc` leads to /proc and is taken over; `n_cpus` is of the topology. */
Contracts *contracts_new(int proc, int n_cpus);
void contracts_free(Contracts *contracts);

/* Brings the contracts up to date: those of `holds` (NULL: none), and with `rest_us` one for all
 * other units. Without `fresh`, units of processes are read only once in a while. True if one came
 * or went, has another limit, or contracts_error() changed. */
bool contracts_follow(Contracts *contracts, const Holds *holds, const CpuSet *online,
                      uint32_t rest_us, bool fresh, uint64_t now_usec);

/* Adds what was counted since the last time. True if contracts_unit_error() of one changed. */
bool contracts_read(Contracts *contracts);

/* Begins to count again: what was counted is about another time, as before the machine slept, or
 * while nothing was in effect. Returns what contracts_read() does. */
bool contracts_drop(Contracts *contracts);

/* Notes what a policy found out. True if clients must know: a window is over, or another one is
 * measured or feasible. */
bool contracts_note(Contracts *contracts, const ContractReport *reports, int n);

/* What policies see, until the next call of one of the above. */
int contracts_list(Contracts *contracts, const Contract **ret_list);

/* One of those that are shown, the most important first; NULL after the last. */
const UnitContract *contracts_nth(const Contracts *contracts, unsigned i);

/* Why nothing is measured, or was last, for people; NULL: it is, or there is no contract. */
const char *contracts_error(const Contracts *contracts);

/* The same for one contract. */
const char *contracts_unit_error(const Contracts *contracts, const UnitContract *unit);

/* Why the hold's p99 has no effect, as a new string that may have private words (private-text.h);
 * NULL: it has, as far as it was noted. */
char *contracts_obstacle(const Contracts *contracts, const Held *held);

#endif
