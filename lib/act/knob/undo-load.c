/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the record of originals, whatever has become of the file: lines that make no sense are
 * counted and left out, and so is what is too long to be believed.
 */
#include "act/knob/undo-load.h"

#include <errno.h>
#include <string.h>

#include "act/knob/undo-line.h"
#include "base/file.h"

/* The longest line that is believed: a path and a list of 8192 single CPUs, escaped. */
#define LINE_LIMIT (64u << 10)

#define BOOT_ID "proc/sys/kernel/random/boot_id"

int undo_boot_id(int root, char **ret_id)
{
        char text[64];
        int r = file_read_value(root, BOOT_ID, text, sizeof(text));

        if (r < 0 && r != -ENOENT && r != -EBADMSG && r != -EFBIG)
                return r;
        *ret_id = g_strdup(r > 0 ? text : "unknown");
        return 0;
}

/* Takes up one line of the file; false if it makes no sense here. */
static bool line_take(UndoEntries *entries, const GString *line)
{
        g_auto(GStrv) fields = undo_line_split(line);
        unsigned n = fields ? g_strv_length(fields) : 0;
        UndoEntry *entry;

        if (n < 3)
                return false;
        entry = undo_entries_find(entries, fields[1], fields[2]);
        if (n == 4 && !entry && g_str_equal(fields[0], "found"))
                undo_entries_add(entries, undo_entry_new(fields[1], fields[2], fields[3]));
        else if (n == 4 && entry && g_str_equal(fields[0], "write"))
                undo_entry_advance(entry, fields[3]);
        else if (n == 3 && entry && g_str_equal(fields[0], "done"))
                undo_entries_remove(entries, entry);
        else
                return false;
        return true;
}

typedef struct Reader {
        const char *header;
        UndoEntries *entries;
        GString *line;
        bool overlong; /* the line is too long and its start was thrown away */
        bool begun;    /* the header has been read */
        UndoLoad load;
} Reader;

static void reader_take_line(Reader *reader)
{
        const char *line = reader->line->str;
        UndoLoad *load = &reader->load;
        bool understood = false;

        if (!reader->begun) {
                reader->begun = true;
                load->trusted = g_str_equal(line, reader->header);
                load->other = !load->trusted && g_str_has_prefix(line, UNDO_MAGIC);
                understood = load->trusted || load->other;
        } else {
                load->lines++;
                if (load->trusted && !reader->overlong)
                        understood = line_take(reader->entries, reader->line);
        }
        load->skipped += !understood;
        reader->overlong = false;
}

static void reader_take(Reader *reader, const char *data, size_t size)
{
        while (size > 0) {
                const char *end = memchr(data, '\n', size);
                size_t n = end ? (size_t)(end - data) : size;

                if (reader->line->len + n > LINE_LIMIT)
                        reader->overlong = true;
                else
                        g_string_append_len(reader->line, data, (gssize)n);
                reader->load.size += (off_t)n + !!end;
                n += !!end;
                data += n;
                size -= n;
                if (!end)
                        break;
                reader_take_line(reader);
                g_string_truncate(reader->line, 0);
                reader->load.length = reader->load.size;
        }
}

/* Checks what follows the last whole line: a line that was being written, or something that does
 * not even begin as a record. */
static void reader_end(Reader *reader)
{
        const GString *line = reader->line;
        const char *rest = line->str;

        if (reader->begun || reader->load.size == 0)
                return;
        if (reader->overlong || strlen(rest) != line->len ||
            !(g_str_has_prefix(UNDO_MAGIC, rest) || g_str_has_prefix(rest, UNDO_MAGIC)))
                reader->load.skipped++;
}

int undo_load(int fd, const char *header, UndoEntries *entries, UndoLoad *ret_load)
{
        g_autofree char *buffer = g_malloc(LINE_LIMIT);
        g_autoptr(GString) line = g_string_new(NULL);
        Reader reader = { .header = header, .entries = entries, .line = line };
        ssize_t n;

        while ((n = fd_read_full(fd, buffer, LINE_LIMIT)) > 0)
                reader_take(&reader, buffer, (size_t)n);
        if (n < 0)
                return (int)n;
        reader_end(&reader);
        *ret_load = reader.load;
        return 0;
}
