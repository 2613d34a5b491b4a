/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The record of originals.
 *
 * Lines are only ever appended, what belongs together with one write(2), so that a kill of the
 * daemon at any point leaves whole lines and at most one that was cut short, which is the last and
 * does not count. Lines that could not be written whole (a full /run) are cut off again before
 * anything else is appended; until that succeeds nothing is, and so nothing of the machine is
 * changed.
 *
 * A file that is only appended to grows with every change of a knob. Three lines say all about one:
 * what was found, and the last two values written. Once there are twice as many and more, the
 * necessary lines are written to a second file that takes the record's place by rename(2), which
 * is there whole or not at all.
 */
#include "act/knob/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "act/knob/undo-line.h"
#include "act/knob/undo-load.h"
#include "base/file.h"

#define RECORD_NEW   "undo.new"
#define RECORD_ASIDE "undo.aside" /* a damaged one, until the record is another file */

/* How many lines more than twice the necessary ones the file may have: rewriting it must not cost
 * more than all that was appended since. */
#define SUPERFLUOUS_LIMIT 256

struct Undo {
        int run;
        int fd; /* the record, for appending; -1: not open yet */
        char *header;
        GString *text; /* being put together for the file */
        UndoEntries entries;
        int skipped;
        off_t length;       /* of the file as far as it counts */
        bool dirty;         /* there may be something behind `length` */
        unsigned lines;     /* without the header */
        unsigned compactor; /* after a failure: the number of lines at which it is rewritten next */
};

/* Opens a file of the record. What is no file, as a FIFO, would have us wait for its other end. */
static int file_open(int run, const char *name, int flags)
{
        int fd = openat(run, name, flags | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0600);
        struct stat st = { 0 };

        if (fd < 0)
                return errno == ENXIO ? -EBADMSG : -errno;
        if (fstat(fd, &st) >= 0 && S_ISREG(st.st_mode))
                return fd;
        close(fd);
        return S_ISDIR(st.st_mode) ? -EISDIR : -EBADMSG;
}

static int record_load(Undo *undo)
{
        _fd_ int fd = file_open(undo->run, UNDO_RECORD, O_RDONLY);
        UndoLoad load;
        int r;

        if (fd < 0)
                return fd == -ENOENT ? 0 : fd;
        r = undo_load(fd, undo->header, &undo->entries, &load);
        if (r < 0)
                return r;
        if (load.other) /* its values ended with its kernel */
                load.skipped = 0;
        if (undo->entries.list.length == 0 && load.skipped == 0 &&
            unlinkat(undo->run, UNDO_RECORD, 0) == 0)
                load.trusted = false; /* there is no header any more */
        undo->skipped = load.skipped;
        undo->dirty = true;
        undo->length = load.trusted ? load.length : 0;
        undo->lines = load.trusted ? load.lines : 0;
        return 0;
}

int undo_open(int run, const char *boot_id, Undo **ret_undo)
{
        g_autoptr(Undo) undo = g_new0(Undo, 1);
        int r;

        undo->run = run;
        undo->fd = -1;
        undo->header = g_strconcat(UNDO_MAGIC, boot_id, NULL);
        undo->text = g_string_new(NULL);
        undo_entries_init(&undo->entries);
        if (run >= 0) {
                r = record_load(undo);
                if (r < 0)
                        return r;
                if (undo->skipped == 0) /* the program that set one aside may have died before its
                                           end */
                        renameat(run, RECORD_ASIDE, run, UNDO_DAMAGED);
        }
        *ret_undo = g_steal_pointer(&undo);
        return 0;
}

void undo_free(Undo *undo)
{
        if (!undo)
                return;
        fd_close(&undo->fd);
        undo_entries_done(&undo->entries);
        g_string_free(undo->text, TRUE);
        g_free(undo->header);
        g_free(undo);
}

/* One write(2); a part of the text is as bad as nothing. */
static int write_whole(int fd, const GString *text)
{
        ssize_t n;

        do
                n = write(fd, text->str, text->len);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        return (size_t)n == text->len ? 0 : -ENOSPC;
}

