/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is on record: a list with an index by kind and name. A switch of profiles takes a thousand
 * knobs off a record of thousands, so none of it is searched from end to end.
 */
#include "act/knob/undo-entries.h"

#include <string.h>

#include "act/knob/undo-line.h"
#include "base/hash.h"

static void entry_free(void *data)
{
        undo_entry_free(data);
}

static unsigned entry_hash(const void *data)
{
        const UndoEntry *entry = data;

        return entry->hash;
}

static unsigned make_hash(const char *kind, const char *name)
{
        return text_hash(name) ^ text_hash(kind);
}

static gboolean entry_equal(const void *a, const void *b)
{
        const UndoEntry *x = a, *y = b;

        return g_str_equal(x->name, y->name) && g_str_equal(x->kind, y->kind);
}

void undo_entries_init(UndoEntries *entries)
{
        g_queue_init(&entries->list);
        entries->index = g_hash_table_new_full(entry_hash, entry_equal, entry_free, NULL);
        entries->array = g_ptr_array_new();
}

void undo_entries_done(UndoEntries *entries)
{
        g_ptr_array_unref(entries->array);
        g_hash_table_unref(entries->index);
}

UndoEntry *undo_entries_find(const UndoEntries *entries, const char *kind, const char *name)
{
        const UndoEntry key = { .kind = (char *)kind,
                                .name = (char *)name,
                                .hash = make_hash(kind, name) };

        return g_hash_table_lookup(entries->index, &key);
}

UndoEntry *undo_entry_new(const char *kind, const char *name, const char *found)
{
        size_t kind_size = strlen(kind) + 1, name_size = strlen(name) + 1;
        size_t found_size = strlen(found) + 1;
        UndoEntry *entry = g_malloc0(sizeof(*entry) + kind_size + name_size + found_size);

        entry->kind = memcpy(entry + 1, kind, kind_size);
        entry->name = memcpy(entry->kind + kind_size, name, name_size);
        entry->found = memcpy(entry->name + name_size, found, found_size);
        entry->plain = undo_line_is_plain(kind) && undo_line_is_plain(name);
        entry->hash = make_hash(kind, name);
        return entry;
}

void undo_entry_free(UndoEntry *entry)
{
        g_free(entry->last);
        g_free(entry->before);
        g_free(entry);
}

void undo_entries_add(UndoEntries *entries, UndoEntry *entry)
{
        entry->link.data = entry;
        g_queue_push_tail_link(&entries->list, &entry->link);
        g_hash_table_add(entries->index, entry);
}

void undo_entries_remove(UndoEntries *entries, UndoEntry *entry)
{
        g_queue_unlink(&entries->list, &entry->link);
        g_hash_table_remove(entries->index, entry);
}

unsigned undo_entries_append(const UndoEntries *entries, GString *text)
{
        unsigned lines = 0;

        for (const GList *link = entries->list.head; link; link = link->next) {
                const UndoEntry *e = link->data;

                undo_line_append(text, "found", e, e->found);
                if (e->before)
                        undo_line_append(text, "write", e, e->before);
                if (e->last)
                        undo_line_append(text, "write", e, e->last);
                lines += 1 + !!e->before + !!e->last;
        }
        return lines;
}

void undo_entry_advance(UndoEntry *entry, const char *value)
{
        g_free(entry->before);
        entry->before = entry->last;
        entry->last = g_strdup(value);
}
