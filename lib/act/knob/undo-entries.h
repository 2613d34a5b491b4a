/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is on record (undo.h), in the order in which it was found.
 */
#ifndef IDLED_UNDO_ENTRIES_H
#define IDLED_UNDO_ENTRIES_H

#include "act/knob/undo.h"

typedef struct UndoEntries {
        GQueue list;       /* of UndoEntry, by their links */
        GHashTable *index; /* the same, by kind and name */
        GPtrArray *array;  /* the same as undo_entries() gave it away last */
} UndoEntries;

void undo_entries_init(UndoEntries *entries);
void undo_entries_done(UndoEntries *entries);

/* The entry of this knob, NULL if there is none. */
UndoEntry *undo_entries_find(const UndoEntries *entries, const char *kind, const char *name);

/* An entry that is in no list yet. */
UndoEntry *undo_entry_new(const char *kind, const char *name, const char *found);
void undo_entry_free(UndoEntry *entry);

/* The entry, of a knob that has none there, belongs to the list now; undo_entries_remove() frees
 * it.
 */
void undo_entries_add(UndoEntries *entries, UndoEntry *entry);
void undo_entries_remove(UndoEntries *entries, UndoEntry *entry);

/* Adds the lines that say all of it, as few as there can be. Returns how many. */
unsigned undo_entries_append(const UndoEntries *entries, GString *text);

/* `value` is about to be written. */
void undo_entry_advance(UndoEntry *entry, const char *value);

#endif
