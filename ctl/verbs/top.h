/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl top: what its parts share. top-sample.c reads the machine, top-rows.c makes rows and
 * columns of that, and top-screen.c shows them.
 */
#ifndef IDLED_TOP_H
#define IDLED_TOP_H

#include "cli/verb.h"
#include "cli/price.h"
#include "pace.h"
#include "cli/temperature.h"
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

/* The machine as top sees it. */
typedef struct Top {
        Ctl *ctl;
        Watch *watch;
        PowerTable *table; /* NULL: none, or energy is measured */
        Temperatures temperatures;
        TopCpu *cpus;
        double *celsius, *estimated_watts; /* by package; watts are used where none are measured */
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

/* Brings `cpus` up to date with the sample: how long each has been asleep. */
void top_follow(Top *top);

/* Makes the rows of a sample, the machine's first, then in the order of CPU numbers. CPUs that were
 * not seen at both ends have none. */
void top_make(Top *top);

/* All columns of this machine, as an array of TopColumn. What follows returns pointers into it. */
GArray *top_columns_all(const Watch *watch);

/* Those of a list such as "CPU,Busy%,states", in its order. "states" is the shares of all states,
 * "statistics" how often each was too deep (+) or too shallow (-). NULL: `*ret_unknown`, a new
 * string, is not one. */
GPtrArray *top_columns_parse(const GArray *all, const char *list, char **ret_unknown);

/* All; without those that no row of this machine has a value for, unless `unused`. */
GPtrArray *top_columns_usual(const Top *top, bool unused);

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
