/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The record of originals: a file in the run directory with one line per fact, written before the
 * knob is.
 *
 *      idled-undo 1 BOOT-ID
 *      found KIND NAME VALUE           as first found
 *      write KIND NAME VALUE           about to be written
 *      done  KIND NAME                 restored
 *
 * Fields are escaped (g_strescape) and separated by tabs. The directory is on a file system that
 * lives as long as the kernel's values do; the boot id catches the case that it is not. A last line
 * without newline was being written when its writer died: the write it announces had not begun.
 */
#ifndef IDLED_UNDO_H
#define IDLED_UNDO_H

#include <glib.h>
#include <stdbool.h>

typedef struct Undo Undo;

typedef struct UndoEntry {
        char *kind, *name, *found; /* in the same piece of memory */
        char *last, *before;       /* the last two values announced; NULL none */
        bool plain;                /* kind and name need no escapes; this and the rest are the
                                      record's own */
        unsigned hash;
        GList link;
} UndoEntry;

#define UNDO_RECORD "undo"

/* Opens or begins the record in directory `run`; -EBADMSG if it is no file; -1 for a record that is
 * kept nowhere. `boot_id` identifies this boot: a record of another boot is dropped. */
int undo_open(int run, const char *boot_id, Undo **ret_undo);
void undo_free(Undo *undo);

/* What happens to one knob. */
typedef struct UndoStep {
        UndoEntry *entry;                /* what is on record of it */
        const char *kind, *name, *found; /* of one that begins, of which nothing is; else NULL */
        const char *value;               /* about to be written; NULL: it was restored */
} UndoStep;

/* Records the steps of `n` knobs by one write(2). Returns 0 when all lines are in the file, or the
 * error of writing them, -EEXIST if a knob that begins is there already; then none of them counts.
 * `entry` follows: one that begins has one, one that was restored has none. When nothing is on
 * record any more the file is removed. */
int undo_put(Undo *undo, UndoStep *steps, unsigned n);

/* If lines of the record made no sense when it was opened, keeps it as it was found under the name
 * UNDO_DAMAGED, in place of an older one, and goes on with what was understood. Returns 1 then, 0
 * if there is nothing to keep, or the error; then nothing has changed. */
#define UNDO_DAMAGED "undo.damaged"
int undo_set_aside(Undo *undo);

/* What is on record, in order; `*ret_skipped` (may be NULL) is the number of lines that made no
 * sense. Entries belong to the record; the list is valid until the next call. */
int undo_entries(const Undo *undo, UndoEntry *const **ret_entries, int *ret_skipped);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Undo, undo_free)

#endif
