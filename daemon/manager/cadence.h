/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When to tick next. Pure.
 */
#ifndef IDLED_CADENCE_H
#define IDLED_CADENCE_H

#include <stdbool.h>
#include <stdint.h>

/* How many periods ticks may be apart while nothing changes. By default that is 3 s: a third of a
 * wake-up a second. */
#define STRETCH_MAX 12

typedef struct Cadence {
        uint64_t period_usec; /* that the policies requested; 0: none did */
        bool settled;         /* the policies will decide the same while the load stays */
        bool changed;         /* this tick changed the plan, or something outside called for it */
        uint64_t most_usec;   /* how long ticks may be apart for all load watches. 0: no watch;
                                 UINT64_MAX: load that arrives will wake us */
} Cadence;

/* How many periods to wait, given that it was `stretch` before: doubles from 1 while nothing
 * changes, up to STRETCH_MAX and most_usec; 1 as soon as something does, and always when load could
 * arrive unnoticed. 0: no timer, because no policy requested a period. */
uint64_t cadence_stretch(const Cadence *cadence, uint64_t stretch);

/* The interval to the next tick, given what the period makes it (0: none) and when a policy asked
 * to be called (CLOCK_MONOTONIC; 0: none did), READING_USEC from `now_usec` at the soonest.
 * `*ret_exact`: that time is the next, so that the timer must have no slack. */
uint64_t cadence_wake(uint64_t interval_usec, uint64_t wake_at_usec, uint64_t now_usec,
                      bool *ret_exact);

/* Since when the machine has had next to nothing to do. Starts from zeroes. */
typedef struct Quiet {
        uint64_t since_usec; /* 0: it had something to do in the last interval */
} Quiet;

/* How much may be busy, in CPUs, and for how long, until the machine is called quiet. */
#define QUIET_CPUS       0.05
#define QUIET_AFTER_USEC UINT64_C(30000000)

/* Notes the interval of `interval_usec` that ended at `end_usec`, in which `busy` CPUs were busy on
 * average; the same interval again changes nothing. True if the machine is quiet. */
bool quiet_note(Quiet *quiet, uint64_t end_usec, uint64_t interval_usec, double busy);

#endif
