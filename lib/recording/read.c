/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading a recording. The text of a frame, which may be anything, becomes tables: the reverse of
 * batch.c. The fields of a line are separated in place, so texts are not copied.
 */
#include "recording/read.h"

#include <errno.h>
#include <math.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS_MAX 4096

/* The most values of a frame, which bounds memory. */
#define CELLS_MAX (8u << 20)

typedef struct Table {
        RecordedTable table;     /* as readers see it */
        const char *key;         /* name of a column; NULL: none */
        RecordedColumn *columns; /* NULL: none yet */
        GPtrArray *cells;        /* of const char *, by row; NULL: no value */
} Table;

struct RecordingReader {
        FILE *file;
        GByteArray *bytes; /* of the frame */
        GString *text;
        GPtrArray *tables; /* of Table */
        GPtrArray *fields; /* of the line */
        size_t cells;
        RecordedFrame frame;
        RecordingReport report;
};

static void table_free(gpointer data)
{
        Table *table = data;

        for (int i = 0; i < table->table.n_columns; i++) {
                g_free((gpointer)table->columns[i].numbers);
                g_free((gpointer)table->columns[i].texts);
        }
        g_free(table->columns);
        g_ptr_array_unref(table->cells);
        g_free(table);
}

int recording_reader_open(int dir, const char *path, RecordingReader **ret_reader)
{
        int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                        : openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        RecordingReader *reader;

        if (fd < 0)
                return -errno;
        reader = g_new0(RecordingReader, 1);
        reader->file = fdopen(fd, "r");
        reader->bytes = g_byte_array_new();
        reader->text = g_string_new(NULL);
        reader->tables = g_ptr_array_new_with_free_func(table_free);
        reader->fields = g_ptr_array_new();
        *ret_reader = reader;
        return 0;
}

void recording_reader_free(RecordingReader *reader)
{
        if (!reader)
                return;
        fclose(reader->file);
        g_byte_array_unref(reader->bytes);
        g_string_free(reader->text, TRUE);
        g_ptr_array_unref(reader->tables);
        g_ptr_array_unref(reader->fields);
        g_free(reader);
}

/* The field that begins at `*at`, which moves behind it. NULL: an empty field without quotes.
 * `ret_end`: what stood behind it, 0 at the end of the text; it is neither a comma nor the end of
 * the line if quotes are wrong. */
static const char *take_field(char **at, char *ret_end)
{
        char *field = *at, *to = field;

        if (*field != '"') {
                *at += strcspn(*at, ",\n");
                *ret_end = **at;
                *(*at) = '\0';
                *at += *ret_end != '\0';
                return *field ? field : NULL;
        }
        for ((*at)++; **at && (**at != '"' || (*at)[1] == '"'); (*at)++) {
                *to++ = **at;
                *at += **at == '"';
        }
        *ret_end = **at == '"' ? *++*at : '"'; /* a quote without end */
        *at += *ret_end == ',' || *ret_end == '\n';
        *to = '\0';
        return field;
}

/* Separates a line. 1: there is one; 0: the end of the text; -EBADMSG. */
static int take_line(RecordingReader *reader, char **at)
{
        char end = ',';

        g_ptr_array_set_size(reader->fields, 0);
        if (!**at)
                return 0;
        while (end == ',')
                g_ptr_array_add(reader->fields, (gpointer)take_field(at, &end));
        return end == '\n' || end == '\0' ? 1 : -EBADMSG;
}

static const char *field(const RecordingReader *reader, guint i)
{
        return i < reader->fields->len ? reader->fields->pdata[i] : NULL;
}

static int begin_table(RecordingReader *reader)
{
        Table *table;

        if (!field(reader, 1))
                return -EBADMSG;
        table = g_new0(Table, 1);
        table->table.name = field(reader, 1);
        table->table.key = -1;
        table->key = field(reader, 2);
        table->cells = g_ptr_array_new();
        g_ptr_array_add(reader->tables, table);
        return 0;
}

static int add_columns(RecordingReader *reader, Table *table)
{
        int n = (int)reader->fields->len - 1;

        if (table->columns || table->table.n_rows > 0 || n > COLUMNS_MAX)
                return -EBADMSG;
        table->columns = g_new0(RecordedColumn, n + 1);
        table->table.columns = table->columns;
        table->table.n_columns = n;
        for (int i = 0; i < n; i++) {
                table->columns[i] = (RecordedColumn){ field(reader, (guint)i + 1), "", "" };
                if (!table->columns[i].name)
                        return -EBADMSG;
        }
        return 0;
}

