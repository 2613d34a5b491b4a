/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rows and columns of idlectl top: what a sample says about CPUs, cores, packages and the machine.
 */
#ifndef IDLED_TOP_ROWS_H
#define IDLED_TOP_ROWS_H

#include <glib.h>

#include "cli/watch.h"

typedef enum TopBy { TOP_BY_CPU, TOP_BY_CORE, TOP_BY_PACKAGE } TopBy;

#define TOP_LIMIT_NONE  (-1) /* no latency limit */
#define TOP_LIMIT_MIXED (-2) /* CPUs of the row have different ones */

/* What is known of each CPU beyond a sample of counters. */
typedef struct TopCpu {
        double asleep_usec; /* for how long it was seen to sleep on, in samples that ended */
        double mhz;         /* NaN: not read, because it was idle, or there is no cpufreq */
        int64_t limit_us;   /* latency limit; TOP_LIMIT_NONE */
        bool parked;
        int frequency_fd, limit_fd; /* of scaling_cur_freq and the latency limit; -1: not open */
} TopCpu;

/* What a package's sensors say; NaN: not known, or not this row's. */
typedef struct TopSensors {
        double package_watts, core_watts, dram_watts, celsius;
        bool estimated; /* `package_watts` */
} TopSensors;

typedef struct TopRow {
        int cpu, core, package; /* -1: of more than one */
        int n_cpus, first_cpu;
        double busy;                    /* 0 .. 1 */
        double share[WATCH_STATES_MAX]; /* with `busy` they add up to 1 */
        double entered[WATCH_STATES_MAX], above[WATCH_STATES_MAX], below[WATCH_STATES_MAX];
        bool estimated[WATCH_STATES_MAX]; /* a sleep in progress was credited to the state */
        double mhz;                       /* while busy; NaN: not known */
        double mhz_busy;                  /* the sum of `busy` over CPUs of which it is known */
        double wakes_per_sec;
        double sleep_usec;   /* mean; NaN: no sleep ended */
        double longest_usec; /* one sleep lasted at least as long; NaN: none is known */
        int parked;          /* how many of the CPUs; -1: not known */
        int limit_us;
        TopSensors sensors;
} TopRow;

/* What rows are made from. Arrays by package are NULL where nothing is known. */
typedef struct TopInput {
        const Watch *watch;
        const TopCpu *cpus; /* by number */
        bool parked_known;
        const double *celsius;         /* by package */
        const double *estimated_watts; /* by package; used where none are measured */
        const CpuSet *only;            /* rows of these alone; NULL: of all */
} TopInput;

/* Brings `cpus` up to date with the sample: how long each has been asleep. */
void top_follow(const Watch *watch, TopCpu *cpus);

/* Makes the rows of a sample, the machine's first, then in the order of CPU numbers. CPUs that were
 * not seen at both ends have none. `rows` (of TopRow) is reused. */
void top_make(const TopInput *input, TopBy by, GArray *rows);

typedef enum TopField {
        TOP_CPU,
        TOP_CORE,
        TOP_PACKAGE,
        TOP_BUSY,
        TOP_MHZ,
        TOP_SHARE,
        TOP_ABOVE,
        TOP_BELOW,
        TOP_WAKES,
        TOP_SLEEP,
        TOP_LONGEST,
        TOP_PARKED,
        TOP_LIMIT,
        TOP_PKG_WATT,
        TOP_COR_WATT,
        TOP_RAM_WATT,
        TOP_PKG_TMP,
} TopField;

typedef struct TopColumn {
        TopField field;
        int state; /* of TOP_SHARE, TOP_ABOVE and TOP_BELOW */
        char *title;
} TopColumn;

/* All columns of this machine, as an array of TopColumn. What follows returns pointers into it. */
GArray *top_columns_all(const Watch *watch);

/* Those of a list such as "CPU,Busy%,states", in its order. "states" is the shares of all states,
 * "statistics" how often each was too deep (+) or too shallow (-). NULL: `*ret_unknown`, a new
 * string, is not one. */
GPtrArray *top_columns_parse(const GArray *all, const char *list, char **ret_unknown);

/* Without those that no row of this machine has a value for; all if `rows` is NULL. */
GPtrArray *top_columns_usual(const Watch *watch, const GArray *all, const GArray *rows);

/* The value in the column's unit (percent, MHz, 1/s, us, W, degrees Celsius); NaN: none. */
double top_value(const TopRow *row, const TopColumn *column);

/* The same for people, a new string; ~ marks an estimate, - that there is none. */
char *top_text(const TopRow *row, const TopColumn *column);

/* True if ~ would be there. */
bool top_is_estimate(const TopRow *row, const TopColumn *column);

/* Sorts all rows behind the machine's: by the column, largest first, or by the number of the first
 * CPU if it is NULL, smallest first; the other way round if `reverse`. Those without a value come
 * last; of equal ones, the first CPU decides. */
void top_sort(GArray *rows, const TopColumn *column, bool reverse);

#endif
