/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing a recording, first half: rows of tables, which become the text of a frame.
 *
 * Tables and columns are named, and a column says its unit. sample.c says what they are called;
 * this file does not know. A column can be added at any time: rows before it have no value there.
 *
 *      RecordingBatch *batch = recording_batch_new();
 *      RecordingTable *cpu = recording_table(batch, "cpu");
 *
 *      recording_row_of(cpu, "cpu", 3);
 *      recording_put(cpu, "residency_share", "C6", "share", 4, 0.25);
 */
#ifndef IDLED_RECORDING_BATCH_H
#define IDLED_RECORDING_BATCH_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Longer texts are cut. */
#define RECORDING_TEXT_MAX 4000u

typedef struct RecordingBatch RecordingBatch;
typedef struct RecordingTable RecordingTable;

RecordingBatch *recording_batch_new(void);
void recording_batch_free(RecordingBatch *batch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RecordingBatch, recording_batch_free)

/* The table of this name, which the caller keeps; it is made if it is not there. Belongs to the
 * batch. */
RecordingTable *recording_table(RecordingBatch *batch, const char *name);

/* Forgets the rows of this table. Those that follow do not change from frame to frame, and every
 * frame has them: facts about the machine. */
void recording_table_lasts(RecordingTable *table);

/* Begins a row, in which nothing has a value yet. */
void recording_row(RecordingTable *table);

/* The same in a table whose rows are about numbered things, such as CPUs: `key` names the column of
 * these numbers. */
void recording_row_of(RecordingTable *table, const char *key, double number);

/* Sets a value of the row, in the column of this name and `of`, which is made with its first value.
 * `of` says what of several things the column is about, as a state ("C6") or a domain
 * ("package-0"); NULL: of nothing. Numbers are rounded to so many decimals, 0 .. 9. NaN, infinity,
 * NULL, and numbers that exceed 2^53 at these decimals are no value. Text that is not UTF-8 is made
 * so, with U+FFFD for what is not; control characters but tabs and line ends become '?'. `name` and
 * `unit` are kept by the caller. It is fastest if the columns come in the same order in each row.
 */
void recording_put(RecordingTable *table, const char *name, const char *of, const char *unit,
                   int decimals, double value);
void recording_put_text(RecordingTable *table, const char *name, const char *of, const char *text);

/* How many bytes the rows have before they are compressed, except those that last. */
size_t recording_batch_size(const RecordingBatch *batch);

/* Replaces `text` by that of a frame and begins the next one: all rows but those that last are
 * gone. Columns stay. */
void recording_batch_take(RecordingBatch *batch, GString *text);

#endif
