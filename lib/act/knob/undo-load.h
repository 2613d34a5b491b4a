/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the record of originals (undo.h) back from its file.
 */
#ifndef IDLED_UNDO_LOAD_H
#define IDLED_UNDO_LOAD_H

#include <stdbool.h>
#include <sys/types.h>

#include "act/knob/undo-entries.h"

/* The header is this and the boot id. */
#define UNDO_MAGIC "idled-undo\t1\t"

/* The id of this boot, as a new string; "unknown" if the kernel below `root` shows none. Negative
 * errno if it cannot be read now: a record of this boot must not pass for one of another. */
int undo_boot_id(int root, char **ret_id);

/* What reading the file came to. */
typedef struct UndoLoad {
        bool trusted;   /* the header is ours and of this boot */
        bool other;     /* or of another boot */
        off_t size;     /* of all that was read */
        off_t length;   /* up to the end of the last whole line */
        unsigned lines; /* without the header */
        int skipped;    /* lines that make no sense; none that was being written */
} UndoLoad;

/* Reads the file into `entries`. Returns 0, or read(2)'s error. */
int undo_load(int fd, const char *header, UndoEntries *entries, UndoLoad *ret_load);

#endif
