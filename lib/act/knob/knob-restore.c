/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Restoring knobs, those of this instance and those of one that died.
 *
 * The reverse of the order in which knobs were first set is nearly always right, but not when one
 * came to be under the limit of another: the CPUs of a cgroup made inside a confined one cannot be
 * restored before those of its parent. So knobs that fail are tried again for as long as others
 * succeed.
 */
#include "act/knob/knob.h"

#include <errno.h>
#include <string.h>

#include "act/knob/knob-entry.h"

static bool is_at_or_below(const char *name, const char *top)
{
        size_t length = strlen(top);

        return g_str_has_prefix(name, top) && (name[length] == '\0' || name[length] == '/');
}

void knobs_drop(Knobs *knobs, const KnobKind *kind, const char *name)
{
        for (unsigned i = knobs->list->len; i-- > 0;) {
                KnobEntry *entry = knobs->list->pdata[i];

                if (entry->knob.kind == kind && is_at_or_below(entry->knob.name, name))
                        knob_entry_forget(knobs, entry);
        }
}

int knobs_forget_foreign(Knobs *knobs)
{
        int n = 0;

        for (unsigned i = knobs->list->len; i-- > 0;) {
                KnobEntry *entry = knobs->list->pdata[i];

                if (entry->knob.state != KNOB_FOREIGN)
                        continue;
                knob_entry_forget(knobs, entry);
                n++;
        }
        return n;
}

/* Checks the knob's value `now`, or the error of reading it. Returns true if it is as it should be,
 * or is no longer ours. */
static bool verify_one(Knobs *knobs, KnobEntry *entry, const char *now, int error)
{
        if (error == -ENOENT) {
                knob_entry_forget(knobs, entry);
                return true;
        }
        if (entry->knob.state != KNOB_OURS)
                return false;
        if (error == -EBUSY) {
                entry->sure = false;
                return true;
        }
        if (error < 0) {
                knob_entry_fail(entry, error);
                return false;
        }
        if (!knob_entry_explains(knobs, entry, now)) {
                knob_entry_disown(knobs, entry);
                return false;
        }
        return knob_is_as_written(&knobs->context, &entry->knob, now);
}

int knobs_verify(Knobs *knobs)
{
        int wrong = 0;

        for (unsigned i = knobs->list->len; i-- > 0;) {
                KnobEntry *entry = knobs->list->pdata[i];
                g_autofree char *now = NULL;
                int r;

                knob_entry_open(knobs, entry);
                r = knob_entry_read(knobs, entry, &now);
                if (r >= 0 && entry->knob.state == KNOB_OURS && !entry->same &&
                    knob_same(entry->knob.kind, now, entry->knob.ours))
                        knob_entry_settle(knobs, entry);
                knob_entry_end(knobs, entry);
                wrong += !verify_one(knobs, entry, now, r);
        }
        knobs_close_dir(knobs);
        return wrong;
}

/* Writes the original and makes sure that it is there. */
static int write_original(Knobs *knobs, KnobEntry *entry)
{
        const Knob *knob = &entry->knob;
        g_autofree char *after = NULL;
        int r, read_error;

        if (knobs->dry_run) {
                knobs->writes++;
                return 0;
        }
        r = knob_entry_write(knobs, entry, knob->original);
        read_error = knob_entry_read_back(knobs, entry, r < 0 ? NULL : knob->original, &after);
        if (knob_same(knob->kind, after, knob->original) ||
            (r >= 0 && knob_entry_is_held(knobs, entry, knob->original, after)))
                return 0;
        knob_entry_adopt(knobs, entry, after);
        if (r < 0)
                return r;
        return read_error < 0 ? read_error : -EPERM;
}

/* What becomes of one knob, as KnobReport's `error`. */
static int restore(Knobs *knobs, KnobEntry *entry, char **ret_found)
{
        int r;

        r = knob_entry_read(knobs, entry, ret_found);
        if (r < 0)
                return r;
        if (entry->knob.state == KNOB_FOREIGN)
                return -ESTALE;
        if (!entry->record || knob_entry_rests_at(entry, *ret_found, entry->knob.original))
                return 0;
        if (!knob_same(entry->knob.kind, *ret_found, entry->knob.original) &&
            !knob_entry_explains(knobs, entry, *ret_found))
                return -ESTALE;
        return write_original(knobs, entry);
}

static bool settled(int error)
{
        return error == 0 || error == -ESTALE || error == -ENOENT;
}

/* Ends the knob's story. In a dry run the record stays as it is. */
static int conclude(Knobs *knobs, KnobEntry *entry)
{
        int r;

        if (knobs->dry_run)
                entry->record = NULL;
        r = knob_entry_forget(knobs, entry);
        knobs->record_error = MIN(knobs->record_error, r);
        return r;
}

