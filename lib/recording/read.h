/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading a recording: frame by frame, from a file, a pipe or memory, in time that is linear in its
 * size.
 *
 * A frame is some seconds or minutes of tables, in which rows are in the order of time. A frame
 * that is damaged or of a newer version is skipped and counted. Reading ends where no frame begins,
 * as at the incomplete one that a crash leaves. A reader looks columns up by name
 * (docs/recording.md) and does without those that are not there.
 *
 *      g_autoptr(RecordingReader) reader = NULL;
 *      const RecordedFrame *frame;
 *      int r = recording_reader_open(AT_FDCWD, "a.rec", &reader);
 *
 *      while (r >= 0 && (r = recording_read(reader, &frame)) > 0) {
 *              const RecordedTable *cpu = recorded_table(frame, "cpu");
 *              const double *number = recorded_numbers(cpu, "cpu", NULL);
 *              const double *busy = recorded_numbers(cpu, "busy_share", NULL);
 *
 *              for (size_t row = 0; number && busy && row < cpu->n_rows; row++)
 *                      use((int)number[row], busy[row]); // NaN: not known
 *      }
 */
#ifndef IDLED_RECORDING_READ_H
#define IDLED_RECORDING_READ_H

#include <glib.h>
#include <stdint.h>

#include "recording/frame.h"

/* The unit of a column of texts, in the file. */
#define RECORDED_UNIT_TEXT "text"

/* The largest number: doubles hold all whole numbers up to it. */
#define RECORDED_NUMBER_MAX 9007199254740992.

typedef struct RecordedColumn {
        const char *name;         /* "residency_share" */
        const char *of;           /* what of several things it is about: "C6"; "": of nothing */
        const char *unit;         /* "share", "us", "W", "kHz", ...; "": a count, or text */
        int decimals;             /* the most that its numbers have */
        const double *numbers;    /* by row, NaN: no value; NULL in a column of text */
        const char *const *texts; /* by row, NULL: no value; valid UTF-8; NULL in one of numbers */
} RecordedColumn;

typedef struct RecordedTable {
        const char *name;
        size_t n_rows;
        int key; /* number of the column that says which thing a row is about; -1: none */
        int n_columns;
        const RecordedColumn *columns;
} RecordedTable;

typedef struct RecordedFrame {
        uint64_t last_usec; /* CLOCK_REALTIME of its newest row; 0: not known */
        int n_tables;
        const RecordedTable *const *tables;
} RecordedFrame;

/* What a reader has come across so far. */
typedef struct RecordingReport {
        uint64_t bytes;          /* that were read */
        uint64_t frames;         /* that could be read */
        uint64_t damaged;        /* whole frames that could not */
        uint64_t newer;          /* frames of a newer version */
        unsigned newest_version; /* of those */
        bool old;                /* it is of version 1 */
        bool cut;                /* reading ended at byte `cut_at`, before the end */
        uint64_t cut_at;
} RecordingReport;

typedef struct RecordingReader RecordingReader;

/* Opens a file; "-" is standard input. Negative errno of open(2). What is in the file is
 * only known when it was read. */
int recording_reader_open(int dir, const char *path, RecordingReader **ret_reader);

void recording_reader_free(RecordingReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RecordingReader, recording_reader_free)

/* The next frame that can be read, valid until the next call. 1: there is one; 0: the end; else
 * read(2)'s error. */
int recording_read(RecordingReader *reader, const RecordedFrame **ret_frame);

const RecordingReport *recording_report(const RecordingReader *reader);

/* What a person must know about the recording, as sentences in a new string without a full stop
 * at the end; NULL: all is well. To be asked at the end. */
char *recording_problem(const RecordingReader *reader);

/* Reads a file, "-" is standard input, and calls `each` with every frame. 1: there was one; 0: none
 * can be read; else negative errno. `*ret_problem` is what a person must know, as above. */
int recording_read_file(const char *path, void (*each)(const RecordedFrame *frame, void *data),
                        void *data, char **ret_problem);

/* The table of this name; NULL if the frame has none. */
const RecordedTable *recorded_table(const RecordedFrame *frame, const char *name);

/* The column; `of` NULL: of nothing. NULL if there is none, or no table. */
const RecordedColumn *recorded_column(const RecordedTable *table, const char *name, const char *of);

/* The first of the table's rows from `*next` on that are of this time, as the rows of table cpu of
 * a sample; `*next` is then behind the last of them. Rows of earlier times are left out. */
size_t recorded_rows_at(const RecordedTable *table, double time_usec, size_t *next);

/* Its values by row; NULL if there is no such column of numbers, of text. */
const double *recorded_numbers(const RecordedTable *table, const char *name, const char *of);
const char *const *recorded_texts(const RecordedTable *table, const char *name, const char *of);

/* The value of a row in the column of this name, of nothing; NaN, NULL: none. */
double recorded_number(const RecordedTable *table, const char *name, size_t row);
const char *recorded_text(const RecordedTable *table, const char *name, size_t row);

#endif
