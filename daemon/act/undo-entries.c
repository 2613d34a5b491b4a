/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is on record: a list with an index by kind and name.
 */
#include "act/undo-entries.h"

static void entry_free(void *data)
{
        UndoEntry *entry = data;

        g_free(entry->kind);
        g_free(entry->name);
        g_free(entry->found);
        g_free(entry->last);
        g_free(entry->before);
        g_free(entry);
}

static unsigned entry_hash(const void *data)
{
        const UndoEntry *entry = data;

        return g_str_hash(entry->name) ^ g_str_hash(entry->kind);
}

static gboolean entry_equal(const void *a, const void *b)
{
        const UndoEntry *x = a, *y = b;

        return g_str_equal(x->name, y->name) && g_str_equal(x->kind, y->kind);
}

void undo_entries_init(UndoEntries *entries)
{
        entries->list = g_ptr_array_new_with_free_func(entry_free);
        entries->index = g_hash_table_new(entry_hash, entry_equal);
}

void undo_entries_done(UndoEntries *entries)
{
        g_hash_table_unref(entries->index);
        g_ptr_array_unref(entries->list);
}

UndoEntry *undo_entries_find(const UndoEntries *entries, const char *kind, const char *name)
{
        const UndoEntry key = { .kind = (char *)kind, .name = (char *)name };

        return g_hash_table_lookup(entries->index, &key);
}

void undo_entries_add(UndoEntries *entries, const char *kind, const char *name, const char *found)
{
        UndoEntry *entry = g_new0(UndoEntry, 1);

        entry->kind = g_strdup(kind);
        entry->name = g_strdup(name);
        entry->found = g_strdup(found);
        g_ptr_array_add(entries->list, entry);
        g_hash_table_add(entries->index, entry);
}

void undo_entries_remove(UndoEntries *entries, UndoEntry *entry)
{
        g_hash_table_remove(entries->index, entry);
        g_ptr_array_remove(entries->list, entry);
}

void undo_entry_advance(UndoEntry *entry, const char *value)
{
        g_free(entry->before);
        entry->before = entry->last;
        entry->last = g_strdup(value);
}
