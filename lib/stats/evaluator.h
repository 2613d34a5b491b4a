/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The evaluator of one policy: when its requests are honoured, when they are ignored to measure
 * what they save, and what that was. docs/evaluate.md has the reasons. Pure: the manager reads the
 * machine (evaluation.c), tests let a virtual time pass.
 *
 *  1. The arm that rests is "on": requests are honoured. Once they were found to cost energy, or to
 *     do so more likely than not, it is "off", if the administrator lets idled back off.
 *  2. A trial is a pair of blocks, one of each arm (schedule.h). Blocks without work are dropped,
 *     so no trial begins if the last work is longer ago than two trials take. While the budget
 *     lasts, the next trial begins at once if the present load has fewer than four pairs, if the
 *     interval excludes 0 without a verdict yet, or if the last pair contradicts the verdict.
 *     Otherwise a gap of random length comes first, and gaps double once there is a verdict. A
 *     verdict of the latest eight pairs overrules that of more.
 *  3. Budget. Three quarters of the duty's share of an hour may be spent at once on the arm that
 *     does not rest, and one quarter comes back evenly in the course of the hour: no hour sees more
 *     than the duty. A trial that takes longer waits until enough of it came back.
 *  4. An estimate holds for similar loads: it uses the pairs with a quarter to four times the
 *     present work. Another load has a verdict of its own. If the work of these pairs is k times
 *     the present work, or 1/k, each end of the interval moves outwards by the factor k.
 *  5. What happens in the middle of a block drops it, with the reason, and ends the trial.
 *  6. Energy that cannot be read ends trials for an hour.
 */
#ifndef IDLED_EVALUATOR_H
#define IDLED_EVALUATOR_H

#include "base/setting.h"
#include "model/energy-source.h"
#include "stats/estimate.h"
#include "stats/schedule.h"
#include "model/work-unit.h"

/* Section [Evaluate] of idled.conf. */
typedef struct EvaluateOptions {
        bool trials;   /* requests may be ignored to measure; false: always honoured */
        bool back_off; /* and where they cost energy they are ignored */
        /* Constants, which the manager sets: */
        uint64_t block_usec, washout_usec;
        double duty; /* the most of an hour that trials take, 0 to 1 */
        /* An option again: */
        char *power_table; /* its name, for machines without RAPL; "": none */
} EvaluateOptions;

extern const Setting evaluate_settings[];

/* The trial that goes on, or the next. */
typedef struct EvaluatorTrial {
        uint64_t pair;       /* its number */
        uint64_t start_usec; /* 0: none goes on */
        ScheduleSlot slot;
        uint64_t due_usec; /* end of the slot */
        bool rest_on;      /* the arm that rested when it began */
} EvaluatorTrial;

/* How much time trials may take. */
typedef struct EvaluatorBudget {
        uint64_t next_usec; /* no trial before this */
        double usec;        /* NAN: it was never filled */
        uint64_t away_usec; /* since an instance before this one: a part has come back */
} EvaluatorBudget;

typedef struct Evaluator {
        Estimator estimator;
        uint64_t seed;
        WorkUnit unit; /* of all its work */
        EvaluatorTrial trial;
        EvaluatorBudget budget;
        unsigned n_without; /* blocks in a row without energy */
        unsigned n_idle;    /* and without load */

        uint64_t seen_usec;   /* when time last passed; 0: never */
        bool active;          /* there were requests then, and they took effect */
        double load;          /* work per second, filtered */
        uint64_t worked_usec; /* the end of the last interval with work */

        Estimate found; /* for loads like `found_load` */
        double found_load;
        uint64_t found_pairs; /* that were there then */

        Interval saved_joules;
        double unvalued_sec; /* in effect before there was an estimate */
        double effective_sec, total_sec;
} Evaluator;

/* What one call sees. */
typedef struct EvaluatorView {
        uint64_t now_usec; /* CLOCK_MONOTONIC, not 0 */
        bool wanted;       /* the policy has requests that serve to save energy */
        bool possible;     /* what it requests takes effect when honoured, energy can be read,
                              and nothing else keeps from trials */
        double work;       /* per second, now */
        bool idle;         /* it is honoured, and yet nothing comes of its requests: nothing is
                              saved meanwhile */
} EvaluatorView;

void evaluator_init(Evaluator *evaluator, uint64_t seed);

/* Time has passed; begins a trial if it is time for one. Call it in every tick. */
void evaluator_pass(Evaluator *evaluator, const EvaluateOptions *options,
                    const EvaluatorView *view);

/* When evaluator_step() is due; UINT64_MAX: no trial goes on. */
uint64_t evaluator_due(const Evaluator *evaluator);

/* A slot of the trial is over: `measured` is what was read since the call before this one, or since
 * the trial began, whatever its arm; joules NAN: energy could not be read. */
void evaluator_step(Evaluator *evaluator, const EvaluateOptions *options, uint64_t now_usec,
                    const Block *measured);

/* What was measured in the block that goes on is of no use: ends the trial, if one goes on. */
void evaluator_interrupt(Evaluator *evaluator, const EvaluateOptions *options, BlockDrop why,
                         uint64_t now_usec);

/* True if the policy's requests take effect now. */
bool evaluator_is_on(const Evaluator *evaluator, const EvaluateOptions *options);

/* True while requests are ignored, or honoured, for no more than to measure. */
bool evaluator_is_trying(const Evaluator *evaluator);

/* Share of the time, in which there were requests or not, that they were in effect; NAN: no time
 * has passed. */
double evaluator_effective_share(const Evaluator *evaluator);

/* Saved since measuring began; NAN while there is no estimate. */
Interval evaluator_saved_joules(const Evaluator *evaluator);

/* The state as text, for a file: `source` and `n_cpus` identify the machine. */
char *evaluator_format(const Evaluator *evaluator, EnergySource source, int n_cpus);

/* Reads it again. -EBADMSG: that is no such text; -ESTALE: it is of another machine, or measured by
 * something else or in another unit of work. The evaluator is untouched then. */
int evaluator_parse(const char *text, EnergySource source, int n_cpus, Evaluator *evaluator);

#endif
