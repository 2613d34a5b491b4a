/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What was drawn in one place, by samples: the newest are kept, for how a load begins says nothing
 * about what it draws in the long run.
 */
#ifndef IDLED_WORTH_SIDE_H
#define IDLED_WORTH_SIDE_H

#include <stdbool.h>
#include <stdint.h>

#define WORTH_SAMPLE_USEC  UINT64_C(200000)   /* the shortest sample */
#define WORTH_LONGEST_USEC UINT64_C(32000000) /* so much time of samples is kept, at least */
#define WORTH_SAMPLES      (WORTH_LONGEST_USEC / WORTH_SAMPLE_USEC)

/* Time, and what was drawn and done in it. */
typedef struct WorthSample {
        double joules, usec;
        double work; /* CPUs times microseconds */
} WorthSample;

typedef struct WorthSide {
        WorthSample samples[WORTH_SAMPLES]; /* ring */
        unsigned n;         /* that there were; the newest is (n - 1) % WORTH_SAMPLES */
        WorthSample part;   /* of the next */
        uint64_t last_usec; /* end of the newest */
} WorthSide;

/* The newest samples together. */
typedef struct WorthMean {
        double usec; /* how long they are */
        double watts;
        double work;     /* CPUs */
        double variance; /* the square of the standard error of `watts`, were they independent */
} WorthMean;

/* Adds an interval that follows on the one before and ended at `now_usec`. */
void worth_side_add(WorthSide *side, const WorthSample *interval, uint64_t now_usec);

/* Drops an interval that is not long enough for a sample yet. */
void worth_side_interrupt(WorthSide *side);

/* Of the fewest of the newest samples that last `usec`, at most WORTH_LONGEST_USEC, or of all that
 * there are. All zeros: there are none. */
WorthMean worth_side_mean(const WorthSide *side, uint64_t usec);

#endif
