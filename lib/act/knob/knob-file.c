/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Knobs that are files whose text is the value, read and written by a descriptor.
 *
 * It is opened once for looking, writing and reading back. Where there are very many knobs it is
 * kept open as long as the knob is ours, for a switch of profiles changes all of them; a file of
 * sysfs that goes away, with its CPU or its driver, says so when it is read, and is reached by its
 * path then.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/knob/knob-entry.h"
#include "base/file.h"

/* Values of knobs that are read as files are shorter; longer ones are left to their kind. */
#define VALUE_SIZE 256

/* Files are kept open from one change to the next where there are more knobs than this. Opening one
 * costs more than reading, writing and reading it back; but one of sysfs takes 4.6 kB of the
 * kernel's memory as long as it is open, and for few knobs it makes no difference. */
#define KEEP_FROM 256
#define KEEP_MAX  2048

unsigned knobs_kept_max(void)
{
        struct rlimit limit;

        return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0
                                                    : (unsigned)MIN(limit.rlim_cur / 8, KEEP_MAX);
}

void knobs_close_dir(Knobs *knobs)
{
        fd_close(&knobs->dir_fd);
        knobs->dir_fd = -1;
        knobs->dir = NULL;
}

/* A file of sysfs that is gone says so when it is read; one of a tree of files may be another by
 * now under the same name. */
static bool is_there(const Knobs *knobs, const KnobEntry *entry)
{
        struct stat st;

        return knobs->context.live || (fstat(entry->fd, &st) == 0 && st.st_nlink > 0);
}

/* The descriptor that was kept is for use now; false if there is none. */
static bool take_kept(Knobs *knobs, KnobEntry *entry)
{
        if (!entry->kept)
                return false;
        if (!is_there(knobs, entry)) {
                knob_entry_close(knobs, entry);
                return false;
        }
        entry->kept = false;
        knobs->n_kept--;
        return true;
}

void knob_entry_open(Knobs *knobs, KnobEntry *entry)
{
        const Knob *knob = &entry->knob;
        const char *dir = knob->kind->dir;

        if (take_kept(knobs, entry))
                return;
        entry->size = 0;
        if (!dir || !path_is_below(knob->name)) /* the record could have been damaged */
                return;
        if (knobs->dir != dir) {
                knobs_close_dir(knobs);
                knobs->dir_fd = openat(knobs->context.root, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
                knobs->dir = dir;
        }
        /* Without O_NOATIME each reading after a write would write the time of it; only root may.
         */
        if (knobs->dir_fd >= 0)
                entry->fd = openat(knobs->dir_fd, knob->name,
                                   O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOATIME);
}

void knob_entry_end(Knobs *knobs, KnobEntry *entry)
{
        if (entry->fd < 0 || !entry->record || knobs->list->len <= KEEP_FROM ||
            knobs->n_kept >= knobs->kept_max) {
                knob_entry_close(knobs, entry);
                return;
        }
        entry->kept = true;
        knobs->n_kept++;
}

uint64_t knob_entry_file(const KnobEntry *entry)
{
        struct stat st;

        return fstat(entry->fd, &st) < 0 ? 0 : st.st_ino;
}

/* An open file need not be asked which one it is before it is closed. */
void knob_entry_close(Knobs *knobs, KnobEntry *entry)
{
        if (entry->same && entry->sure)
                entry->identity = knob_entry_file(entry);
        entry->same = false;
        knobs->n_kept -= entry->kept;
        entry->kept = false;
        fd_close(&entry->fd);
        entry->fd = -1;
}

/* A plain file keeps what is behind the text that is written, unlike one of sysfs, so that white
 * space is put over it. */
int knob_entry_write_file(const Knobs *knobs, const KnobEntry *entry, const char *value)
{
        size_t length = strlen(value);
        char padded[VALUE_SIZE];
        ssize_t n;

        if (!knobs->context.live && length < entry->size) {
                memset(padded, '\n', entry->size);
                value = memcpy(padded, value, length); /* NOLINT: is used with its length */
                length = entry->size;
        }
        do
                n = pwrite(entry->fd, value, length, 0);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        return (size_t)n == length ? 0 : -EIO;
}

/* Reads the text behind the knob's descriptor; -EFBIG: that is not all of it. */
static int read_file(KnobEntry *entry, char text[VALUE_SIZE])
{
        int n = fd_read_at_start(entry->fd, text, VALUE_SIZE);

        if (n < 0)
                return n;
        if (n == VALUE_SIZE - 1)
                return -EFBIG;
        entry->size = (uint16_t)n;
        return 0;
}

int knob_entry_read(Knobs *knobs, KnobEntry *entry, char **ret_value)
{
        const KnobKind *kind = entry->knob.kind;
        g_autofree char *value = NULL;
        char text[VALUE_SIZE];
        int r;

        if (entry->fd >= 0 && (!entry->kept || is_there(knobs, entry)) &&
            read_file(entry, text) >= 0 && *g_strchomp(text)) {
                *ret_value = g_strdup(text);
                return 0;
        }
        knob_entry_close(knobs, entry);
        r = kind->read(&knobs->context, entry->knob.name, &value);
        if (r >= 0 && kind->blind && entry->record) {
                *ret_value = g_strdup(entry->knob.ours);
                return 0;
        }
        if (r >= 0 && kind->dir && !*value) /* of no such file the value is empty */
                return -ENODATA;
        if (r >= 0)
                *ret_value = g_steal_pointer(&value);
        return r;
}

bool knob_entry_confirm(KnobEntry *entry, const char *value)
{
        char text[VALUE_SIZE];

        return entry->fd >= 0 && read_file(entry, text) >= 0 &&
               g_str_equal(g_strchomp(text), value);
}
