/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl top: what its parts share.
 */
#ifndef IDLED_TOP_H
#define IDLED_TOP_H

#include <sys/resource.h>

#include "ctl.h"
#include "estimate.h"
#include "pace.h"
#include "temperature.h"
#include "top-rows.h"

/* The machine as top sees it. */
typedef struct Top {
        Ctl *ctl;
        Watch *watch;
        PowerTable *table; /* NULL: none, or energy is measured */
        Temperatures temperatures;
        TopCpu *cpus;
        double *celsius, *estimated_watts; /* by package */
        struct rlimit descriptors;         /* the limit as found, which commands get */
        int global_fd; /* of /dev/cpu_dma_latency; -1: not opened, else negative errno */
        bool parked_known;
        uint64_t slow_usec; /* when what changes rarely was read */
        const CpuSet *only; /* NULL: all CPUs */
        TopBy by;
        GArray *rows; /* of TopRow, of the last sample */
        Pace pace;
} Top;

/* Begins to watch. Negative errno: the CPUs cannot be read. */
int top_init(Top *top, Ctl *ctl, const char *table_name);
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

/* How rows are shown on a terminal, by keys. */
typedef struct TopView {
        guint row, column; /* the first that are visible */
        int sort;          /* number of a column; -1: in the order of CPUs */
        bool reverse;
} TopView;

/* Prints the rows as a table; at most `height` lines if that is not 0. */
void top_print(const Top *top, const GArray *columns, bool fit, const TopView *view, int height);

/* The live view: until a key or a signal ends it, or `count` samples (0: no end). */
int top_live(Top *top, const char *columns, uint64_t interval_usec, uint64_t count);

/* True if standard input and output are a terminal that can be drawn on. */
bool top_can_live(const Ctl *ctl);

/* One sample as a JSON object. */
json_object *top_describe(const Top *top);

/* Runs the command in ctl->args, and measures as long as that takes. The command's exit status, as
 * of idlectl run; `*ret_seconds` and `*ret_cpu_seconds` are how long it took. False if it did not
 * run. */
bool top_command(Top *top, int *ret_status, double *ret_seconds, double *ret_cpu_seconds);

#endif
