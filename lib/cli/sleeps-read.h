/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where idlectl has sleeps from: the ledger, loaded here or by idled, else the kernel's counters.
 */
#ifndef IDLED_SLEEPS_READ_H
#define IDLED_SLEEPS_READ_H

#include "bpf/ledger.h"
#include "model/idle-table.h"
#include "cli/verb.h"

typedef enum SleepsSource {
        SLEEPS_LEDGER, /* BPF programs that this process has loaded */
        SLEEPS_DAEMON, /* those of idled */
        SLEEPS_SYSFS,  /* cpuidle's counters: numbers and means of sleeps, nothing else */
} SleepsSource;

typedef struct SleepsReader SleepsReader;

typedef struct Sleeps {
        SleepsSource source;
        const char *why;         /* there is no ledger, and what helps; NULL: there is */
        const char *missing;     /* what of it the kernel cannot do; NULL: nothing */
        const IdleTable *tables; /* by CPU, totals.n_cpus */
        LedgerTotals totals;
} Sleeps;

/* Begins. `limits_ns` are latency limits by CPU (NULL: none) and make it watch latencies. Never
 * fails: something can always be read. */
SleepsReader *sleeps_begin(Ctl *ctl, const uint64_t *limits_ns, int n_limits);

SleepsSource sleeps_source(const SleepsReader *reader);

/* Ends the measurement; valid until sleeps_free(). */
const Sleeps *sleeps_end(SleepsReader *reader);

void sleeps_free(SleepsReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SleepsReader, sleeps_free)

/* What a ledger needs of each CPU, as a new array. */
LedgerCpu *sleeps_cpus(int root, const IdleTable *tables, int n_cpus);

/* How many CPUs the machine may have: the highest number and 1. */
int sleeps_possible_cpus(int root);

/* How long to measure: --seconds, else 10 s; and that option alone, 0: not given. */
uint64_t sleeps_usec(void);
extern double sleeps_asked;

/* What takes that option, in its row. */
#define SLEEPS_SECONDS                                                                             \
        .real = &sleeps_asked, .least = 0.1, .most = 86400, .expected = "a number from 0.1 to 86400"

#endif
