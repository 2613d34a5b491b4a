/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the record of originals share: a record in a directory of the test's own, and
 * what is in it as text.
 */
#ifndef IDLED_TESTS_UNDO_FIXTURE_H
#define IDLED_TESTS_UNDO_FIXTURE_H

#include "act/knob/undo.h"
#include "scratch.h"
#include "table.h"

#define BOOT "b"
#define HEAD "idled-undo\t1\tb\n"

static inline Undo *open_undo(void)
{
        Undo *undo;

        ck_assert_int_eq(undo_open(scratch_fd, BOOT, &undo), 0);
        return undo;
}

/* What is on record of the knob; NULL: nothing. */
static inline UndoEntry *find_entry(const Undo *undo, const char *kind, const char *name)
{
        UndoEntry *const *entries;
        int n = undo_entries(undo, &entries, NULL);

        for (int i = 0; i < n; i++)
                if (g_str_equal(entries[i]->kind, kind) && g_str_equal(entries[i]->name, name))
                        return entries[i];
        return NULL;
}

/* The knob `name` of kind "k": it is about to be written for the first time, again, and is
 * restored. */
static inline int put_found(Undo *undo, const char *name, const char *found, const char *value)
{
        UndoStep step = { .kind = "k", .name = name, .found = found, .value = value };

        return undo_put(undo, &step, 1);
}

static inline int put_write(Undo *undo, const char *name, const char *value)
{
        UndoStep step = { .entry = find_entry(undo, "k", name), .value = value };

        return step.entry ? undo_put(undo, &step, 1) : -ENOENT;
}

static inline int put_done(Undo *undo, const char *name)
{
        return put_write(undo, name, NULL);
}

/* "KIND NAME FOUND LAST BEFORE; ..." with "-" for nothing. */
static inline char *describe(const Undo *undo)
{
        GString *text = g_string_new(NULL);
        UndoEntry *const *entries;
        int n = undo_entries(undo, &entries, NULL);

        for (int i = 0; i < n; i++)
                g_string_append_printf(text, "%s%s %s %s %s %s", i ? "; " : "", entries[i]->kind,
                                       entries[i]->name, entries[i]->found,
                                       entries[i]->last ? entries[i]->last : "-",
                                       entries[i]->before ? entries[i]->before : "-");
        return g_string_free(text, FALSE);
}

static inline bool record_exists(void)
{
        return faccessat(scratch_fd, "undo", F_OK, 0) == 0;
}

static inline void expect_record(const char *expected)
{
        g_autoptr(Undo) undo = open_undo();
        g_autofree char *text = describe(undo);

        ck_assert_str_eq(text, expected);
}

#endif
