/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a setting saves: blocks with it on and off in, the difference with its uncertainty out.
 *
 * The unit is the pair: an "on" and an "off" block that follow on each other, in random order
 * (schedule.h). Whatever the load does by itself is then as likely to count for as against the
 * setting, so the differences of pairs are symmetric about what is saved.
 *
 *   estimator   trimmed mean of the pairs' differences, a tenth cut off at each end (Tukey and
 *               McLaughlin 1963), after the regression of the difference in power on that in work
 *               where that makes the interval narrower (analysis of covariance)
 *   error       from the variance of the winsorised differences
 *   interval    95 %, Student's t; degrees of freedom: pairs left after trimming, minus one for
 *               each number estimated
 *   verdict     Bayes-factor t-test (Goenen et al. 2005), which may be read after every pair
 *               (Hendriksen, de Heide and Grünwald 2021): with independent pairs and no
 *               difference, at most one estimate in ESTIMATE_ODDS ever gets a verdict, half of
 *               them "saves"
 *
 * docs/evaluate.md has the reasons and what simulations found. Pure.
 */
#ifndef IDLED_ESTIMATE_H
#define IDLED_ESTIMATE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/block.h"

#define ESTIMATE_PAIRS 256 /* kept; older ones are forgotten */
#define ESTIMATE_ODDS  40.0

/* Why a block does not count. */
typedef enum BlockDrop {
        DROP_ENERGY,   /* counters wrapped, went backwards or could not be read */
        DROP_FROZEN,   /* counters did not move */
        DROP_SHORT,    /* it ended early or late */
        DROP_CONFIG,   /* options or the profile changed */
        DROP_HOLD,     /* a hold or a pause came or went */
        DROP_SLEEP,    /* the machine slept */
        DROP_HOTPLUG,  /* CPUs came or went */
        DROP_CLOCK,    /* the clock was set */
        DROP_EFFECT,   /* the requests changed, or nothing came of them */
        DROP_IDLE,     /* next to nothing was done */
        DROP_UNPAIRED, /* it counted, but its partner did not */
        BLOCK_DROPS,
} BlockDrop;

typedef struct BlockPair {
        Block arms[2]; /* 0: off, 1: on */
} BlockPair;

typedef struct Estimator {
        BlockPair pairs[ESTIMATE_PAIRS]; /* ring */
        uint64_t n_pairs;                /* ever; the newest is (n_pairs - 1) % ESTIMATE_PAIRS */
        uint64_t dropped[BLOCK_DROPS];   /* by reason, ever */
        Block half;                      /* waits for its partner; seconds 0: none does */
        uint64_t half_pair;              /* number of its pair */
} Estimator;

typedef enum Verdict {
        VERDICT_UNKNOWN, /* not known yet */
        VERDICT_SAVES,
        VERDICT_COSTS,
} Verdict;

/* A value and its 95 % interval; NAN: not known. */
typedef struct Interval {
        double value, low, high;
} Interval;

/* Which pairs to use, and how. */
typedef struct EstimateQuery {
        double work_error; /* by what share the arm itself may change the number that stands for the
                              same work: 0 for instructions, more for busy time, because threads
                              that share a core are busy for longer; INFINITY: do not use work. The
                              interval grows by what such an error would do, and if not 0 at least
                              by what the difference in work that was seen does. A larger difference
                              counts with all power of that work */
        double near_work;  /* only pairs with a load per second of a quarter to four times this; 0:
                              all */
        unsigned newest;   /* only so many of these; 0: all */
} EstimateQuery;

typedef struct Estimate {
        unsigned n_pairs;           /* that were used */
        Interval watts;             /* saved, at equal work or over equal time */
        bool equal_work;            /* which */
        double work_change;         /* share of the work per second off by which that on differs,
                                       which widens the interval; 0: it does not, or chance,
                                       work_error and overhead explain it; inf: of none */
        double overhead;            /* seconds of CPU time that a switch takes longer off than on;
                                       0: that explains no difference in work */
        Interval per_work;          /* saved share of the joules per unit of work, below 1: that of
                                       the watts, unless work_change says that the work differs */
        Interval delay;             /* share of the time that some task waited: on minus off */
        double off_watts, on_watts; /* means; they differ by `watts`, so at equal work if it is */
        double off_joules_per_work,
                on_joules_per_work; /* they differ by `per_work`; NAN: no work */
        double load; /* per second, geometric mean of the pairs with any; NAN: there are none */
        double odds; /* against there being no difference */
        Verdict verdict;
} Estimate;

/* Takes a block of pair number `pair`. A block whose partner does not come counts as dropped once
 * one of another pair comes. Blocks that make no sense (not finite, negative, no time) are dropped
 * as DROP_ENERGY. What is not known (NAN) of waiting and switches counts as 0. */
void estimator_add(Estimator *estimator, const Block *block, uint64_t pair);

/* Counts a block as dropped; one that waits for its partner goes with it. */
void estimator_drop(Estimator *estimator, BlockDrop why);

uint64_t estimator_dropped(const Estimator *estimator);

/* "the machine slept", static. */
const char *block_drop_text(BlockDrop why);

/* "saves", "costs", "unknown", static. */
const char *verdict_text(Verdict verdict);

/* The estimate from all that is kept and that the query names. With fewer than two pairs all
 * intervals are NAN; with fewer than four there is no verdict. */
Estimate estimate(const Estimator *estimator, const EstimateQuery *query);

/* How many more pairs it takes until the interval of `what` is `half_width` to either side; 0: it
 * is; negative: not known yet. Widths shrink with the square root of the number of pairs. */
double estimate_pairs_needed(const Estimate *estimate, const Interval *what, double half_width);

/* Writes numbers behind a word, each after a blank; and reads such a line. False: it is another. */
void numbers_format(GString *text, const char *word, const double *numbers, size_t n);
bool numbers_parse(const char *line, const char *word, double *ret_numbers, size_t n);

/* The state as text of several lines, for a file; a block that waits for its partner is left out.
 */
char *estimator_format(const Estimator *estimator);

/* Reads it again. -EBADMSG: that is no such text, or of another version; the estimator is untouched
 * then. */
int estimator_parse(const char *text, Estimator *ret_estimator);

#endif
