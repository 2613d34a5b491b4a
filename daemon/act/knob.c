/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Setting a knob.
 *
 * The order of steps is what makes the promise of knob.h hold. For a knob that is changed for the
 * first time: read, `found` and `write` on record, write, read back. A kill before the write
 * leaves the original in place, a kill after it a value that the record announces; the instance
 * that finds the record can tell both from a third value, which is somebody else's. The original
 * need not be announced when it is put back: it is on record as found.
 *
 * At any time the value of a knob of ours is the original, the last value or the one before it:
 * the last write may have failed, or not have begun. Before a new value is announced, the record
 * is brought up to what is really there, so that these three always suffice.
 *
 * What is read back directly after our own write, if it is not what was written, is taken for the
 * kernel's version of it, announced as ours, and so given back one day. If somebody else wrote in
 * these microseconds, it is as if he had written just before us, which nobody can see either.
 */
#include "act/knob.h"

#include <errno.h>

#include "act/knob-entry.h"

static void replace(char **text, const char *value)
{
        g_free(*text);
        *text = g_strdup(value);
}

/* Puts on record all that must be known about the knob before it is changed from `now`. */
static int record(Knobs *knobs, KnobEntry *entry, const char *now, const char *value)
{
        Knob *knob = &entry->knob;
        int r;

        if (knobs->undo_error < 0)
                return knobs->undo_error;
        if (!entry->record) {
                r = undo_begin(knobs->undo, knob->kind->name, knob->name, now, value,
                               &entry->record);
                if (r < 0)
                        return r;
                knob_entry_note(entry, value);
                return 0;
        }
        if (!knob_same(knob->kind, now, knob->ours) &&
            !knob_same(knob->kind, now, knob->original)) {
                r = knob_entry_announce(knobs, entry, now);
                if (r < 0)
                        return r;
        }
        if (!knob_same(knob->kind, value, knob->original))
                return knob_entry_announce(knobs, entry, value);
        knob_entry_note(entry, value);
        return 0;
}

/* After a failure: what is there now counts as ours, and if it is the original the record ends. */
static int give_up(Knobs *knobs, KnobEntry *entry, const char *now, int error)
{
        if (knob_same(entry->knob.kind, now, entry->knob.original))
                knob_entry_unrecord(knobs, entry);
        else
                knob_entry_adopt(knobs, entry, now);
        return knob_entry_fail(entry, error);
}

static int write_and_check(Knobs *knobs, KnobEntry *entry, const char *value)
{
        Knob *knob = &entry->knob;
        g_autofree char *after = NULL;
        int r, read_error;

        r = knob_entry_write(knobs, entry, value);
        read_error = knob_entry_read(knobs, entry, &after);
        if (read_error == -ENOENT) {
                knob_entry_forget(knobs, entry);
                return -ENOENT;
        }
        if (r >= 0)
                r = read_error;
        if (r >= 0 && !knob_same(knob->kind, after, value) &&
            !knob_entry_is_held(knobs, entry, value, after))
                r = -EPERM;
        if (r < 0)
                return give_up(knobs, entry, after, r);
        knob->state = KNOB_OURS;
        knob->error = 0;
        return 1;
}

/* Brings the knob from the value `now` to another one. */
static int change(Knobs *knobs, KnobEntry *entry, const char *now, const char *value)
{
        bool back;
        int r;

        if (!entry->record) {
                replace(&entry->knob.original, now);
                replace(&entry->knob.ours, NULL);
                replace(&entry->knob.before, NULL);
        }
        r = record(knobs, entry, now, value);
        if (r < 0) {
                if (!entry->knob.ours)
                        replace(&entry->knob.ours, value);
                return give_up(knobs, entry, now, r);
        }
        back = knob_same(entry->knob.kind, value, entry->knob.original);
        r = write_and_check(knobs, entry, value);
        if (r > 0 && back)
                knob_entry_forget(knobs, entry);
        return r;
}

