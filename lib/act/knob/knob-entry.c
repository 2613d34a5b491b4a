/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list of knobs, kept in the order in which they were first set and found by kind and name; and
 * what is done with one of them: read, write, record.
 */
#include "act/knob/knob-entry.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "act/knob/undo-load.h"
#include "base/file.h"
#include "base/hash.h"

#define LATE_STEP_USEC 1000
/* A step takes no more of the patience: what delays idled delays the worker of the kernel, too. */
#define LATE_STEP_MOST_USEC 10000

static void entry_free(void *data)
{
        KnobEntry *entry = data;

        fd_close(&entry->fd);
        g_free(entry->knob.original);
        g_free(entry->knob.ours);
        g_free(entry->knob.before);
        g_free(entry);
}

static unsigned entry_hash(const void *data)
{
        const KnobEntry *entry = data;

        return entry->hash;
}

/* What an entry of that kind and name is found by. */
static KnobEntry make_key(const KnobKind *kind, const char *name)
{
        return (KnobEntry){ .knob = { .kind = kind, .name = (char *)name },
                            .hash = text_hash(name) ^ g_direct_hash(kind) };
}

static gboolean entry_equal(const void *a, const void *b)
{
        const KnobEntry *x = a, *y = b;

        return x->knob.kind == y->knob.kind && g_str_equal(x->knob.name, y->knob.name);
}

Knobs *knobs_new(const ActContext *context, int run, bool dry_run)
{
        Knobs *knobs = g_new0(Knobs, 1);
        g_autofree char *boot_id = NULL;

        knobs->context = *context;
        knobs->dir_fd = -1;
        knobs->kept_max = knobs_kept_max();
        knobs->dry_run = dry_run;
        knobs->list = g_ptr_array_new_with_free_func(entry_free);
        knobs->index = g_hash_table_new(entry_hash, entry_equal);
        knobs->pretended = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        knobs->undo_error = run < 0 ? 0 : undo_boot_id(context->root, &boot_id);
        if (knobs->undo_error == 0)
                knobs->undo_error = undo_open(run, boot_id, &knobs->undo);
        return knobs;
}

void knobs_free(Knobs *knobs)
{
        if (!knobs)
                return;
        undo_free(knobs->undo);
        g_hash_table_unref(knobs->pretended);
        g_hash_table_unref(knobs->index);
        g_ptr_array_unref(knobs->list);
        g_free(knobs);
}

KnobEntry *knob_entry_find(const Knobs *knobs, const KnobKind *kind, const char *name)
{
        const KnobEntry key = make_key(kind, name);

        return g_hash_table_lookup(knobs->index, &key);
}

KnobEntry *knob_entry_get(Knobs *knobs, const KnobKind *kind, const char *name)
{
        const KnobEntry key = make_key(kind, name);
        KnobEntry *entry = g_hash_table_lookup(knobs->index, &key);
        size_t size = strlen(name) + 1;

        if (entry)
                return entry;
        entry = g_malloc0(sizeof(*entry) + size);
        entry->knob.kind = kind;
        entry->knob.name = memcpy(entry + 1, name, size);
        entry->hash = key.hash;
        entry->fd = -1;
        entry->serial = ++knobs->serial;
        g_ptr_array_add(knobs->list, entry);
        g_hash_table_add(knobs->index, entry);
        return entry;
}

bool knob_same(const KnobKind *kind, const char *a, const char *b)
{
        if (!a || !b)
                return false;
        return g_str_equal(a, b) || (kind->equal && kind->equal(a, b));
}

bool knob_entry_rests_at(const KnobEntry *entry, const char *now, const char *value)
{
        const Knob *knob = &entry->knob;

        return knob_same(knob->kind, now, value) &&
               (!knob->kind->late || !entry->record || knob_same(knob->kind, knob->ours, value));
}

static uint64_t file_identity(const Knobs *knobs, const Knob *knob)
{
        g_autofree char *path = g_build_filename(knob->kind->dir, knob->name, NULL);
        struct stat file;

        return fstatat(knobs->context.root, path, &file, 0) < 0 ? 0 : file.st_ino;
}

/* Identifies the file or unit that the knob's name now stands for; 0: not known. */
static uint64_t identify(const Knobs *knobs, const Knob *knob)
{
        if (knob->kind->identity)
                return knob->kind->identity(&knobs->context, knob->name);
        return knob->kind->dir ? file_identity(knobs, knob) : 0;
}

