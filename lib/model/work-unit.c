/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names and errors of units of work.
 *
 * Threads that share a core are busy for longer with the same work, and clocks are sampled, so busy
 * time is off by a few percent. A task that finds a CPU idle costs two switches, one that waits for
 * another costs one: packing can halve them.
 */
#include "model/work-unit.h"

#include <math.h>

static const struct {
        const char *text;
        double error;
} units[WORK_UNITS] = {
        [WORK_BUSY] = { "busy seconds", 0.03 },
        [WORK_SWITCHES] = { "10^4 context switches", 0.5 },
        [WORK_INSTRUCTIONS] = { "10^9 instructions", 0 },
        [WORK_RUNS] = { "runs", INFINITY },
};

const char *work_unit_text(WorkUnit unit)
{
        return units[unit].text;
}

double work_unit_error(WorkUnit unit)
{
        return units[unit].error;
}