/* The knob is as it should be; perhaps the books are not. */
static int confirm(Knobs *knobs, KnobEntry *entry, const char *now)
{
        Knob *knob = &entry->knob;
        int r;

        if (!entry->record || knob_same(knob->kind, now, knob->original)) {
                knob_entry_forget(knobs, entry);
                return 0;
        }
        if (!knob_same(knob->kind, now, knob->ours)) {
                r = knob_entry_announce(knobs, entry, now);
                if (r < 0)
                        return knob_entry_fail(entry, r);
        }
        knob->state = KNOB_OURS;
        knob->error = 0;
        return 0;
}

/* Of a knob that cannot be read all that can be said is what was wanted of it. */
static int unreadable(Knobs *knobs, KnobEntry *entry, const char *value, int error)
{
        if (error == -ENOENT) {
                knob_entry_forget(knobs, entry);
                return error;
        }
        if (error == -EBUSY) {
                if (!entry->record)
                        knob_entry_forget(knobs, entry);
                return 0;
        }
        if (!entry->record)
                replace(&entry->knob.ours, value);
        return knob_entry_fail(entry, error);
}

/* A dry run remembers what would have been written, to count it once. */
static int pretend(Knobs *knobs, const KnobKind *kind, const char *name, const char *value)
{
        g_autofree char *key = g_strdup_printf("%s %s", kind->name, name), *now = NULL;
        const char *then;
        int r;

        r = kind->read(&knobs->context, name, &now);
        if (r < 0)
                return r;
        then = g_hash_table_lookup(knobs->pretended, key);
        if (knob_same(kind, then ? then : now, value))
                return 0;
        knobs->writes++;
        g_hash_table_replace(knobs->pretended, g_steal_pointer(&key), g_strdup(value));
        return 0;
}

static int set_open(Knobs *knobs, KnobEntry *entry, const char *value)
{
        const KnobKind *kind = entry->knob.kind;
        g_autofree char *now = NULL;
        int r;

        r = knob_entry_read(knobs, entry, &now);
        if (r < 0)
                return unreadable(knobs, entry, value, r);
        if (entry->record && !knob_entry_explains(knobs, entry, now))
                return knob_entry_disown(knobs, entry);
        if (knob_same(kind, now, value))
                return confirm(knobs, entry, now);
        return change(knobs, entry, now, value);
}

int knob_set(Knobs *knobs, const KnobKind *kind, const char *name, const char *value)
{
        KnobEntry *entry;
        int r;

        if (knobs->dry_run)
                return pretend(knobs, kind, name, value);
        entry = knob_entry_get(knobs, kind, name);
        if (entry->knob.state == KNOB_FOREIGN)
                return -ESTALE;
        knob_entry_open(knobs, entry);
        r = set_open(knobs, entry, value);
        knob_entry_close(knobs);
        return r;
}

int knob_release(Knobs *knobs, const KnobKind *kind, const char *name)
{
        KnobEntry *entry = knob_entry_find(knobs, kind, name);
        g_autofree char *key = NULL, *original = NULL;

        if (knobs->dry_run) {
                key = g_strdup_printf("%s %s", kind->name, name);
                knobs->writes += g_hash_table_remove(knobs->pretended, key);
                return 0;
        }
        if (!entry || entry->knob.state == KNOB_FOREIGN)
                return 0;
        if (!entry->record)
                return knob_entry_forget(knobs, entry);
        original = g_strdup(entry->knob.original);
        return knob_set(knobs, kind, name, original);
}

bool knob_is_as_written(const ActContext *context, const Knob *knob, const char *found)
{
        return knob_same(knob->kind, found, knob->ours) ||
               (knob->ours && knob->kind->held &&
                knob->kind->held(context, knob->name, knob->ours, found));
}

bool knob_is_confining(const Knob *knob)
{
        return knob->state == KNOB_OURS &&
               (!knob->kind->confines || knob->kind->confines(knob->name));
}

int knob_adopt(Knobs *knobs, const KnobKind *kind, const char *name)
{
        KnobEntry *entry = knob_entry_find(knobs, kind, name);
        g_autofree char *now = NULL;
        int r;

        if (!entry || !entry->record || entry->knob.state == KNOB_FOREIGN || knobs->dry_run)
                return -ENOENT;
        r = knob_entry_read(knobs, entry, &now);
        return r < 0 ? r : knob_entry_adopt(knobs, entry, now);
}