void knob_entry_settle(const Knobs *knobs, KnobEntry *entry)
{
        entry->knob.state = KNOB_OURS;
        entry->knob.error = 0;
        entry->sure = true;
        entry->same = entry->fd >= 0 && !entry->knob.kind->identity;
        if (!entry->same)
                entry->identity = identify(knobs, &entry->knob);
}

/* True if the knob may still have, or have again, what it had before the last write. */
static bool may_be_as_before(const Knobs *knobs, const KnobEntry *entry)
{
        uint64_t then = entry->same ? knob_entry_file(entry) : entry->identity;

        return !entry->sure || then == 0 || then != identify(knobs, &entry->knob);
}

static bool is_held(const ActContext *context, const Knob *knob, const char *wanted,
                    const char *value)
{
        return wanted && value && knob->kind->held &&
               knob->kind->held(context, knob->name, wanted, value);
}

bool knob_entry_explains(const Knobs *knobs, const KnobEntry *entry, const char *value)
{
        const Knob *knob = &entry->knob;

        return knob_same(knob->kind, value, knob->ours) ||
               ((knob_same(knob->kind, value, knob->before) ||
                 knob_same(knob->kind, value, knob->original)) &&
                may_be_as_before(knobs, entry)) ||
               (knob->kind->passes && knob->original &&
                knob->kind->passes(&knobs->context, knob->original, value)) ||
               is_held(&knobs->context, knob, knob->ours, value);
}

bool knob_entry_is_held(const Knobs *knobs, const KnobEntry *entry, const char *wanted,
                        const char *value)
{
        return is_held(&knobs->context, &entry->knob, wanted, value);
}

int knob_entry_read_back(Knobs *knobs, KnobEntry *entry, const char *wanted, char **ret_value)
{
        const Knob *knob = &entry->knob;

        for (;;) {
                g_autofree char *now = NULL;
                int64_t began = g_get_monotonic_time();
                int r = knob_entry_read(knobs, entry, &now);

                if (r < 0)
                        return r;
                if (!knob->kind->late || !wanted || knobs->patience_usec <= 0 ||
                    knob_same(knob->kind, now, wanted) ||
                    is_held(&knobs->context, knob, wanted, now)) {
                        *ret_value = g_steal_pointer(&now);
                        return 0;
                }
                g_usleep(LATE_STEP_USEC);
                knobs->patience_usec -= MIN(g_get_monotonic_time() - began, LATE_STEP_MOST_USEC);
        }
}

/* The knobs that a write to this one can disturb and whose value is explained now. */
static GPtrArray *list_explained(Knobs *knobs, const Knob *knob)
{
        const KnobKind *kind = knob->kind->disturbs;
        GPtrArray *explained = g_ptr_array_new();

        for (unsigned i = 0; i < knobs->list->len; i++) {
                KnobEntry *entry = knobs->list->pdata[i];
                g_autofree char *now = NULL;

                if (entry->knob.kind == kind && entry->record &&
                    (!knob->kind->reaches || knob->kind->reaches(knob->name, entry->knob.name)) &&
                    knob_entry_read(knobs, entry, &now) >= 0 &&
                    knob_entry_explains(knobs, entry, now))
                        g_ptr_array_add(explained, entry);
        }
        return explained;
}

int knob_entry_write(Knobs *knobs, KnobEntry *entry, const char *value)
{
        const KnobKind *kind = entry->knob.kind;
        g_autoptr(GPtrArray) explained = kind->disturbs ? list_explained(knobs, &entry->knob)
                                                        : NULL;
        bool apart = kind->write_apart && knobs->context.live;
        int r = entry->fd >= 0 && !apart ? knob_entry_write_file(knobs, entry, value)
                                         : kind->write(&knobs->context, entry->knob.name, value);

        knobs->writes += r >= 0;
        for (unsigned i = 0; explained && i < explained->len; i++) {
                g_autofree char *now = NULL;

                if (knob_entry_read(knobs, explained->pdata[i], &now) >= 0)
                        knob_entry_adopt(knobs, explained->pdata[i], now);
        }
        return r;
}

void knob_entry_note(KnobEntry *entry, const char *value)
{
        g_free(entry->knob.before);
        entry->knob.before = entry->knob.ours;
        entry->knob.ours = g_strdup(value);
}

int knob_entry_announce(Knobs *knobs, KnobEntry *entry, const char *value)
{
        UndoStep step = { .entry = entry->record, .value = value };
        int r = undo_put(knobs->undo, &step, 1);

        if (r < 0)
                return r;
        knob_entry_note(entry, value);
        return 0;
}

