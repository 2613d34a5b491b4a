/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Setting a knob.
 *
 * The order of steps is what makes the promise of knob.h hold. For a knob that is changed for the
 * first time: read, `found` and `write` on record, write, read back. When several knobs are changed
 * together, all are read, then all are on record, then all are written, then all are read back:
 * what the kernel shows late (a limit of cpufreq, which a kworker applies) is waited for once. A
 * kill before the write leaves the original in place, a kill after it a value that the record
 * announces. The instance that finds the record can distinguish both from a third value, which
 * another program wrote. The original needs no announcement when it is restored: it is on record as
 * found.
 *
 * At any time the value of a knob of ours is the original, the last value or the one before it: the
 * last write may have failed, or not have begun. Before a new value is announced, the record is
 * brought up to what is really there, so that these three always suffice.
 *
 * Once a write has been read back, only its value counts as ours: if the original appears, another
 * program restored it, and the knob is taken over. But the knob's object may have gone and come
 * back meanwhile, as CPUs, groups and drivers do, with a value of its own; files, groups and units
 * show that by their numbers. What idled itself made, or switched on for others, has no such
 * number: partitions, slices and drop-ins are made again when they are as before.
 *
 * If the value read back after our own write is not the one written, it counts as the kernel's
 * version of it: it is announced as ours, and so restored one day. If another program wrote
 * meanwhile, that is the same as a write just before ours, which cannot be seen either.
 */
#include "act/knob/knob.h"

#include <errno.h>

#include "act/knob/knob-entry.h"

static void replace(char **text, const char *value)
{
        g_free(*text);
        *text = g_strdup(value);
}

/* A knob on its way to another value. */
typedef struct Step {
        KnobEntry *entry;
        KnobChange *change;
        const char *value; /* the new value; the original if the change restores the knob */
        char *now;         /* it has; NULL: it is done with */
        bool back;         /* to its original, and it was ours */
} Step;

/* Knobs that go together. */
typedef struct Batch {
        Knobs *knobs;
        unsigned n;
        Step steps[KNOBS_AT_ONCE];
} Batch;

/* After a failure: what is there now counts as ours, and if it is the original the record ends; but
 * not if what was written may be `coming` still. */
static int give_up(Knobs *knobs, KnobEntry *entry, const char *now, bool coming, int error)
{
        if (!coming && knob_same(entry->knob.kind, now, entry->knob.original))
                knob_entry_unrecord(knobs, entry);
        else
                knob_entry_adopt(knobs, entry, now);
        return knob_entry_fail(entry, error);
}

/* A file is kept for the next time only while the knob is ours. */
static void step_end(Knobs *knobs, Step *step)
{
        g_clear_pointer(&step->now, g_free);
        step->entry->busy = false;
        if (step->back)
                knob_entry_close(knobs, step->entry);
        else
                knob_entry_end(knobs, step->entry);
}

/* Finds out what must be known about the knob before it is changed. Returns 1 if `ret_undo` must be
 * recorded for that, 0 if all is there. */
static int step_prepare(Knobs *knobs, Step *step, UndoStep *ret_undo)
{
        KnobEntry *entry = step->entry;
        Knob *knob = &entry->knob;
        int r;

        if (!entry->record) {
                replace(&knob->original, step->change->found ?: step->now);
                replace(&knob->ours, NULL);
                replace(&knob->before, NULL);
        }
        if (knobs->undo_error < 0)
                return knobs->undo_error;
        *ret_undo = (UndoStep){ .entry = entry->record, .value = step->value };
        if (!entry->record) {
                ret_undo->kind = knob->kind->name;
                ret_undo->name = knob->name;
                ret_undo->found = knob->original;
                return 1;
        }
        if (!knob_same(knob->kind, step->now, knob->ours) &&
            !knob_same(knob->kind, step->now, knob->original)) {
                r = knob_entry_announce(knobs, entry, step->now);
                if (r < 0)
                        return r;
        }
        step->back = knob_same(knob->kind, step->value, knob->original);
        if (!step->back)
                return 1;
        entry->sure = false;
        knob_entry_note(entry, step->value);
        return 0;
}

/* The knob cannot be put on record, and so it stays as it is. */
static void step_refuse(Knobs *knobs, Step *step, int error)
{
        KnobEntry *entry = step->entry;

        if (!entry->knob.ours)
                replace(&entry->knob.ours, step->value);
        step->change->result = give_up(knobs, entry, step->now, false, error);
        step_end(knobs, step);
}

