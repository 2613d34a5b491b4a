/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading a recording. Where the bytes are not a frame, the next magic is searched: whatever was
 * written after a crash, or after a place that a disk lost, is found again.
 */
#include "recording/read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "recording/decode.h"

#define CHUNK (64u << 10)

struct RecordingReader {
        int fd; /* -1: all bytes are there */
        GByteArray *buffer;
        size_t at;       /* in the buffer: where the next frame begins */
        uint64_t offset; /* of that in the file */
        bool ended;      /* there are no more bytes than those of the buffer */
        uint64_t damage; /* bytes that were skipped since the last frame */
        bool cut;        /* the first of them are a frame that goes on behind the end */
        RecordingReport report;
        Decoder *decoder;
        GByteArray *contents;
        RecordedFrame frame;
};

/* Reads from a descriptor, which is closed in the end. */
static RecordingReader *reader_new(int fd)
{
        RecordingReader *reader = g_new0(RecordingReader, 1);

        reader->fd = fd;
        reader->buffer = g_byte_array_new();
        reader->contents = g_byte_array_new();
        reader->decoder = decoder_new();
        return reader;
}

RecordingReader *recording_reader_bytes(const void *data, size_t size)
{
        RecordingReader *reader = reader_new(-1);

        g_byte_array_append(reader->buffer, data, (guint)size);
        reader->report.bytes = size;
        reader->ended = true;
        return reader;
}

int recording_reader_open(int dir, const char *path, RecordingReader **ret_reader)
{
        struct stat st;
        int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO)
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
        g_byte_array_unref(reader->contents);
        decoder_free(reader->decoder);
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

/* Goes on to where the next frame may begin. */
static void skip(RecordingReader *reader)
{
        size_t n = 1 + frame_search(next_bytes(reader) + 1, available(reader) - 1);

        if (reader->damage == 0 && reader->report.damaged++ == 0)
                reader->report.first_damage = reader->offset;
        reader->damage += n;
        reader->report.damaged_bytes += n;
        consume(reader, n);
}

/* A frame that a crash cut short is no damage. */
static void end(RecordingReader *reader)
{
        if (reader->damage > 0 && reader->cut) {
                reader->report.incomplete = reader->damage;
                reader->report.damaged--;
                reader->report.damaged_bytes -= reader->damage;
        }
        reader->damage = 0;
}

int recording_read_raw(RecordingReader *reader, FrameHead *ret_head, const uint8_t **ret_data,
                       uint64_t *ret_offset)
{
        for (;;) {
                int r = ensure(reader, FRAME_HEAD_SIZE);
                FrameHead head;

                if (r < 0)
                        return r;
                if (r > 0 && frame_head_parse(next_bytes(reader), &head)) {
                        r = ensure(reader, FRAME_HEAD_SIZE + head.stored);
                        if (r < 0)
                                return r;
                        if (r > 0 && frame_check(next_bytes(reader), &head)) {
                                *ret_head = head;
                                *ret_data = next_bytes(reader);
                                *ret_offset = reader->offset;
                                consume(reader, FRAME_HEAD_SIZE + head.stored);
                                reader->damage = 0;
                                return 1;
                        }
                }
                if (available(reader) == 0 || (reader->report.frames + reader->report.newer == 0 &&
                                               reader->damage > FRAME_STORED_MAX)) {
                        end(reader);
                        return 0;
                }
                if (reader->damage == 0)
                        reader->cut = r == 0;
                skip(reader);
        }
}

int recording_read(RecordingReader *reader, const RecordedFrame **ret_frame)
{
        RecordingReport *report = &reader->report;

        for (;;) {
                const uint8_t *data;
                uint64_t offset;
                FrameHead head;
                int r = recording_read_raw(reader, &head, &data, &offset);

                if (r <= 0)
                        return r;
                r = frame_unpack(data, &head, reader->contents);
                if (r == -EPROTONOSUPPORT) {
                        report->newer++;
                        report->newest_version = MAX(report->newest_version, head.version);
                        continue;
                }
                if (r == 0)
                        r = decoder_run(reader->decoder, reader->contents, &reader->frame,
                                        &report->unknown_columns);
                if (r < 0) {
                        if (report->damaged++ == 0)
                                report->first_damage = offset;
                        report->damaged_bytes += FRAME_HEAD_SIZE + head.stored;
                        continue;
                }
                report->frames++;
                reader->frame.offset = offset;
                reader->frame.last_usec = head.last_usec;
                *ret_frame = &reader->frame;
                return 1;
        }
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
        GString *text = g_string_new(NULL);

        if (report->bytes == 0)
                add_sentence(text, "the file is empty, expected a recording");
        else if (report->frames + report->newer == 0)
                add_sentence(text, "found no frame of a recording, expected a file that idlectl "
                                   "record or idled wrote");
        if (report->newer > 0)
                add_sentence(text,
                             "%" PRIu64 " frames have version %u and were left out; this program "
                             "reads versions up to %d",
                             report->newer, report->newest_version, FRAME_VERSION);
        if (report->frames + report->newer > 0 && report->damaged > 0)
                add_sentence(text,
                             "%" PRIu64 " damaged bytes in %" PRIu64 " place%s were left out, the "
                             "first at offset %" PRIu64,
                             report->damaged_bytes, report->damaged,
                             report->damaged == 1 ? "" : "s", report->first_damage);
        if (report->frames + report->newer > 0 && report->incomplete > 0)
                add_sentence(text,
                             "the last %" PRIu64 " bytes are an incomplete frame, as after a "
                             "crash, and were left out",
                             report->incomplete);
        if (report->unknown_columns > 0)
                add_sentence(text,
                             "%" PRIu64 " columns are of a type that this program does not know "
                             "and were left out",
                             report->unknown_columns);
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
