/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab report: what a recording comes to, between its reader (report-read.c) and its document
 * (report-data.c). All of it is bounded, whatever the recording has.
 */
#ifndef IDLED_REPORT_H
#define IDLED_REPORT_H

#include "cli/json.h"
#include "reduce.h"

/* In the order of page/page.js. */
typedef enum ReportChart {
        REPORT_CPUS,
        REPORT_RESIDENCY,
        REPORT_PARKED_RESIDENCY,
        REPORT_POWER,
        REPORT_SAVED,
        REPORT_FREQUENCY,
        REPORT_WAKEUPS,
        REPORT_PRESSURE,
        REPORT_CHARTS,
} ReportChart;

typedef enum ReportKind { REPORT_LINE, REPORT_STEPS, REPORT_STACK } ReportKind;

/* Something that is drawn: the column of the samples that has its number. */
typedef struct ReportSeries {
        ReportChart chart;
        ReportKind kind;
        char *name;
        double before; /* of steps, in the sample before; NaN: not known */
} ReportSeries;

typedef struct ReportBucket {
        double from_ns, to_ns, count;
} ReportBucket;

/* Means by time, of the whole recording. */
typedef enum ReportMean {
        REPORT_MEAN_BUSY_SHARE,
        REPORT_MEAN_PARKED_CPUS,
        REPORT_MEAN_PARKED_CORES,
        REPORT_MEAN_WATTS,   /* of all packages, */
        REPORT_MEAN_WAKEUPS, /* of all CPUs; in a second */
        REPORT_MEANS,
} ReportMean;

/* What ended sleeps, on all CPUs. */
typedef struct ReportSource {
        char *name;
        double sleeps, lacked_seconds; /* lacked: to the deepest state's target residency */
} ReportSource;

#define REPORT_HISTOGRAMS 2

typedef struct ReportTime {
        double begin, end;   /* seconds since 1970 */
        double recorded;     /* seconds, without gaps */
        double shift;        /* see begin_sample() */
        unsigned steps_back; /* of the clock */
        double unread;       /* seconds of samples since the last reading of power */
} ReportTime;

/* What is not known is NaN. */
typedef struct Report {
        const char *path;
        Reduced *samples;
        GArray *series; /* of ReportSeries */
        json_object *facts, *events, *savings, *notes;
        GHashTable *sources;                   /* name: ReportSource */
        GArray *histograms[REPORT_HISTOGRAMS]; /* of ReportBucket, ascending */
        size_t events_left;                    /* that were too many */
        double transitions, cpus, cores, packages;

        GArray *states;      /* of State, the shallowest first */
        GHashTable *core_of; /* CPU + 1: number of its core + 1 */
        ReportTime time;
        double sums[REPORT_MEANS];    /* of values times seconds, */
        double weights[REPORT_MEANS]; /* and of these seconds */
        bool any_states;
} Report;

/* The histograms, which are tables of a recording and members of the document, in the order of
 * page/page.js. */
extern const char *const report_histograms[REPORT_HISTOGRAMS];

/* Reads a recording, whose plots over time get up to so many points. Returns the document about it.
 * NULL after a message. */
json_object *report_read(const char *path, size_t points);

/* What --json says, where everything may be null, and the members that only the page has. `problem`
 * is what a person must know about the file; NULL: nothing. */
json_object *report_describe(Report *report, const char *problem);

/* What only the page has, ends with NULL. */
extern const char *const report_plots[];

#endif
