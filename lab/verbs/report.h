/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab report: what a recording comes to, between its reader (report-read.c) and the page
 * (report-page.c). All of it is bounded, whatever the recording has.
 *
 * Everything here may be missing: a number is NaN, a text NULL, a list empty.
 */
#ifndef IDLED_REPORT_H
#define IDLED_REPORT_H

#include "cli/verb.h"
#include "recording/read.h"
#include "reduce.h"

/* More recordings than this are not next to each other on any screen. */
#define REPORT_MOST 8

/* How many elements of a list are kept. */
#define REPORT_EVENTS  300 /* the last */
#define REPORT_SOURCES 20  /* those that ended most sleeps */
#define REPORT_SERIES  8   /* of a chart, */
#define REPORT_STACKS  34  /* without those of idle states */

#define REPORT_NO_COLUMN SIZE_MAX

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

/* Something that is drawn: a column of `samples`. */
typedef struct ReportSeries {
        ReportChart chart;
        ReportKind kind;
        char *name;
        size_t column;
        size_t low, high; /* columns of an interval around it; `column`: its band is from the least
                           * to the greatest of the samples that a point unites */
} ReportSeries;

typedef struct ReportBucket {
        double from_us, to_us, count;
} ReportBucket;

typedef enum ReportHistogram { REPORT_LATENCIES, REPORT_SLEEPS, REPORT_HISTOGRAMS } ReportHistogram;

/* Means by time, of the whole recording. */
typedef enum ReportMean {
        REPORT_MEAN_BUSY_SHARE,
        REPORT_MEAN_PARKED_CPUS,
        REPORT_MEAN_PARKED_CORES,
        REPORT_MEAN_WATTS,   /* of all packages, */
        REPORT_MEAN_WAKEUPS, /* of all CPUs; in a second */
        REPORT_MEANS,
} ReportMean;

typedef struct Report {
        char *path;
        json_object *facts; /* keys and values of table info */
        double cpus, cores, packages;
        double begin, end; /* seconds since 1970 */
        double seconds;    /* recorded, without gaps */
        double joules;     /* of all packages */
        double means[REPORT_MEANS];
        double transitions;
        GArray *series;                        /* of ReportSeries */
        json_object *events;                   /* as the page has them, in the order of time */
        json_object *sources;                  /* what ended sleeps, the most frequent first */
        json_object *savings;                  /* of policies, as their evaluators last said */
        GArray *histograms[REPORT_HISTOGRAMS]; /* of ReportBucket, ascending */
        size_t events_left, sources_left;      /* that were too many */
        json_object *notes;                    /* what a person should know: sentences */
        Reduced *samples;
} Report;

/* An empty one; `points` bounds its samples. */
Report *report_new(const char *path, size_t points);
void report_free(Report *report);

/* The column of a series, which is added if it is not there; REPORT_NO_COLUMN if the chart has no
 * room for it. */
size_t report_column(Report *report, ReportChart chart, ReportKind kind, const char *name);

void report_note(Report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text of a recording, cut where it is too long for a page, as a new string; and the same as a
 * member of an object, null if it is NULL. */
char *report_text(const char *text);
void report_put_text(json_object *object, const char *key, const char *text);

/* Takes what each policy saved until this row of table machine, and what it saves. */
void report_savings(Report *report, const RecordedTable *machine, size_t row);

/* Reads a recording. Returns EXIT_FINE, or EXIT_FAILED after a message. */
int report_read(Report *report);

/* What is in it, as JSON: the summary of the page and of the verb. */
json_object *report_describe(const Report *report);

/* Writes the page about `n` recordings, 1 .. REPORT_MOST. EXIT_FINE, or EXIT_FAILED after a
 * message.
 */
int report_write(const Report *const *reports, size_t n, const char *path);

#endif
