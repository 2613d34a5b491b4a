/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The record of originals: a file in the run directory with one line per fact, written before the
 * knob is.
 *
 *      idled-undo 1 BOOT-ID
 *      found KIND NAME VALUE           as first found
 *      write KIND NAME VALUE           about to be written
 *      done  KIND NAME                 given back
 *
 * Fields are escaped (g_strescape) and separated by tabs. The directory is on a file system that
 * lives as long as the kernel's values do; the boot id catches the case that it is not. A last line
 * without newline was being written when its writer died: the write it announces had not begun.
 */
#ifndef IDLED_UNDO_H
#define IDLED_UNDO_H

#include <glib.h>

typedef struct Undo Undo;

typedef struct UndoEntry {
        char *kind, *name, *found;
        char *last, *before; /* the last two values that were to be written; NULL none */
} UndoEntry;

/* Opens or begins the record `undo` in directory `run`; -1 for a record that is kept nowhere.
 * `boot_id` tells this boot from others: a record of another boot is dropped. */
int undo_open(int run, const char *boot_id, Undo **ret_undo);
void undo_free(Undo *undo);

/* Each returns 0 when the line is in the file, or the error of writing it; then nothing of the line
 * counts. When nothing is on record any more the file is removed. undo_begin() is the first two
 * with one write(2), for a knob that is not on record yet. */
int undo_found(Undo *undo, const char *kind, const char *name, const char *value);
int undo_write(Undo *undo, const char *kind, const char *name, const char *value);
int undo_begin(Undo *undo, const char *kind, const char *name, const char *found,
               const char *value);
int undo_done(Undo *undo, const char *kind, const char *name);

/* What is on record, in order; `*ret_skipped` (may be NULL) is the number of lines not understood.
 * Entries belong to the record. */
int undo_entries(const Undo *undo, const UndoEntry *const **ret_entries, int *ret_skipped);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Undo, undo_free)

#endif
