/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of Decided. Only its own files, decided.c and evaluation.c, include this; all others
 * use the functions of decided.h and evaluation.h.
 */
#ifndef IDLED_DECIDED_PARTS_H
#define IDLED_DECIDED_PARTS_H

#include "manager/decided.h"

struct Decided {
        Ground *ground;
        Seen *seen;
        const Asked *asked;
        const Done *done;
        GArray *policies; /* of ActivePolicy, by rank */
        Plan wished;      /* what the policies together requested, before CPUs were made safe */
        CpuWish *cpu_wishes[2]; /* room for those of the present plan and of the next */
        bool asking;            /* nothing more is parked until tasks and units are known */
        History *history;       /* what was parked, and why */
        struct Evaluation *evaluation;
};

#endif
