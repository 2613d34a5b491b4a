/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading a recording.
 */
#include "recording/read.h"

#include <errno.h>
#include <math.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "recording/table.h"

#define CHUNK (64u << 10)

struct RecordingReader {
        int fd;
        GByteArray *buffer;
        size_t at;       /* in the buffer: where the next frame begins */
        uint64_t offset; /* of that in the file */
        bool ended;      /* there are no more bytes than those of the buffer */
        RecordingReport report;
        Tables *tables;
        GString *text;
        RecordedFrame frame;
};

/* Reads from a descriptor, which is closed in the end. */
static RecordingReader *reader_new(int fd)
{
        RecordingReader *reader = g_new0(RecordingReader, 1);

        reader->fd = fd;
        reader->buffer = g_byte_array_new();
        reader->text = g_string_new(NULL);
        reader->tables = tables_new();
        return reader;
}

int recording_reader_open(int dir, const char *path, RecordingReader **ret_reader)
{
        struct stat st;
        int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                        : openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
                close(fd);
                return -EISDIR;
        }
        *ret_reader = reader_new(fd);
        return 0;
}

void recording_reader_free(RecordingReader *reader)
{
        if (!reader)
                return;
        fd_close(&reader->fd);
        g_byte_array_unref(reader->buffer);
        g_string_free(reader->text, TRUE);
        tables_free(reader->tables);
        g_free(reader);
}

static size_t available(const RecordingReader *reader)
{
        return reader->buffer->len - reader->at;
}

static const uint8_t *next_bytes(const RecordingReader *reader)
{
        return reader->buffer->data + reader->at;
}

static void consume(RecordingReader *reader, size_t n)
{
        reader->at += n;
        reader->offset += n;
}

/* 1: so many bytes are there; 0: the input ends before; negative errno. */
static int ensure(RecordingReader *reader, size_t n)
{
        if (available(reader) < n && reader->at > 0 && !reader->ended) {
                g_byte_array_remove_range(reader->buffer, 0, (guint)reader->at);
                reader->at = 0;
        }
        while (available(reader) < n && !reader->ended) {
                guint length = reader->buffer->len;
                ssize_t got;

                g_byte_array_set_size(reader->buffer, length + CHUNK);
                do
                        got = read(reader->fd, reader->buffer->data + length, CHUNK);
                while (got < 0 && errno == EINTR);
                g_byte_array_set_size(reader->buffer, length + (guint)MAX(got, 0));
                if (got < 0)
                        return -errno;
                reader->report.bytes += (uint64_t)got;
                reader->ended = got == 0;
        }
        return available(reader) >= n;
}

int recording_read_raw(RecordingReader *reader, FrameHead *ret_head, const uint8_t **ret_data)
{
        RecordingReport *report = &reader->report;
        FrameHead head;
        int r = ensure(reader, FRAME_HEAD_SIZE);

        if (r > 0) {
                r = frame_head_parse(next_bytes(reader), &head);
                report->old = r == -EPROTONOSUPPORT;
                r = r == 0 ? ensure(reader, FRAME_HEAD_SIZE + head.stored) : 0;
        }
        if (r <= 0) {
                report->cut = r == 0 && available(reader) > 0;
                report->cut_at = reader->offset;
                return r;
        }
        *ret_head = head;
        *ret_data = next_bytes(reader);
        consume(reader, FRAME_HEAD_SIZE + head.stored);
        return 1;
}

int recording_read(RecordingReader *reader, const RecordedFrame **ret_frame)
{
        RecordingReport *report = &reader->report;
        const uint8_t *data;
        FrameHead head;
        int r;

        while ((r = recording_read_raw(reader, &head, &data)) > 0) {
                if (head.version > FRAME_VERSION) {
                        report->newer++;
                        report->newest_version = MAX(report->newest_version, head.version);
                        continue;
                }
                r = frame_unpack(data + FRAME_HEAD_SIZE, head.stored, reader->text);
                if (r == 0)
                        r = tables_parse(reader->tables, reader->text, &reader->frame);
                if (r < 0) {
                        report->damaged++;
                        continue;
                }
                report->frames++;
                reader->frame.last_usec = head.last_usec;
                *ret_frame = &reader->frame;
                return 1;
        }
        return r;
}

const RecordingReport *recording_report(const RecordingReader *reader)
{
        return &reader->report;
}

static void add_sentence(GString *text, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void add_sentence(GString *text, const char *format, ...)
{
        va_list arguments;

        if (text->len > 0)
                g_string_append(text, "; ");
        va_start(arguments, format);
        g_string_append_vprintf(text, format, arguments);
        va_end(arguments);
}

char *recording_problem(const RecordingReader *reader)
{
        const RecordingReport *report = &reader->report;
        bool any = report->frames + report->newer + report->damaged > 0;
        GString *text = g_string_new(NULL);

        if (report->bytes == 0)
                add_sentence(text, "the file is empty, expected a recording");
        else if (report->old)
                add_sentence(text, "the recording has the form of idled 0.1; export it with "
                                   "idlectl of that version");
        else if (!any)
                add_sentence(text, "found no frame of a recording, expected a file that idlelab "
                                   "record or idled wrote");
        if (report->newer > 0)
                add_sentence(text,
                             "%" PRIu64 " frames have version %u and were left out; this program "
                             "reads versions up to %d",
                             report->newer, report->newest_version, FRAME_VERSION);
        if (report->damaged > 0)
                add_sentence(text, "%" PRIu64 " damaged frame%s left out", report->damaged,
                             report->damaged == 1 ? " was" : "s were");
        if (any && report->cut && !report->old)
                add_sentence(text,
                             "no whole frame follows at byte %" PRIu64
                             ", as after a crash; the rest was left out",
                             report->cut_at);
        return g_string_free(text, text->len == 0);
}

const RecordedTable *recorded_table(const RecordedFrame *frame, const char *name)
{
        for (int i = 0; i < frame->n_tables; i++)
                if (g_str_equal(frame->tables[i].name, name))
                        return &frame->tables[i];
        return NULL;
}

const RecordedColumn *recorded_column(const RecordedTable *table, const char *name, const char *of)
{
        for (int i = 0; table && i < table->n_columns; i++)
                if (g_str_equal(table->columns[i].name, name) &&
                    g_str_equal(table->columns[i].of, of ?: ""))
                        return &table->columns[i];
        return NULL;
}

const double *recorded_numbers(const RecordedTable *table, const char *name, const char *of)
{
        const RecordedColumn *column = recorded_column(table, name, of);

        return column ? column->numbers : NULL;
}

const char *const *recorded_texts(const RecordedTable *table, const char *name, const char *of)
{
        const RecordedColumn *column = recorded_column(table, name, of);

        return column ? column->texts : NULL;
}

size_t recorded_rows_at(const RecordedTable *table, double time_usec, size_t *next)
{
        const double *times = recorded_numbers(table, "time_usec", NULL);
        size_t first;

        if (!isfinite(time_usec))
                return *next;
        while (times && *next < table->n_rows && !(times[*next] >= time_usec))
                ++*next;
        first = *next;
        while (times && *next < table->n_rows && times[*next] == time_usec)
                ++*next;
        return first;
}