/* Puts on record, all at once, what must be there before the knobs are changed. */
static void batch_record(Batch *batch)
{
        UndoStep undo[KNOBS_AT_ONCE];
        Step *whose[KNOBS_AT_ONCE];
        Knobs *knobs = batch->knobs;
        unsigned n = 0;
        int r;

        for (unsigned i = 0; i < batch->n; i++) {
                r = step_prepare(knobs, &batch->steps[i], &undo[n]);
                if (r < 0)
                        step_refuse(knobs, &batch->steps[i], r);
                else if (r > 0)
                        whose[n++] = &batch->steps[i];
        }
        r = undo_put(knobs->undo, undo, n);
        if (n > 0)
                knobs->record_error = MIN(r, 0);
        for (unsigned i = 0; i < n; i++) {
                int error = r < 0 && n > 1 ? undo_put(knobs->undo, &undo[i], 1) : r;

                if (error < 0) {
                        step_refuse(knobs, whose[i], error);
                        continue;
                }
                whose[i]->entry->record = undo[i].entry;
                knob_entry_note(whose[i]->entry, whose[i]->value);
        }
}

/* Looks at what a write came to that returned `r`. Returns 0 if the knob has its value, in whatever
 * words, or is kept from it; `*ret_after` is what it has, left alone if that cannot be read. */
static int check(Knobs *knobs, const Step *step, int r, char **ret_after, bool *ret_gone)
{
        KnobEntry *entry = step->entry;
        int error = knob_entry_read_back(knobs, entry, r < 0 ? NULL : step->value, ret_after);

        *ret_gone = error == -ENOENT;
        if (*ret_gone || (error < 0 && r >= 0))
                return error;
        if (r >= 0 && !knob_same(entry->knob.kind, *ret_after, step->value) &&
            !knob_entry_is_held(knobs, entry, step->value, *ret_after))
                return -EPERM;
        return r;
}

static void step_write(Knobs *knobs, Step *step)
{
        if (step->now)
                step->change->result = knob_entry_write(knobs, step->entry, step->value);
}

/* Judges what the write came to. */
static void step_finish(Knobs *knobs, Step *step)
{
        KnobEntry *entry = step->entry;
        g_autofree char *after = NULL;
        int r = step->change->result;
        bool gone = false, coming = r >= 0 && entry->knob.kind->late;

        if (!step->now)
                return;
        if (r < 0 || !knob_entry_confirm(entry, step->value))
                r = check(knobs, step, r, &after, &gone);
        if (r < 0 && !gone)
                give_up(knobs, entry, after, coming, r);
        else if (!gone && !step->back)
                knob_entry_settle(knobs, entry);
        step_end(knobs, step);
        if (gone)
                knob_entry_forget(knobs, entry);
        step->change->result = r < 0 ? r : 1;
}

/* Takes those off the record, all at once, that have their originals again. */
static void batch_settle(Batch *batch)
{
        UndoStep undo[KNOBS_AT_ONCE];
        KnobEntry *whose[KNOBS_AT_ONCE];
        unsigned n = 0;
        int r;

        for (unsigned i = 0; i < batch->n; i++) {
                const Step *step = &batch->steps[i];

                if (step->change->result <= 0 || !step->back)
                        continue;
                undo[n] = (UndoStep){ .entry = step->entry->record };
                whose[n++] = step->entry;
        }
        r = undo_put(batch->knobs->undo, undo, n);
        for (unsigned i = 0; i < n; i++) {
                if (r < 0 && (n == 1 || undo_put(batch->knobs->undo, &undo[i], 1) < 0)) {
                        knob_entry_settle(batch->knobs, whose[i]);
                        continue;
                }
                whose[i]->record = NULL;
                knob_entry_drop(batch->knobs, whose[i]);
        }
}

/* Carries out what the batch has come to, and empties it. */
static void batch_finish(Batch *batch)
{
        if (batch->n == 0)
                return;
        batch_record(batch);
        for (unsigned i = 0; i < batch->n; i++)
                step_write(batch->knobs, &batch->steps[i]);
        for (unsigned i = 0; i < batch->n; i++)
                step_finish(batch->knobs, &batch->steps[i]);
        batch_settle(batch);
        batch->n = 0;
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
        if (!entry->sure)
                knob_entry_settle(knobs, entry);
        return 0;
}