/* A line that says the same of each column. */
static int describe_columns(RecordingReader *reader, Table *table, bool is_unit)
{
        int n = table->table.n_columns;

        if ((int)reader->fields->len - 1 > n || table->table.n_rows > 0)
                return -EBADMSG;
        for (int i = 0; i < n; i++)
                *(is_unit ? &table->columns[i].unit
                          : &table->columns[i].of) = field(reader, (guint)i + 1) ?: "";
        return 0;
}

static int add_row(RecordingReader *reader, Table *table)
{
        int n = table->table.n_columns;

        reader->cells += (size_t)n;
        if ((int)reader->fields->len - 1 > n || reader->cells > CELLS_MAX)
                return -EBADMSG;
        table->table.n_rows++;
        for (int i = 0; i < n; i++)
                g_ptr_array_add(table->cells, (gpointer)field(reader, (guint)i + 1));
        return 0;
}

/* A word that a later version has is ignored. */
static int parse_line(RecordingReader *reader)
{
        guint n = reader->tables->len;
        Table *table = n ? reader->tables->pdata[n - 1] : NULL;
        const char *word = field(reader, 0) ?: "";

        if (g_str_equal(word, "table"))
                return begin_table(reader);
        if (!table)
                return -EBADMSG;
        return g_str_equal(word, "row")      ? add_row(reader, table)
               : g_str_equal(word, "column") ? add_columns(reader, table)
               : g_str_equal(word, "of")     ? describe_columns(reader, table, false)
               : g_str_equal(word, "unit")   ? describe_columns(reader, table, true)
                                             : 0;
}

static int parse_number(RecordedColumn *column, const char *text, double *ret_number)
{
        const char *point = strchr(text, '.');
        char *end;

        *ret_number = g_ascii_strtod(text, &end);
        if (end == text || *end || !(fabs(*ret_number) <= RECORDED_NUMBER_MAX))
                return -EBADMSG;
        if (point)
                column->decimals = MIN(MAX(column->decimals, (int)strlen(point + 1)), 9);
        return 0;
}

/* The cells of a column, in its form. */
static int finish_column(const Table *table, int i)
{
        RecordedColumn *column = &table->columns[i];
        size_t n = table->table.n_rows, n_columns = (size_t)table->table.n_columns;
        bool is_text = g_str_equal(column->unit, RECORDED_UNIT_TEXT);
        const char **texts = is_text ? g_new(const char *, n + 1) : NULL; /* never NULL */
        double *numbers = is_text ? NULL : g_new(double, n + 1);

        column->texts = texts;
        column->numbers = numbers;
        for (size_t row = 0; row < n; row++) {
                const char *cell = table->cells->pdata[row * n_columns + (size_t)i];

                if (is_text)
                        texts[row] = cell;
                else if (!cell)
                        numbers[row] = NAN;
                else if (parse_number(column, cell, &numbers[row]) < 0)
                        return -EBADMSG;
        }
        if (is_text)
                column->unit = "";
        return 0;
}

static int finish_table(Table *table)
{
        for (int i = 0; i < table->table.n_columns; i++) {
                if (finish_column(table, i) < 0)
                        return -EBADMSG;
                if (table->columns[i].numbers && g_strcmp0(table->columns[i].name, table->key) == 0)
                        table->table.key = i;
        }
        g_ptr_array_set_size(table->cells, 0);
        return 0;
}

/* Reads the text of the frame. -EBADMSG: it is none. */
static int parse_text(RecordingReader *reader)
{
        char *at = reader->text->str;
        int r;

        g_ptr_array_set_size(reader->tables, 0);
        reader->cells = 0;
        if (!g_utf8_validate(at, (gssize)reader->text->len, NULL))
                return -EBADMSG; /* also with a NUL in it */
        while ((r = take_line(reader, &at)) > 0)
                if ((r = parse_line(reader)) < 0)
                        break;
        for (guint i = 0; i < reader->tables->len && r == 0; i++)
                r = finish_table(reader->tables->pdata[i]);
        return r;
}

/* Adds so many bytes to those of the frame. 1: they are there; 0: the input ends before; negative
 * errno. */
static int take_bytes(RecordingReader *reader, size_t n)
{
        guint length = reader->bytes->len;
        size_t got;

        g_byte_array_set_size(reader->bytes, length + (guint)n);
        got = fread(reader->bytes->data + length, 1, n, reader->file);
        reader->report.bytes += got;
        return got == n ? 1 : ferror(reader->file) ? -errno : 0;
}

