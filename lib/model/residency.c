/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Residency: one CPU's interval split among its idle states.
 *
 * cpuidle adds a sleep to its state's `time` and `usage` when the CPU wakes, all at once. Sampled
 * every 0.1 s, a CPU that sleeps for half a second at a time shows 0, 0, 0, 0 and then 500 %.
 * /proc/stat counts a sleep while it lasts. So the two say different things about an interval, and
 * each is right about one of them: /proc/stat how long the CPU was idle in it, cpuidle in which
 * states. How long decides, and the states are made to fit:
 *
 * 1. cpuidle saw less than /proc/stat: the rest is a sleep in progress. Its state is known only
 *    when it ends. The best guess is the deepest state that a sleep ended in within the interval;
 *    without any, the guess made before (it is probably the same sleep); else the deepest state.
 *    States that are off, or that a latency limit forbids, are no guess: a sleep that ended in one
 *    began before. The row says which state was guessed.
 * 2. cpuidle saw more: one sleep began before the interval, and that part was counted then. It is
 *    taken off the state guessed before if that has so much, else off the state with the longest
 *    time, which must be the sleeper's: only one sleep can reach across the interval's beginning.
 * 3. What is still too much, or differs by less than /proc/stat's resolution, is scaled away.
 *
 * Therefore a row always adds up to 1, and over many intervals to what /proc/stat counted: no sleep
 * is credited twice.
 */
#include "model/residency.h"

/* What /proc/stat cannot see, in microseconds. */
#define RESOLUTION_USEC 10000.0

static uint64_t progress(uint64_t previous, uint64_t current)
{
        return current > previous ? current - previous : 0;
}

static uint32_t progress_u32(uint64_t previous, uint64_t current)
{
        return (uint32_t)MIN(progress(previous, current), UINT32_MAX);
}

/* Fills the counts of the row; false if the two readings are not of the same states. */
static bool count_entries(const IdleCounters *previous, const IdleCounters *current,
                          bool statistics, Residency *row)
{
        if (previous->n_states != row->n_states)
                return false;
        for (int s = 0; s < row->n_states; s++) {
                row->entered[s] = progress_u32(previous->usage[s], current->usage[s]);
                if (!statistics)
                        continue;
                row->above[s] = progress_u32(previous->above[s], current->above[s]);
                row->below[s] = progress_u32(previous->below[s], current->below[s]);
                row->rejected[s] = progress_u32(previous->rejected[s], current->rejected[s]);
        }
        return true;
}

/* The state that a sleep in progress is credited to. */
static int guess_state(const Residency *row, int n_barred, int guessed_before)
{
        int deepest = MAX(row->n_states - 1 - n_barred, 0);

        for (int s = deepest; s >= 0; s--)
                if (row->entered[s])
                        return s;
        if (guessed_before >= 0 && guessed_before <= deepest)
                return guessed_before;
        return deepest;
}

/* Takes what was slept before the interval off the state that it was slept in. */
static void take_off(double *usec, int n_states, double excess, int guessed_before)
{
        int sleeper = 0;

        for (int s = 1; s < n_states; s++)
                if (usec[s] > usec[sleeper])
                        sleeper = s;
        if (guessed_before >= 0 && guessed_before < n_states && usec[guessed_before] >= excess)
                sleeper = guessed_before;
        usec[sleeper] = MAX(usec[sleeper] - excess, 0);
}

static double sum(const double *values, int n)
{
        double total = 0;

        for (int i = 0; i < n; i++)
                total += values[i];
        return total;
}

void residency_compute(const IdleCounters *previous, const IdleCounters *current, double idle,
                       uint64_t interval_usec, bool statistics, Residency *residency)
{
        int guessed_before = residency->n_states > 0 ? residency->estimated : -1;
        double idle_usec = idle * (double)interval_usec, usec[IDLE_STATES_MAX] = { 0 }, seen;
        Residency row = { .n_states = CLAMP(current->n_states, 0, IDLE_STATES_MAX),
                          .busy = (float)(1 - idle),
                          .estimated = -1 };

        if (count_entries(previous, current, statistics, &row))
                for (int s = 0; s < row.n_states; s++)
                        usec[s] = (double)progress(previous->time_usec[s], current->time_usec[s]);

        seen = sum(usec, row.n_states);
        if (row.n_states > 0 && seen < idle_usec) {
                row.estimated = (int8_t)guess_state(&row, current->n_barred, guessed_before);
                usec[row.estimated] += idle_usec - seen;
        } else if (seen > idle_usec + RESOLUTION_USEC) {
                take_off(usec, row.n_states, seen - idle_usec, guessed_before);
        }
        seen = sum(usec, row.n_states);
        for (int s = 0; s < row.n_states; s++)
                row.share[s] = seen > 0 ? (float)(usec[s] / seen * idle) : 0;
        *residency = row;
}
