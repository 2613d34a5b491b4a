/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any file is read as a record of originals without harm, and what was understood of it is there
 * again after the record was written on.
 */
#include <errno.h>

#include "act/knob/undo.h"
#include "fuzz.h"

/* Everything on record as one text. */
static char *describe(const Undo *undo)
{
        GString *text = g_string_new(NULL);
        UndoEntry *const *entries;
        int n = undo_entries(undo, &entries, NULL);

        for (int i = 0; i < n; i++)
                g_string_append_printf(text, "%s|%s|%s|%s|%s\n", entries[i]->kind, entries[i]->name,
                                       entries[i]->found, entries[i]->last ? entries[i]->last : "",
                                       entries[i]->before ? entries[i]->before : "");
        return g_string_free(text, FALSE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autofree char *before = NULL, *after = NULL;
        UndoEntry *const *entries;
        UndoStep step = { .kind = "test", .name = "knob", .found = "0-3\n\t\\", .value = "1" };
        Undo *undo = NULL;
        int r, skipped = -1, run = openat(fuzz_root(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        fuzz_put("undo", data, size);
        r = undo_open(run, "boot", &undo);
        g_assert(r == 0);
        g_assert(undo_entries(undo, &entries, &skipped) >= 0 && skipped >= 0);
        r = undo_put(undo, &step, 1);
        g_assert(r == 0 || r == -EEXIST);
        for (int i = undo_entries(undo, &entries, NULL); i-- > 0 && r == -EEXIST;)
                if (g_str_equal(entries[i]->kind, "test") && g_str_equal(entries[i]->name, "knob"))
                        step.entry = entries[i];
        step.found = NULL;
        step.value = "0";
        g_assert(undo_put(undo, &step, 1) == 0);
        before = describe(undo);
        undo_free(undo);
        g_assert(undo_open(run, "boot", &undo) == 0);
        after = describe(undo);
        g_assert(g_str_equal(before, after));
        undo_free(undo);
        close(run);
        return 0;
}
