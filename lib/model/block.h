/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A block: what was measured while one arm of a comparison was in effect, without the wash-out.
 */
#ifndef IDLED_BLOCK_H
#define IDLED_BLOCK_H

#include <stdbool.h>

typedef struct Block {
        bool on;
        double seconds; /* above 0 */
        double joules;  /* drawn, 0 or more */
        double work;    /* done, in any unit that is the same for all blocks, 0 or more */
        double delay;   /* seconds in which some task waited for a CPU; NAN: not known */
        double load;    /* work again, as EstimateQuery.near_work is measured; 0: the same */
        /* If the work is CPU time of tasks, else 0: */
        double cpu_seconds; /* that time, whatever the clock */
        double switches;    /* how often a CPU changed to a task; NAN: not known */
} Block;

#endif