/* The bytes of the next frame, of any version; returns as recording_read(). */
static int take_frame(RecordingReader *reader, FrameHead *ret_head)
{
        RecordingReport *report = &reader->report;
        uint64_t begin = report->bytes;
        int r;

        g_byte_array_set_size(reader->bytes, 0);
        r = take_bytes(reader, FRAME_HEAD_SIZE);
        if (r > 0) {
                r = frame_head_parse(reader->bytes->data, FRAME_HEAD_SIZE, ret_head);
                report->old = r == -EPROTONOSUPPORT;
                r = r > 0 ? take_bytes(reader, ret_head->stored) : 0;
        }
        if (r <= 0) {
                report->cut = r == 0 && report->bytes > begin;
                report->cut_at = begin;
        }
        return r;
}

int recording_read(RecordingReader *reader, const RecordedFrame **ret_frame)
{
        RecordingReport *report = &reader->report;
        FrameHead head;
        int r;

        while ((r = take_frame(reader, &head)) > 0) {
                if (head.version > FRAME_VERSION) {
                        report->newer++;
                        report->newest_version = MAX(report->newest_version, head.version);
                        continue;
                }
                r = frame_unpack(reader->bytes->data + FRAME_HEAD_SIZE, head.stored, reader->text);
                if (r == 0)
                        r = parse_text(reader);
                if (r < 0) {
                        report->damaged++;
                        continue;
                }
                report->frames++;
                reader->frame = (RecordedFrame){
                        .last_usec = head.last_usec,
                        .n_tables = (int)reader->tables->len,
                        .tables = (const RecordedTable *const *)reader->tables->pdata
                };
                *ret_frame = &reader->frame;
                return 1;
        }
        return r;
}

const RecordingReport *recording_report(const RecordingReader *reader)
{
        return &reader->report;
}

char *recording_problem(const RecordingReader *reader)
{
        const RecordingReport *report = &reader->report;
        bool any = report->frames + report->newer + report->damaged > 0;
        GString *text = g_string_new(NULL);

        if (report->bytes == 0)
                g_string_append(text, "; the file is empty, expected a recording");
        else if (report->old)
                g_string_append(text, "; the recording has the form from before 24 November 2026; "
                                      "idlectl export of commit 46a96ac9 reads it");
        else if (!any)
                g_string_append(text, "; found no frame of a recording, expected a file that "
                                      "idlelab record or idled wrote");
        if (report->newer > 0)
                g_string_append_printf(text,
                                       "; %" PRIu64 " frames have version %u and were left out; "
                                       "this program reads versions up to %d",
                                       report->newer, report->newest_version, FRAME_VERSION);
        if (report->damaged > 0)
                g_string_append_printf(text, "; %" PRIu64 " damaged frame%s left out",
                                       report->damaged, report->damaged == 1 ? " was" : "s were");
        if (any && report->cut && !report->old)
                g_string_append_printf(text,
                                       "; no whole frame follows at byte %" PRIu64
                                       ", as after a crash; the rest was left out",
                                       report->cut_at);
        g_string_erase(text, 0, MIN(text->len, strlen("; ")));
        return g_string_free(text, text->len == 0);
}

int recording_read_file(const char *path, void (*each)(const RecordedFrame *frame, void *data),
                        void *data, char **ret_problem)
{
        g_autoptr(RecordingReader) reader = NULL;
        const RecordedFrame *frame;
        int r = recording_reader_open(AT_FDCWD, path, &reader);

        while (r >= 0 && (r = recording_read(reader, &frame)) > 0)
                each(frame, data);
        *ret_problem = r < 0 ? g_strdup(g_strerror(-r)) : recording_problem(reader);
        return r < 0 ? r : reader->report.frames > 0;
}

const RecordedTable *recorded_table(const RecordedFrame *frame, const char *name)
{
        for (int i = 0; i < frame->n_tables; i++)
                if (g_str_equal(frame->tables[i]->name, name))
                        return frame->tables[i];
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

double recorded_number(const RecordedTable *table, const char *name, size_t row)
{
        const double *numbers = recorded_numbers(table, name, NULL);

        return numbers ? numbers[row] : NAN;
}

const char *recorded_text(const RecordedTable *table, const char *name, size_t row)
{
        const char *const *texts = recorded_texts(table, name, NULL);

        return texts ? texts[row] : NULL;
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