/* Restores one knob and reports the result: for good, or if this is the `last` time. Returns 0 if
 * it is done with. */
static int restore_one(Knobs *knobs, KnobEntry *entry, bool last, KnobReport report, void *userdata)
{
        g_autofree char *found = NULL;
        int r;

        if (!entry->record && entry->knob.state == KNOB_FAILED) /* never changed */
                return knob_entry_forget(knobs, entry);
        knob_entry_open(knobs, entry);
        r = restore(knobs, entry, &found);
        knob_entry_close(knobs, entry);
        if (!settled(r))
                knob_entry_fail(entry, r);
        if ((settled(r) || last) && report && !entry->reported) {
                report(&entry->knob, found, r, userdata);
                entry->reported = true;
        }
        return settled(r) ? conclude(knobs, entry) : r;
}

/* Goes through all knobs once. Returns the first error. */
static int restore_once(Knobs *knobs, bool last, KnobReport report, void *userdata)
{
        int first = 0;

        knobs->record_error = 0;
        for (unsigned i = knobs->list->len; i-- > 0;) {
                int r = restore_one(knobs, knobs->list->pdata[i], last, report, userdata);

                if (r < 0 && first == 0)
                        first = r;
        }
        return first;
}

/* Moves knobs that also change others to the end, which is restored first. */
static void sort_disturbers(Knobs *knobs)
{
        unsigned n = knobs->list->len;

        for (unsigned i = 0, left = n; left > 0; left--) {
                KnobEntry *entry = knobs->list->pdata[i];

                if (entry->knob.kind->disturbs) {
                        entry->serial = ++knobs->serial;
                        g_ptr_array_add(knobs->list, g_ptr_array_steal_index(knobs->list, i));
                } else {
                        i++;
                }
        }
}

int knobs_restore(Knobs *knobs, KnobReport report, void *userdata)
{
        unsigned before;
        int r;

        for (unsigned i = 0; i < knobs->list->len; i++)
                ((KnobEntry *)knobs->list->pdata[i])->reported = false;
        knobs->patience_usec = RESTORE_PATIENCE_USEC;
        sort_disturbers(knobs);
        do {
                before = knobs->list->len;
                r = restore_once(knobs, false, report, userdata);
        } while (r < 0 && knobs->list->len < before);
        if (r < 0)
                r = restore_once(knobs, true, report, userdata);
        knobs_close_dir(knobs);
        return r < 0 ? r : knobs->undo_error;
}

static const KnobKind *kind_find(const KnobKind *const *kinds, const char *name)
{
        for (; *kinds; kinds++)
                if (g_str_equal((*kinds)->name, name))
                        return *kinds;
        return NULL;
}

/* Takes up one entry of the record as a knob that is ours. */
static void take_up(Knobs *knobs, const KnobKind *kind, UndoEntry *found)
{
        KnobEntry *entry = knob_entry_get(knobs, kind, found->name);
        Knob *knob = &entry->knob;

        g_free(knob->original);
        g_free(knob->ours);
        g_free(knob->before);
        knob->original = g_strdup(found->found);
        knob->ours = g_strdup(found->last ? found->last : found->found);
        knob->before = g_strdup(found->before);
        knob->state = KNOB_OURS;
        knob->error = 0;
        entry->sure = false;
        entry->record = found;
}

int knobs_set_aside(Knobs *knobs)
{
        return knobs->undo_error < 0 ? knobs->undo_error : undo_set_aside(knobs->undo);
}

int knobs_recover(Knobs *knobs, const KnobKind *const *kinds, int *ret_skipped)
{
        UndoEntry *const *entries;
        int n, skipped, recovered = 0;

        if (knobs->undo_error < 0)
                return knobs->undo_error;
        n = undo_entries(knobs->undo, &entries, &skipped);
        for (int i = 0; i < n; i++) {
                const KnobKind *kind = kind_find(kinds, entries[i]->kind);
                const KnobEntry *known = NULL;

                if (!kind)
                        continue;
                known = knob_entry_find(knobs, kind, entries[i]->name);
                if (known && known->record)
                        continue;
                take_up(knobs, kind, entries[i]);
                recovered++;
        }
        *ret_skipped = skipped;
        return recovered;
}

int knobs_count_unknown(const Knobs *knobs, const KnobKind *const *kinds)
{
        UndoEntry *const *entries;
        int n = knobs->undo ? undo_entries(knobs->undo, &entries, NULL) : 0, unknown = 0;

        for (int i = 0; i < n; i++)
                unknown += !kind_find(kinds, entries[i]->kind);
        return unknown;
}
