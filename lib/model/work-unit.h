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

#endif
