/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the versions of menu share: the factors by which periods are shorter than the next timer
 * says, and the interval that the last periods repeat.
 */
#ifndef IDLED_GOVERNORS_MENU_H
#define IDLED_GOVERNORS_MENU_H

#include "governors/governor.h"

#define MENU_FACTOR    1024 /* a period as long as the timer says */
#define MENU_WEIGHT    8    /* a new period counts an eighth */
#define MENU_ONE       (MENU_FACTOR * MENU_WEIGHT)
#define MENU_INTERVALS 8
#define MENU_BUCKETS   6                 /* by the order of magnitude of the time to the timer */
#define MENU_GROUPS    2                 /* 6.1 keeps other factors while tasks wait for I/O */
#define MENU_LONG_NS   INT64_C(50000000) /* longer periods count as predicted */
#define MENU_NEVER     UINT32_MAX

typedef struct Menu {
        uint64_t timer_ns; /* to the next timer, before the last period */
        int64_t residency_ns;
        uint32_t factors[MENU_GROUPS * MENU_BUCKETS];
        uint32_t intervals_us[MENU_INTERVALS];
        uint8_t next_interval, bucket;
        int8_t last; /* state */
        bool pending, got_tick;
} Menu;

/* All factors are one, no period is known. */
void menu_init(void *state, const StateTable *table, const void *options, int cpu);

/* The bucket of a time to the timer: below 10 us, 100 us, 1 ms, 10 ms, 100 ms, and above. */
int menu_bucket(uint64_t timer_ns);

/* Takes the last period into factor and intervals, once. */
void menu_learn(Menu *menu, const StateTable *table);

/* The mean of the last intervals in us if they are alike; the longest are left out until they are
 * or are fewer than 7. MENU_NEVER if they are not, if the shortest of those left is not below
 * `below_us`, or, if that is asked for, if these are all 0. */
uint32_t menu_typical(const Menu *menu, uint32_t below_us, bool not_zeroes);

/* The same of Linux 7.3: those furthest from the mean are left out, long or short. */
uint32_t menu_typical_middle(const Menu *menu);

/* The time to the timer times the bucket's factor, in us, rounded. */
uint32_t menu_corrected(const Menu *menu);

/* False if state 0 is the only choice: a limit of 0, one state, or a state 1 that pays only after
 * the timer or is too slow while state 0 is enabled. */
bool menu_has_choice(const StateTable *table, uint64_t timer_ns, int64_t limit_ns);

/* The last step: if the CPU polls or is not expected to sleep for a tick period, the tick keeps
 * running, and the state must pay before it. */
int menu_fit_tick(const StateTable *table, int state, uint64_t length_ns, int64_t tick_ns);

void menu_reflect(void *state, const StateTable *table, const Outcome *outcome);

#endif
