/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab prove, its parts for each other: prove.c reads the command line and keeps the schedule,
 * prove-block.c measures one block, prove-estimate.c has what is known so far, prove-answer.c the
 * answer and what people see of it.
 */
#ifndef IDLED_PROVE_H
#define IDLED_PROVE_H

#include "arms.h"
#include "bpf/bill.h"
#include "stats/estimate.h"
#include "stats/schedule.h"
#include "model/work-unit.h"
#include "meter.h"
#include "workload.h"

/* The claim cannot be tested, or measuring ended with an error. */
#define PROVE_EXIT_ERROR 3

/* Fewer pairs prove nothing. */
#define PROVE_LEAST_PAIRS 4

/* What is compared in addition to energy, each by an estimator of its own. There a block is one
 * second long and draws the quantity in joules, so power is the quantity. */
typedef enum Quantity {
        QUANTITY_POWER,      /* W, while a command runs that ends; otherwise it is the energy's */
        QUANTITY_WAITING,    /* % of the time that some task waited for a CPU */
        QUANTITY_DELAY_MEAN, /* us, of the machine's wake-ups or the probe's */
        QUANTITY_DELAY_P99,
        QUANTITY_RUN, /* seconds that one run of the command took */
        QUANTITIES,
} Quantity;

/* What was asked for; 0 and NULL: not given. */
typedef struct ProveAsked {
        uint64_t for_usec, block_usec, washout_usec, probe_usec;
        double precision; /* share of the power of the first setting */
} ProveAsked;

/* Whether policies do anything: whether what is in effect differs between the blocks of a pair. */
typedef struct ProveEffect {
        uint64_t pair;            /* the one that the rest is about */
        char *states[2];          /* arms_state() at the end of each arm's block; NULL: none yet */
        bool changed;             /* CPUs were parked or unparked in the active block */
        unsigned blocks, without; /* active blocks of whole pairs, and those without effect */
} ProveEffect;

/* What was measured so far. */
typedef struct ProveResults {
        Estimator *energy;                 /* of runs: a block is a run, and a second long */
        Estimator *quantities[QUANTITIES]; /* those that nothing was added to are empty */
        uint64_t command_drops;            /* blocks in which the command ended or failed */
        ProveEffect effect;                /* of policies */
} ProveResults;

typedef struct Prove {
        Ctl *ctl;
        const ProveAsked *asked;
        Topology *topology;
        Arms *arms;
        Meter *meter;
        Bill *bill;        /* NULL: delays are those of the probe, if there is one */
        char *bill_error;  /* then: why; NULL: a probe was asked for */
        PowerTable *table; /* NULL: none */
        Workload *load;    /* NULL: no command */
        WorkUnit unit;
        double run_seconds; /* of the last block's runs of the command */

        ScheduleOptions schedule;
        ProveResults results;
        unsigned failures;             /* blocks without energy or command, one after the other */
        uint64_t begin_usec, end_usec; /* CLOCK_MONOTONIC */

        int signals;     /* descriptor */
        int interrupted; /* by which signal */
        char *problem;   /* why measuring ended; NULL: it did not */
} Prove;

typedef enum BlockEnd {
        BLOCK_FINE,
        BLOCK_DROPPED,
        BLOCK_STOP, /* a signal, or prove->problem */
} BlockEnd;

/* Measures one block; what became of it is with the estimators then. */
BlockEnd prove_block(Prove *prove, const ScheduleSlot *slot);

/* Puts both settings into effect once. False: prove->problem says why that failed. */
bool prove_try(Prove *prove);

/* Runs the command once, to know what work is: see WorkUnit. False: prove->problem says why not, or
 * a signal came. */
bool prove_warm_up(Prove *prove);

/* The estimate as it is now, and what its power means: watts, or joules per run. */
Estimate prove_estimate(const Prove *prove);

/* Notes what is in effect at the end of a block that counts; takes `state`, which may be NULL: then
 * nothing is compared. `changed` says whether CPUs were parked or unparked in the block. */
void prove_note_effect(ProveEffect *effect, const ScheduleSlot *slot, char *state, bool changed);

/* The estimate's verdict; unknown if the settings are the same. */
Verdict prove_verdict(const Prove *prove, const Estimate *found);

/* Where the interval excludes 0, but the odds do not suffice for a verdict: how long measuring
 * takes in all, in seconds, until they do if further pairs are like those so far. Negative: not
 * known. */
double prove_verdict_seconds(const Prove *prove, const Estimate *found);

/* How much longer it takes until the interval is `half_width` to either side, in seconds; 0: it is;
 * negative: not known. */
double prove_seconds_needed(const Prove *prove, const Estimate *found, double half_width);

/* How long a pair of blocks takes, in microseconds. */
uint64_t prove_pair_usec(const Prove *prove);

/* Draws the bar on a terminal, which progress_draw(NAN, "") removes. */
void prove_progress(const Prove *prove);

/* Measuring ends with this problem. */
void prove_fail(Prove *prove, const char *format, ...) __attribute__((format(printf, 2, 3)));

json_object *prove_answer(const Prove *prove);

/* Prints the answer for people. */
void prove_show(const Ctl *ctl, json_object *answer);

#endif
