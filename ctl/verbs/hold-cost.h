/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a latency limit costs: the sleeps that it keeps shallow, at the price of the states that
 * they would have reached without it. Pure.
 *
 *  1. The limit keeps a CPU's sleeps in state H, the deepest that leaves in time. Without it, the
 *     limit of the other holds on that CPU would apply, or none.
 *  2. Only sleeps in H differ: in a shallower state the governor expected a short sleep anyway.
 *  3. The tick and the end of polling end sleeps that would have gone on in a deeper state, where
 *     the kernel stops the tick and does not poll. So lengths are multiplied by the number of
 *     sleeps in H over the number of those that something else ended.
 *  4. A sleep would have been in the deepest state that is enabled, leaves in time and whose target
 *     residency the length reaches.
 *  5. The cost is the time in H, times the difference of the prices.
 */
#ifndef IDLED_HOLD_COST_H
#define IDLED_HOLD_COST_H

#include "bpf/ledger.h"
#include "model/idle-table.h"

#define HOLD_COST_UNLIMITED UINT32_MAX

/* One CPU. */
typedef struct HoldCostCpu {
        const IdleTable *table;
        uint16_t enabled;              /* mask of states */
        double watts[IDLE_STATES_MAX]; /* the prices; NaN: not known */
        uint32_t limit_us;             /* of the hold */
        uint32_t others_us;            /* of the strictest other hold */

        const struct sleep_stats *sleeps; /* SLEEPS_STATES of them */
        uint64_t resumed[SLEEPS_STATES];  /* of these, ended by the tick or the end of polling */
        int current;                      /* state of the sleep in progress; -1: none */
        uint64_t current_ns;              /* how much of it was measured */
} HoldCostCpu;

/* The joules that the CPU used more because of the hold, 0 or more; NaN: a price is not known. */
double hold_cost_joules(const HoldCostCpu *cpu);

#endif
