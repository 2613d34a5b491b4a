/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Residency: one CPU's interval split among its idle states. The inside of snapshot_compute().
 */
#ifndef IDLED_RESIDENCY_H
#define IDLED_RESIDENCY_H

#include "model/counters.h"

/*
 * Splits `idle`, the share of the interval (0 .. 1) that the CPU was idle according to /proc/stat,
 * among the states by what the counters say; the rest is `busy`. `statistics`: the counters above,
 * below and rejected were read too. `residency` holds the row of the interval before, whose
 * estimate is remembered, or zeroes. `interval_usec` is not 0.
 */
void residency_compute(const IdleCounters *previous, const IdleCounters *current, double idle,
                       uint64_t interval_usec, bool statistics, Residency *residency);

#endif
