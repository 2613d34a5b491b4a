/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sleep ledger: what the CPUs' sleeps were like, and what ended them, counted by BPF programs
 * in the kernel while a Ledger is open.
 *
 * libbpf and the programs are in a module of their own, so that neither idled nor idlectl maps them
 * unless a ledger is asked for, and both work where the module is not installed.
 */
#ifndef IDLED_LEDGER_H
#define IDLED_LEDGER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/sleeps.h"

#define LEDGER_ABI 1

typedef struct Ledger Ledger;

/* Per CPU, up to `n_cpus`; CPUs behind count as 0. */
typedef struct LedgerCpu {
        uint32_t polling;    /* mask of the states that poll, which end by themselves */
        uint64_t deepest_ns; /* target residency of the deepest state that is enabled; 0: unknown */
        uint64_t limit_ns;   /* of wake-up latency, for `violations`; 0: none */
        int64_t latency_us;  /* PM QoS limit of its sleep; -1: none. Only for kernels where the
                              * programs cannot see it. */
} LedgerCpu;

typedef struct LedgerConfig {
        bool causes;    /* what ended the sleeps */
        bool latencies; /* how late timers and wake-ups came */
        bool records;   /* every single sleep; its cause by kind, with `causes` in full */
        int n_cpus;
        const LedgerCpu *cpus; /* read while opening */
} LedgerConfig;

/* What ended `value.count` sleeps of a CPU in a state. Texts are NULL where there is none. */
typedef struct LedgerCause {
        int cpu, state;
        enum cause_kind kind;
        int irq; /* -1: none */
        const char *function, *name, *unit;
        struct cause_value value;
} LedgerCause;

/* Everything since the ledger was opened; valid until the next call. */
typedef struct LedgerTotals {
        uint64_t duration_ns;
        uint64_t unpaired;                   /* sleeps whose begin was not seen; not counted */
        uint64_t records_lost;               /* for which there was no room */
        int n_cpus;                          /* possible ones */
        const struct sleep_stats *sleeps;    /* n_cpus times SLEEPS_STATES */
        const struct sleep_stats *latencies; /* n_cpus */
        const struct sleeper *current;       /* n_cpus: see sleep_goes_on() */
        uint64_t now_ns;                     /* when `current` was taken */
        const LedgerCause *causes;           /* their counts sum to those of the sleeps */
        size_t n_causes;
} LedgerTotals;

typedef void (*LedgerRecord)(const struct sleep_record *record, const LedgerCause *cause,
                             void *data);

typedef struct LedgerBackend {
        unsigned abi;

        /* Loads and attaches the programs. Negative errno, and in `*ret_error` a new string with
         * what is missing and what helps. */
        int (*open)(const LedgerConfig *config, Ledger **ret_ledger, char **ret_error);

        /* What of it this kernel cannot do, as a new string; NULL if nothing. */
        char *(*missing)(const Ledger *ledger);

        void (*read)(Ledger *ledger, LedgerTotals *ret_totals);

        /* Takes the sleeps that are recorded, in no particular order: all that are over, except for
         * each CPU's last. Returns a time (monotonic, ns): of those that began before it, sleeps
         * of more than 60 s excepted, none will come any more. */
        uint64_t (*take)(Ledger *ledger, LedgerRecord take, void *data);

        /* Removes the programs; then read() and take() have every sleep that is over. */
        void (*stop)(Ledger *ledger);
        void (*close)(Ledger *ledger);
} LedgerBackend;

/* True if the CPU slept when the record was taken. */
static inline bool sleep_goes_on(const struct sleeper *s)
{
        return s->entered_ns && !s->left_ns;
}

/* The module below `directory`, loaded once; the environment's IDLED_LEDGER_DIR comes first, for a
 * build that is not installed. NULL, and in `*ret_error` why as a new string. */
const LedgerBackend *ledger_backend(const char *directory, char **ret_error);

/* Pure. NaN where there is nothing. */
double sleep_mean_ns(const struct sleep_stats *stats);
double sleep_deviation_ns(const struct sleep_stats *stats); /* standard, of the population */
/* The length that `share` (0 .. 1) of the sleeps do not exceed, within the width of its bucket: at
 * most 25 %. */
double sleep_percentile_ns(const struct sleep_stats *stats, double share);
/* How many are longer, by buckets: those of the limit's own count in proportion. */
double sleep_longer_than(const struct sleep_stats *stats, uint64_t ns);
void sleep_stats_merge(struct sleep_stats *into, const struct sleep_stats *from);
/* Where bucket `i` begins. */
uint64_t sleep_bucket_begin(unsigned i);

/* A cause for people, as a new string: "timer tick_nohz_handler", "IRQ 24 virtio0-input.0". */
char *ledger_cause_text(const LedgerCause *cause);
/* The kind alone, for programs: "timer", "irq". */
const char *ledger_kind_text(enum cause_kind kind);

#endif
