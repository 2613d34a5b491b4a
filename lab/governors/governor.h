/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An idle governor as a model: what the kernel's governors are to cpuidle, for a replay of recorded
 * idle periods. Each governor is one file and one `const Governor`; governors.h lists them.
 *
 * For each idle period of a CPU the replay calls select() and then reflect(), both with the same
 * state. Neither allocates, reads a clock or fails, and equal inputs give equal decisions.
 */
#ifndef IDLED_GOVERNORS_GOVERNOR_H
#define IDLED_GOVERNORS_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/setting.h"
#include "governors/states.h"

#define NO_LATENCY_LIMIT   INT64_C(2000000000000) /* 2000 s: what the kernel takes for none */
#define CPU_CAPACITY       1024u                  /* of every CPU; utilization is out of this */
#define GOVERNOR_STATE_MAX 1024 /* bytes a governor may have that another one is built on */

/* One idle period as the governor may know it when the CPU becomes idle. */
typedef struct Period {
        uint64_t time_ns; /* local clock at idle entry; may go backwards */
        int64_t sleep_ns; /* until the next timer, the tick left out */
        int64_t tick_ns;  /* until the next tick or that timer, what comes first */
        int64_t limit_ns; /* PM QoS exit latency limit; NO_LATENCY_LIMIT, or 0 and more */
        int64_t idle_ns;  /* how long the CPU will be idle: for `omniscient` only */
        uint32_t util;    /* 0 .. CPU_CAPACITY */
        uint32_t iowait;  /* tasks that wait for I/O */
} Period;

/* What came of it. */
typedef struct Outcome {
        int state;            /* that was entered: what select() returned */
        uint64_t time_ns;     /* local clock at the wake-up */
        int64_t residency_ns; /* as the kernel measures it: with the exit latency */
        bool got_tick;        /* the tick expired meanwhile */
        bool resched;         /* the CPU left the idle loop */
} Outcome;

typedef struct Governor {
        const char *name;        /* as --governor= takes it: "teo-6.1" */
        const Setting *settings; /* NULL: no options. "NAME:VALUE" sets the first one */
        size_t options_size;     /* of the struct that the settings' offsets are into */
        size_t state_size;       /* bytes of state a CPU, aligned as for malloc() */

        /* Whether options that are fine one by one fit the table: NULL, or what is wrong, which
         * begins with the name of an option. NULL instead of the function: any do. */
        const char *(*check)(const void *options, const StateTable *table);

        /* Makes the zeroed state of one CPU ready. NULL: zeroes are fine. `options` and `table`
         * outlive the state. */
        void (*init)(void *state, const StateTable *table, const void *options, int cpu);

        /* The state to enter, 0 .. table->n - 1. Never one that is off, nor one whose exit latency
         * is above the limit, as far as the kernel's governor keeps to that. */
        int (*select)(void *state, const StateTable *table, const Period *period);

        /* What happened after the last select(). NULL: it does not matter. */
        void (*reflect)(void *state, const StateTable *table, const Outcome *outcome);
} Governor;

#endif