/* For a knob that cannot be read only the value that was written is known. */
static int unreadable(Knobs *knobs, KnobEntry *entry, const char *value, int error)
{
        if (error == -ENOENT) {
                knob_entry_forget(knobs, entry);
                return error;
        }
        if (error == -EBUSY) {
                entry->sure = false;
                if (!entry->record)
                        knob_entry_forget(knobs, entry);
                return 0;
        }
        if (!entry->record)
                replace(&entry->knob.ours, value);
        return knob_entry_fail(entry, error);
}

/* A dry run remembers what would have been written, to count it once. */
static int pretend(Knobs *knobs, const KnobChange *change)
{
        g_autofree char *key = g_strdup_printf("%s %s", change->kind->name, change->name);
        g_autofree char *now = NULL;
        const char *then;
        int r;

        if (!change->value) {
                knobs->writes += g_hash_table_remove(knobs->pretended, key);
                return 0;
        }
        r = change->kind->read(&knobs->context, change->name, &now);
        if (r < 0)
                return r;
        then = g_hash_table_lookup(knobs->pretended, key);
        if (knob_same(change->kind, then ? then : now, change->value))
                return 0;
        knobs->writes++;
        g_hash_table_replace(knobs->pretended, g_steal_pointer(&key), g_strdup(change->value));
        return 0;
}

/* True if a restore finds the original already there, written by any program. */
static bool is_given_back(const Step *step, const char *now)
{
        const Knob *knob = &step->entry->knob;

        return knob_same(knob->kind, now, knob->original) &&
               knob_same(knob->kind, step->value, knob->original);
}

/* Reads the knob. Returns 1 if it must be written; else the change is done, and this is its
 * result. */
static int step_look(Knobs *knobs, Step *step)
{
        KnobEntry *entry = step->entry;
        g_autofree char *now = NULL;
        bool foreign;
        int r;

        knob_entry_open(knobs, entry);
        r = knob_entry_read(knobs, entry, &now);
        foreign = r >= 0 && entry->record && !is_given_back(step, now) &&
                  !knob_entry_explains(knobs, entry, now);
        if (r >= 0 && !foreign && !knob_entry_rests_at(entry, now, step->value)) {
                step->now = g_steal_pointer(&now);
                entry->busy = true;
                return 1;
        }
        knob_entry_end(knobs, entry);
        if (r < 0)
                return unreadable(knobs, entry, step->value, r);
        return foreign ? knob_entry_disown(knobs, entry) : confirm(knobs, entry, now);
}

/* The knob's entry; NULL: there is none, and nothing to restore. */
static KnobEntry *entry_of(Knobs *knobs, const KnobChange *change)
{
        return change->value ? knob_entry_get(knobs, change->kind, change->name)
                             : knob_entry_find(knobs, change->kind, change->name);
}

/* Takes one more change into the batch, if there is anything to be written for it. */
static void batch_add(Batch *batch, KnobChange *change)
{
        Knobs *knobs = batch->knobs;
        KnobEntry *entry = entry_of(knobs, change);
        Step *step;

        if (batch->n == KNOBS_AT_ONCE || (entry && entry->busy)) {
                batch_finish(batch);
                entry = entry_of(knobs, change);
        }
        step = &batch->steps[batch->n];
        if (!entry || entry->knob.state == KNOB_FOREIGN) {
                change->result = change->value ? -ESTALE : 0;
        } else if (!change->value && !entry->record) {
                change->result = knob_entry_forget(knobs, entry);
        } else {
                *step = (Step){ entry, change, change->value ?: entry->knob.original, NULL, false };
                change->result = step_look(knobs, step);
                batch->n += change->result > 0;
        }
}

void knobs_set(Knobs *knobs, KnobChange *changes, unsigned n)
{
        Batch batch;

        batch.knobs = knobs;
        batch.n = 0;
        knobs->patience_usec = KNOBS_PATIENCE_USEC;
        for (unsigned i = 0; i < n; i++)
                if (knobs->dry_run)
                        changes[i].result = pretend(knobs, &changes[i]);
                else
                        batch_add(&batch, &changes[i]);
        batch_finish(&batch);
        knobs_close_dir(knobs);
}

int knob_set(Knobs *knobs, const KnobKind *kind, const char *name, const char *value)
{
        KnobChange change = { kind, name, value, 0, NULL };

        knobs_set(knobs, &change, 1);
        return change.result;
}

int knob_release(Knobs *knobs, const KnobKind *kind, const char *name)
{
        return knob_set(knobs, kind, name, NULL);
}
