/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the two halves of knob.h share (knob.c sets knobs, knob-restore.c verifies and restores):
 * the list of knobs, reading and writing one, and the record. For these files only.
 */
#ifndef IDLED_KNOB_ENTRY_H
#define IDLED_KNOB_ENTRY_H

#include <stdint.h>

#include "act/knob/knob.h"
#include "act/knob/undo.h"

typedef struct KnobEntry {
        Knob knob;         /* first: lists hand out pointers to it */
        UndoEntry *record; /* of its original; NULL: none */
        uint64_t serial;   /* ascends along the list */
        unsigned hash;
        bool reported;     /* by the restore that is under way */
        bool busy;         /* being set */
        bool sure;         /* `ours` was there, and nothing happened that could have changed that */
        bool same;         /* in the file that is open */
        uint64_t identity; /* else the identity of the knob's object then; 0: not known */
        uint16_t size;     /* of the file's text as last read, with white space */
        bool kept;         /* the file is open for the next time, and not in use */
        int fd;            /* its file; -1: none is open */
} KnobEntry;

struct Knobs {
        ActContext context;
        bool dry_run;
        Undo *undo;
        int undo_error;   /* of opening the record: nothing may be changed then */
        int record_error; /* of writing it for the last change; 0: it was written */
        GPtrArray *list;
        GHashTable *index;
        uint64_t serial; /* of the last entry */
        const char *dir; /* where files of knobs were opened last, and its descriptor */
        int dir_fd;
        unsigned n_kept, kept_max; /* files that are kept open, and that may be */
        GHashTable *pretended;     /* dry run: "KIND NAME" -> what would be there now */
        unsigned writes;
        int64_t patience_usec; /* how long to wait still for values that are shown late */
};

/* For all values together, of knobs that are set together or restored. */
#define KNOBS_PATIENCE_USEC   (200 * 1000)
#define RESTORE_PATIENCE_USEC (2 * 1000 * 1000)

KnobEntry *knob_entry_find(const Knobs *knobs, const KnobKind *kind, const char *name);

/* The entry, a new one if there was none. */
KnobEntry *knob_entry_get(Knobs *knobs, const KnobKind *kind, const char *name);

/* In knob-file.c: opens the knob's file for what follows, if it has one. Until knob_entry_end() it
 * may be read at will and written once. */
void knob_entry_open(Knobs *knobs, KnobEntry *entry);

/* Closes the file, or keeps it open for the next time if that pays. */
void knob_entry_end(Knobs *knobs, KnobEntry *entry);
void knob_entry_close(Knobs *knobs, KnobEntry *entry);

/* The number of the open file; 0: not known. */
uint64_t knob_entry_file(const KnobEntry *entry);

/* Writes the text by the open file. */
int knob_entry_write_file(const Knobs *knobs, const KnobEntry *entry, const char *value);

/* How many files may be kept open, given how many the process may have open at all. */
unsigned knobs_kept_max(void);

/* Closes the directory that files were opened in. */
void knobs_close_dir(Knobs *knobs);

/* Reads the knob's value as it is now, by its file if that is open, in use or kept. */
int knob_entry_read(Knobs *knobs, KnobEntry *entry, char **ret_value);

/* True if the knob's file has exactly this text now; false also if it is not open. */
bool knob_entry_confirm(KnobEntry *entry, const char *value);

/* Reads what came of writing `wanted`, NULL if that failed: once, or, if its kind is late, until it
 * has that value, is kept from it, or the knobs' patience is over. */
int knob_entry_read_back(Knobs *knobs, KnobEntry *entry, const char *wanted, char **ret_value);

/* True if the two are the same value; NULL is no value. */
bool knob_same(const KnobKind *kind, const char *a, const char *b);

/* True if the knob, which reads `now`, has `value`: not only for the moment that a late one takes
 * on its way to what was last written. */
bool knob_entry_rests_at(const KnobEntry *entry, const char *now, const char *value);

/* What was last written is there, in the open file if one is: from now on, in what the knob is of
 * now, nothing else is explained. */
void knob_entry_settle(const Knobs *knobs, KnobEntry *entry);

/* True if the file can have this value without a write by another program. */
bool knob_entry_explains(const Knobs *knobs, const KnobEntry *entry, const char *value);

/* True if the value is there because the kernel or the hardware keeps it so instead of `wanted`. */
bool knob_entry_is_held(const Knobs *knobs, const KnobEntry *entry, const char *wanted,
                        const char *value);

/* Writes a value as it is, recording nothing of it. Other knobs of ours that the kernel changes by
 * the way stay ours. */
int knob_entry_write(Knobs *knobs, KnobEntry *entry, const char *value);

/* Updates which values are ours, once they are on record. */
void knob_entry_note(KnobEntry *entry, const char *value);

/* Records a value that is about to be written, then updates which values are ours. */
int knob_entry_announce(Knobs *knobs, KnobEntry *entry, const char *value);

/* Takes the value that our write, or the kernel, left there as ours; NULL: not known. */
int knob_entry_adopt(Knobs *knobs, KnobEntry *entry, const char *value);

/* Takes the knob off the record; on failure it stays there. */
int knob_entry_unrecord(Knobs *knobs, KnobEntry *entry);

/* Takes the knob off the record and out of the list; it stays in both if the record fails. */
int knob_entry_forget(Knobs *knobs, KnobEntry *entry);

/* Takes a knob that is not on record out of the list. */
void knob_entry_drop(Knobs *knobs, KnobEntry *entry);

/* Marks the knob as taken over. Returns -ESTALE. */
int knob_entry_disown(Knobs *knobs, KnobEntry *entry);

/* Notes a failure. Returns `error`. */
int knob_entry_fail(KnobEntry *entry, int error);

#endif