/* Puts a file with only the necessary lines in the record's place. */
static int record_rewrite(Undo *undo)
{
        _fd_ int fd = file_open(undo->run, RECORD_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
        g_autoptr(GString) text = g_string_new(undo->header);
        unsigned lines;
        int r;

        if (fd < 0)
                return fd;
        g_string_append_c(text, '\n');
        lines = undo_entries_append(&undo->entries, text);
        r = write_whole(fd, text);
        if (r == 0 && renameat(undo->run, RECORD_NEW, undo->run, UNDO_RECORD) < 0)
                r = -errno;
        if (r < 0) {
                unlinkat(undo->run, RECORD_NEW, 0);
                return r;
        }
        fd_close(&undo->fd);
        undo->fd = fd;
        fd = -1;
        undo->length = (off_t)text->len;
        undo->dirty = false;
        undo->lines = lines;
        return 0;
}

/* Rewrites a file that has grown. That it cannot be is no reason to stop: it is tried again later.
 */
static void record_compact(Undo *undo)
{
        unsigned limit = 2 * 3 * undo->entries.list.length + SUPERFLUOUS_LIMIT;

        if (undo->run < 0 || undo->lines <= MAX(limit, undo->compactor))
                return;
        if (record_rewrite(undo) < 0)
                undo->compactor = undo->lines + SUPERFLUOUS_LIMIT;
        else
                undo->compactor = 0;
}

/* Has the record open and nothing in it that does not count. */
static int record_ready(Undo *undo)
{
        struct stat st;

        if (undo->run < 0)
                return 0;
        if (undo->fd < 0) {
                int fd = file_open(undo->run, UNDO_RECORD, O_WRONLY | O_CREAT | O_APPEND);

                if (fd < 0)
                        return fd;
                undo->fd = fd;
        }
        if (fstat(undo->fd, &st) < 0)
                return -errno;
        if (st.st_nlink == 0) /* the file was removed from the directory */
                return record_rewrite(undo);
        if (undo->dirty && ftruncate(undo->fd, undo->length) < 0)
                return -errno;
        undo->dirty = false;
        return 0;
}

/* The file is gone. */
static void record_end(Undo *undo)
{
        unlinkat(undo->run, RECORD_NEW, 0); /* if a rewrite was cut short */
        fd_close(&undo->fd);
        undo->fd = -1;
        undo->length = 0;
        undo->lines = 0;
        undo->dirty = true;
}

/* The text for the next lines to go to, empty except for the header if the file needs one. */
static GString *record_begin(Undo *undo)
{
        g_string_truncate(undo->text, 0);
        if (undo->length == 0) {
                g_string_append(undo->text, undo->header);
                g_string_append_c(undo->text, '\n');
        }
        return undo->text;
}

/* Appends that text, `n` lines, not counting the header. */
static int record_append(Undo *undo, unsigned n)
{
        int r;

        if (undo->run < 0)
                return 0;
        r = write_whole(undo->fd, undo->text);
        if (r < 0) {
                undo->dirty = ftruncate(undo->fd, undo->length) < 0;
                if (undo->length == 0 && unlinkat(undo->run, UNDO_RECORD, 0) == 0)
                        record_end(undo);
                return r;
        }
        undo->length += (off_t)undo->text->len;
        undo->lines += n;
        return 0;
}

/* Adds the step's lines. Returns how many. */
static unsigned step_append(const UndoStep *step, GString *text)
{
        if (step->found)
                undo_line_append(text, "found", step->entry, step->found);
        undo_line_append(text, step->value ? "write" : "done", step->entry, step->value);
        return step->found ? 2 : 1;
}

/* Does what the lines say. */
static void step_take(Undo *undo, UndoStep *step)
{
        if (step->found)
                undo_entries_add(&undo->entries, step->entry);
        step->found = NULL;
        if (step->value) {
                undo_entry_advance(step->entry, step->value);
        } else {
                undo_entries_remove(&undo->entries, step->entry);
                step->entry = NULL;
        }
}

/* Makes entries for knobs that begin; -EEXIST: one is on record already. */
static int steps_prepare(Undo *undo, UndoStep *steps, unsigned n)
{
        int r = 0;

        for (unsigned i = 0; i < n; i++) {
                if (!steps[i].found)
                        continue;
                steps[i].entry = undo_entry_new(steps[i].kind, steps[i].name, steps[i].found);
                if (g_hash_table_contains(undo->entries.index, steps[i].entry))
                        r = -EEXIST;
        }
        return r;
}

/* True if nothing is on record once these steps are done. */
static bool is_end(const Undo *undo, const UndoStep *steps, unsigned n)
{
        for (unsigned i = 0; i < n; i++)
                if (steps[i].value)
                        return false;
        return n == undo->entries.list.length && undo->run >= 0;
}

static int record_steps(Undo *undo, const UndoStep *steps, unsigned n)
{
        unsigned lines = 0;
        GString *text;
        int r;

        if (is_end(undo, steps, n) &&
            (unlinkat(undo->run, UNDO_RECORD, 0) == 0 || errno == ENOENT)) {
                record_end(undo);
                return 0;
        }
        r = record_ready(undo);
        if (r < 0)
                return r;
        text = record_begin(undo);
        for (unsigned i = 0; i < n; i++)
                lines += step_append(&steps[i], text);
        return record_append(undo, lines);
}

int undo_put(Undo *undo, UndoStep *steps, unsigned n)
{
        int r;

        if (n == 0)
                return 0;
        r = steps_prepare(undo, steps, n);
        if (r == 0)
                r = record_steps(undo, steps, n);
        for (unsigned i = 0; i < n; i++) {
                if (r == 0) {
                        step_take(undo, &steps[i]);
                } else if (steps[i].found) {
                        undo_entry_free(steps[i].entry);
                        steps[i].entry = NULL;
                }
        }
        if (r == 0)
                record_compact(undo);
        return r;
}

/* Puts in the record's place what was understood of it, if anything was. */
static int record_renew(Undo *undo)
{
        if (undo->entries.list.length > 0)
                return record_rewrite(undo);
        if (unlinkat(undo->run, UNDO_RECORD, 0) < 0)
                return -errno;
        record_end(undo);
        return 0;
}

/* Takes the damaged record back, which is `length` bytes and so many lines as far as it counts. */
static void record_return(Undo *undo, off_t length, unsigned lines)
{
        if (renameat(undo->run, RECORD_ASIDE, undo->run, UNDO_RECORD) < 0)
                return;
        fd_close(&undo->fd);
        undo->fd = -1;
        undo->length = length;
        undo->lines = lines;
        undo->dirty = true;
}

/* The name that people look for, and where an older one may be, is the last step: before it all can
 * be undone. */
int undo_set_aside(Undo *undo)
{
        off_t length = undo->length;
        unsigned lines = undo->lines;
        int r;

        if (undo->skipped == 0)
                return 0;
        unlinkat(undo->run, RECORD_ASIDE, 0); /* if this was cut short */
        if (linkat(undo->run, UNDO_RECORD, undo->run, RECORD_ASIDE, 0) < 0)
                return -errno;
        r = record_renew(undo);
        if (r < 0) {
                unlinkat(undo->run, RECORD_ASIDE, 0);
                return r;
        }
        if (renameat(undo->run, RECORD_ASIDE, undo->run, UNDO_DAMAGED) < 0) {
                r = -errno;
                record_return(undo, length, lines);
                return r;
        }
        undo->skipped = 0;
        return 1;
}

int undo_entries(const Undo *undo, UndoEntry *const **ret_entries, int *ret_skipped)
{
        GPtrArray *array = undo->entries.array;

        g_ptr_array_set_size(array, 0);
        for (GList *link = undo->entries.list.head; link; link = link->next)
                g_ptr_array_add(array, link->data);
        *ret_entries = (UndoEntry *const *)array->pdata;
        if (ret_skipped)
                *ret_skipped = undo->skipped;
        return (int)array->len;
}
