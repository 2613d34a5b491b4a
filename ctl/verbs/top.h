/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl top: what its parts share.
 */
#ifndef IDLED_TOP_H
#define IDLED_TOP_H

#include "cli/verb.h"
#include "cli/price.h"
#include "pace.h"
#include "cli/temperature.h"
#include "top-rows.h"

/* The machine as top sees it. */
typedef struct Top {
        Ctl *ctl;
        Watch *watch;
        PowerTable *table; /* NULL: none, or energy is measured */
        Temperatures temperatures;
        TopCpu *cpus;
        double *celsius, *estimated_watts; /* by package */
        int global_fd; /* of /dev/cpu_dma_latency; -1: not opened, else negative errno */
        bool parked_known;
        uint64_t slow_usec; /* when what changes rarely was read */
        const CpuSet *only; /* NULL: all CPUs */
        TopBy by;
        GArray *rows;          /* of TopRow, of the last sample */
        GArray *all;           /* columns, of TopColumn */
        GPtrArray *columns;    /* those asked for, of TopColumn; NULL: the usual ones */
        const TopColumn *sort; /* NULL: in the order of CPUs */
        Pace pace;
} Top;

/* Begins to watch. Negative errno: the CPUs cannot be read. */
int top_init(Top *top, Ctl *ctl);
void top_done(Top *top);

/* Reads, and makes the rows of the interval since the last time. Negative errno as watch_sample().
 */
int top_sample(Top *top);

/* The CPUs of a row of a core or a package, such as "0,4"; NULL for other rows. */
char *top_row_cpus(const Top *top, const TopRow *row);

/* True if there are energy counters, and only root may read them. */
bool top_needs_root(const Top *top);

/* Forgets what was before, so that the next sample is of the time from now on. */
int top_restart(Top *top);

/* What of the rows is shown. */
typedef struct TopView {
        guint row, column; /* how many are scrolled away */
        guint height;      /* room for so many rows, and the sort column moves to the front; 0: all
                              rows, and columns stay where they are */
        const TopColumn *sort;
        bool reverse;
} TopView;

/* The columns to show now: those asked for, or the usual ones. */
GPtrArray *top_columns(const Top *top);

/* Prints the rows as a table. On a terminal, the usual columns are reduced to what it has room for,
 * but not by the sort column. False if there was no room for all. */
bool top_print(const Top *top, const GPtrArray *columns, const TopView *view);

/* The live view: until a key or a signal ends it. */
int top_live(Top *top, uint64_t interval_usec);

/* True if standard input and output are a terminal that can be drawn on. */
bool top_can_live(const Ctl *ctl);

/* One sample as a JSON object. */
json_object *top_describe(const Top *top);

#endif