int knob_entry_adopt(Knobs *knobs, KnobEntry *entry, const char *value)
{
        if (!entry->record || !value || knob_same(entry->knob.kind, value, entry->knob.ours))
                return 0;
        entry->sure = false;
        if (knob_entry_explains(knobs, entry, value))
                return 0;
        return knob_entry_announce(knobs, entry, value);
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

int knob_entry_unrecord(Knobs *knobs, KnobEntry *entry)
{
        UndoStep step = { .entry = entry->record };
        int r;

        if (!entry->record)
                return 0;
        r = undo_put(knobs->undo, &step, 1);
        if (r < 0)
                return r;
        entry->record = NULL;
        return 0;
}

/* Where the entry is in the list. */
static unsigned find_place(const Knobs *knobs, const KnobEntry *entry)
{
        unsigned first = 0, end = knobs->list->len;

        while (first + 1 < end) {
                unsigned middle = first + (end - first) / 2;
                const KnobEntry *e = knobs->list->pdata[middle];

                if (e->serial <= entry->serial)
                        first = middle;
                else
                        end = middle;
        }
        return first;
}

void knob_entry_drop(Knobs *knobs, KnobEntry *entry)
{
        knob_entry_close(knobs, entry);
        g_hash_table_remove(knobs->index, entry);
        g_ptr_array_remove_index(knobs->list, find_place(knobs, entry));
}

int knob_entry_forget(Knobs *knobs, KnobEntry *entry)
{
        int r = knob_entry_unrecord(knobs, entry);

        if (r < 0)
                return r;
        knob_entry_drop(knobs, entry);
        return 0;
}

int knob_entry_disown(Knobs *knobs, KnobEntry *entry)
{
        knob_entry_close(knobs, entry);
        knob_entry_unrecord(knobs, entry);
        entry->knob.state = KNOB_FOREIGN;
        entry->knob.error = -ESTALE;
        return -ESTALE;
}

int knob_entry_fail(KnobEntry *entry, int error)
{
        entry->knob.state = KNOB_FAILED;
        entry->knob.error = error;
        entry->sure = false;
        return error;
}

const Knob *knob_find(const Knobs *knobs, const KnobKind *kind, const char *name)
{
        const KnobEntry *entry = knob_entry_find(knobs, kind, name);

        return entry ? &entry->knob : NULL;
}

char *knob_failure(const Knobs *knobs, const Knob *knob)
{
        const char *obstacle = knob->error < 0 && knob->kind->obstacle
                                       ? knob->kind->obstacle(&knobs->context, knob->name,
                                                              knob->error)
                                       : NULL;

        return g_strdup_printf("%s%s%s", g_strerror(-knob->error), obstacle ? ": " : "",
                               obstacle ?: "");
}

int knob_original(const Knobs *knobs, const KnobKind *kind, const char *name, char **ret_value)
{
        const Knob *knob = knob_find(knobs, kind, name);

        if (!knob || !knob->original || knob->state == KNOB_FOREIGN)
                return kind->read(&knobs->context, name, ret_value);
        *ret_value = g_strdup(knob->original);
        return 0;
}

int knobs_list(const Knobs *knobs, const Knob *const **ret_knobs)
{
        *ret_knobs = (const Knob *const *)knobs->list->pdata;
        return (int)knobs->list->len;
}

bool knob_is_as_written(const ActContext *context, const Knob *knob, const char *found)
{
        return knob_same(knob->kind, found, knob->ours) ||
               is_held(context, knob, knob->ours, found);
}

bool knob_is_on_record(const Knob *knob)
{
        return ((const KnobEntry *)knob)->record;
}

CpuSet knobs_kept_free(const Knobs *knobs)
{
        CpuSet all = { 0 };

        for (unsigned i = 0; i < knobs->list->len; i++) {
                const Knob *knob = &((const KnobEntry *)knobs->list->pdata[i])->knob;

                if (knob->state == KNOB_OURS && knob->kind->kept_free) {
                        CpuSet kept = knob->kind->kept_free(&knobs->context, knob);

                        cpuset_or(&all, &kept);
                }
        }
        return all;
}

bool knobs_is_dry_run(const Knobs *knobs)
{
        return knobs->dry_run;
}

int knobs_record_error(const Knobs *knobs)
{
        return knobs->record_error;
}

unsigned knobs_writes(const Knobs *knobs)
{
        return knobs->writes;
}
