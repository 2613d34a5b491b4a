/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the work of a block is counted in. The daemon and idlectl take the first that there is
 * (docs/evaluate.md): for a command its runs or instructions, else busy time by the clock, and
 * where clocks cannot be read, context switches.
 */
#ifndef IDLED_WORK_UNIT_H
#define IDLED_WORK_UNIT_H

#define WORK_SWITCHES_EACH 1e4

typedef enum WorkUnit {
        WORK_BUSY,         /* seconds of the fastest CPU at its highest clock */
        WORK_SWITCHES,     /* WORK_SWITCHES_EACH context switches of the whole machine */
        WORK_INSTRUCTIONS, /* 10^9, of a command */
        WORK_RUNS,         /* of a command */
        WORK_UNITS,
} WorkUnit;

/* "busy seconds", static. */
const char *work_unit_text(WorkUnit unit);

/* By what share a setting may change the number for the same work (EstimateQuery). */
double work_unit_error(WorkUnit unit);

/* The most busy seconds in a second that may be left undone while so many CPUs are `busy` and do
 * `work`, of `n_cpus`, and tasks wait for the share `pressure` of the time (NAN: not known, then
 * the result is INFINITY): what busy CPUs could do alone on their cores at the highest clock of the
 * fastest CPU, and what all others could do while a task waits. Work that a setting does not do
 * without leaving any undone is less overhead, not less work. */
double work_undone(double busy, double work, double pressure, int n_cpus);

#endif
