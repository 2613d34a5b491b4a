/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recordings in memory: what was written is read, whatever is lost or damaged on the way. */
#include "recording/recording-fixture.h"

#define FRAMES 4
#define ALL    ((1u << FRAMES) - 1)

static const struct {
        const char *name;
        int n_frames, per_frame, n_cpus;
} sizes[] = {
        { "one CPU", 1, 1, 1 },
        { "some", 4, 5, 6 },
        { "no CPU", 2, 3, 0 },
        { "576 CPUs", 3, 20, 576 },
};

TEST_EACH(reads_what_was_written, sizes)
{
        g_autoptr(GByteArray)
                bytes = make_recording(c->n_frames, c->per_frame, MAX(c->n_cpus, 1), NULL);
        g_autoptr(RecordingReader) reader = memory_recording(bytes->data, bytes->len);
        unsigned seen = read_frames(c->name, reader, c->per_frame, MAX(c->n_cpus, 1));
        g_autofree char *problem = recording_problem(reader);

        ck_case(c->name, seen == (1u << c->n_frames) - 1, "read frames %x", seen);
        ck_case(c->name, !problem, "%s", problem);
}

/* A crash at any byte loses the frame that was being written, and says so. */
TEST(cut_anywhere)
{
        size_t ends[FRAMES];
        g_autoptr(GByteArray) bytes = make_recording(FRAMES, 2, 3, ends);

        for (size_t length = 1; length <= bytes->len; length++) {
                g_autoptr(RecordingReader) reader = memory_recording(bytes->data, length);
                g_autofree char *name = g_strdup_printf("cut at %zu", length), *problem = NULL;
                unsigned seen = read_frames(name, reader, 2, 3), expected = 0;
                const RecordingReport *report = recording_report(reader);
                size_t last = 0;

                for (int f = 0; f < FRAMES && ends[f] <= length; f++) {
                        expected |= 1u << f;
                        last = ends[f];
                }
                problem = recording_problem(reader);
                ck_case(name, seen == expected, "frames %x, expected %x", seen, expected);
                ck_case(name,
                        report->cut == (length > last) && report->cut_at == last &&
                                report->damaged == 0,
                        "cut at %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT " damaged",
                        report->cut_at, report->damaged);
                ck_case(name, (problem == NULL) == (length == last), "says %s", problem);
        }
}

/* Every single bit: a frame that has it in its contents is lost; from one that has it in its head
 * on nothing is read. Nothing wrong is ever read. */
TEST(bit_flipped)
{
        size_t ends[FRAMES];
        g_autoptr(GByteArray) bytes = make_recording(FRAMES, 2, 2, ends);

        for (size_t bit = 0; bit < 8 * (size_t)bytes->len; bit++) {
                g_autoptr(RecordingReader) reader = NULL;
                g_autofree char *name = g_strdup_printf("bit %zu of byte %zu", bit % 8, bit / 8);
                g_autofree char *problem = NULL;
                const RecordingReport *report;
                unsigned seen, others, before;
                int frame = 0;
                size_t at;

                while (bit / 8 >= ends[frame])
                        frame++;
                at = bit / 8 - (frame ? ends[frame - 1] : 0);
                before = (1u << frame) - 1;
                others = ALL & ~(1u << frame);
                bytes->data[bit / 8] ^= (guint8)(1u << bit % 8);
                reader = memory_recording(bytes->data, bytes->len);
                /* A digit of the time may become another digit. */
                if (at < 27 || at >= 48) {
                        seen = read_frames(name, reader, 2, 2);
                        report = recording_report(reader);
                        problem = recording_problem(reader);
                        ck_case(name, (seen & before) == before, "frames %x", seen);
                        if (at < FRAME_HEAD_SIZE)
                                ck_case(name, !(seen & ~others), "frames %x", seen);
                        else /* zstd ignores some bits */
                                ck_case(name, seen == others || seen == ALL, "frames %x", seen);
                        ck_case(name, seen == ALL || (problem && report->frames < FRAMES),
                                "nothing is said");
                }
                bytes->data[bit / 8] ^= (guint8)(1u << bit % 8);
        }
}

static const struct {
        const char *name, *stored; /* 9 digits: the bytes that the head promises */
        unsigned damaged;
        bool cut;
} false_sizes[] = {
        { "nothing", "000000000", 20000, false },
        { "half a head", "000000029", 1, true },
        { "some heads", "000005742", 200, false },
        { "most that is accepted", "016842752", 0, true },
        { "too much", "016842753", 0, true },
};

/* A megabyte of heads that promise frames takes no longer than a megabyte of anything: every byte
 * belongs to one head or one promise. */
TEST_EACH(false_heads, false_sizes)
{
        unsigned n = 20000, damaged = c->damaged, seen;
        g_autoptr(GByteArray) bytes = make_recording(1, 1, 1, NULL);
        g_autoptr(GByteArray) all = g_byte_array_new();
        g_autoptr(RecordingReader) reader = NULL;
        g_autofree char *problem = NULL;
        const RecordingReport *report;

        memcpy(bytes->data + FRAME_HEAD_SIZE - 10, c->stored, 9);
        for (unsigned i = 0; i < n; i++)
                g_byte_array_append(all, bytes->data, FRAME_HEAD_SIZE);
        reader = memory_recording(all->data, all->len);
        seen = read_frames(c->name, reader, 1, 1);
        report = recording_report(reader);
        problem = recording_problem(reader);
        ck_case(c->name, seen == 0 && report->damaged == damaged && report->cut == c->cut,
                "frames %x, %" G_GUINT64_FORMAT " damaged, cut: %d", seen, report->damaged,
                report->cut);
        ck_case(c->name, problem && strstr(problem, damaged ? " damaged frame" : "no frame"),
                "says %s", problem);
}

static const struct {
        const char *name, *bytes;
        size_t size;
        const char *expected; /* part of the message */
} foreign[] = {
        { "empty", "", 0, "empty" },
        { "a text", "cpu,t_enter_ns\n1,2\n", 19, "expected a file that" },
        { "one byte", "\0", 1, "expected a file that" },
        { "gzip", "\x1f\x8b\x08\0\0\0\0\0", 8, "expected a file that" },
        { "version 1",
          "\x89idlrec\n\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
          "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
          60, "idlectl export of commit 46a96ac9" },
};

TEST_EACH(foreign_file, foreign)
{
        g_autoptr(RecordingReader) reader = memory_recording(c->bytes, c->size);
        const RecordedFrame *frame;
        g_autofree char *problem = NULL;

        ck_case(c->name, recording_read(reader, &frame) == 0, "it is read");
        problem = recording_problem(reader);
        ck_case(c->name, problem && strstr(problem, c->expected), "says %s", problem);
}

/* Reading a large file that is none ends early. */
TEST(large_foreign_file)
{
        size_t size = 3 * (size_t)FRAME_STORED_MAX;
        g_autofree char *bytes = g_malloc0(size);
        g_autoptr(RecordingReader) reader = memory_recording(bytes, size);
        const RecordedFrame *frame;

        ck_assert_int_eq(recording_read(reader, &frame), 0);
}

TEST(newer_frames)
{
        g_autoptr(GByteArray) bytes = make_recording(2, 2, 3, NULL);
        g_autoptr(GString) text = g_string_new("whatever");
        g_autoptr(RecordingReader) reader = NULL;
        g_autofree char *problem = NULL;
        guint start = bytes->len;

        ck_assert_int_eq(frame_pack(text, FIXTURE_START, bytes), 0);
        memcpy(bytes->data + start + 24, "07", 2);
        reader = memory_recording(bytes->data, bytes->len);
        ck_assert_uint_eq(read_frames("newer", reader, 2, 3), 3);
        problem = recording_problem(reader);
        ck_assert_ptr_nonnull(strstr(problem, "version 7"));
        ck_assert_ptr_nonnull(strstr(problem, "up to 2"));
        ck_assert_ptr_null(strstr(problem, "damaged"));
}

static const struct {
        const char *name, *text, *expected; /* expected: tables and values; NULL: none is read */
} contents[] = {
        { "nothing", "", "" },
        { "a table without columns", "table,t,\n", "t:" },
        { "a table without rows", "table,t,n\ncolumn,n,s\nof,\nunit,W,text\n", "t:" },
        { "a table without rows and units", "table,t,\ncolumn,n\n", "t:" },
        { "a table without rows behind others",
          "table,t,\ncolumn,n\nrow,1\ntable,u,\ncolumn,n,s\nunit,W,text\n", "t: n=1u:" },
        { "a number", "table,t,\ncolumn,n\nof,\nunit,W\nrow,1.5\n", "t: n=1.5" },
        { "no line end", "table,t,\ncolumn,n\nunit,W\nrow,1.5", "t: n=1.5" },
        { "fewer values", "table,t,\ncolumn,n,m\nunit,W,text\nrow\nrow,2\n",
          "t: n=nan m=- n=2 m=-" },
        { "texts", "table,t,\ncolumn,s\nunit,text\nrow,a\nrow,\"b,\"\"\n\"\nrow,\"\"\nrow,\n",
          "t: s=a s=b,\"\n s= s=-" },
        { "a word of a later version", "table,t,\nscale,7\ncolumn,n\nrow,1\nnote,x\nrow,2\n",
          "t: n=1 n=2" },
        { "a row before its table", "row,1\n", NULL },
        { "a table without a name", "table,,\n", NULL },
        { "no number", "table,t,\ncolumn,n\nrow,1o0\n", NULL },
        { "too large a number", "table,t,\ncolumn,n\nrow,1e300\n", NULL },
        { "no number at all", "table,t,\ncolumn,n\nrow,nan\n", NULL },
        { "more values than columns", "table,t,\ncolumn,n\nrow,1,2\n", NULL },
        { "more units than columns", "table,t,\ncolumn,n\nunit,W,W\n", NULL },
        { "columns twice", "table,t,\ncolumn,n\ncolumn,n\n", NULL },
        { "a unit after rows", "table,t,\ncolumn,n\nrow,1\nunit,text\n", NULL },
        { "a column without a name", "table,t,\ncolumn,,n\n", NULL },
        { "not UTF-8", "table,t\xff,\n", NULL },
        { "text behind a quote", "table,t,\ncolumn,s\nunit,text\nrow,\"a\"b\n", NULL },
        { "a quote without end", "table,t,\ncolumn,s\nunit,text\nrow,\"a\n", NULL },
};

static char *show_values(const RecordedFrame *frame)
{
        GString *text = g_string_new(NULL);

        for (int t = 0; t < frame->n_tables; t++) {
                const RecordedTable *table = frame->tables[t];

                g_string_append_printf(text, "%s:", table->name);
                for (int c = 0; c < table->n_columns; c++)
                        ck_case(table->name, !table->columns[c].numbers != !table->columns[c].texts,
                                "column %d has neither numbers nor texts, or both", c);
                for (size_t row = 0; row < table->n_rows; row++)
                        for (int c = 0; c < table->n_columns; c++) {
                                const RecordedColumn *column = &table->columns[c];

                                g_string_append_printf(text, " %s=", column->name);
                                if (column->texts)
                                        g_string_append(text, column->texts[row] ?: "-");
                                else
                                        g_string_append_printf(text, "%g", column->numbers[row]);
                        }
        }
        return g_string_free(text, FALSE);
}

TEST_EACH(text_of_frames, contents)
{
        g_autoptr(GString) text = g_string_new(c->text);
        g_autoptr(RecordingReader) reader = NULL;
        g_autofree char *shown = NULL;
        const RecordedFrame *frame;
        int r;

        reader = text_recording(text);
        r = recording_read(reader, &frame);
        ck_case(c->name, r == (c->expected != NULL), "read returns %d", r);
        ck_case(c->name, recording_report(reader)->damaged == !c->expected, "damage");
        shown = r > 0 ? show_values(frame) : NULL;
        ck_case(c->name, g_strcmp0(shown, c->expected) == 0, "found %s", shown);
}

/* A text of a few kilobytes cannot make a reader take gigabytes. */
TEST(too_many_values)
{
        g_autoptr(GString) text = g_string_new("table,t,\ncolumn");
        g_autoptr(RecordingReader) reader = NULL;
        const RecordedFrame *frame;

        for (int i = 0; i < 4000; i++)
                g_string_append(text, ",n");
        for (int i = 0; i < 3000; i++)
                g_string_append(text, "\nrow");
        reader = text_recording(text);
        ck_assert_int_eq(recording_read(reader, &frame), 0);
        ck_assert_uint_eq(recording_report(reader)->damaged, 1);
}

static const struct {
        const char *name;
        double value;
        int decimals;
        double expected;
} numbers[] = {
        { "zero", 0, 0, 0 },
        { "rounded", 1.25, 1, 1.3 },
        { "rounded down", 0.049, 1, 0 },
        { "negative", -3.14159, 5, -3.14159 },
        { "the largest", 9007199254740992., 0, 9007199254740992. },
        { "the smallest", -9007199254740992., 0, -9007199254740992. },
        { "too large", 1e16, 0, NAN },
        { "too large with decimals", 1e13, 9, NAN },
        { "a small fraction", 0.0001, 4, 0.0001 },
        { "infinite", INFINITY, 0, NAN },
        { "none", NAN, 0, NAN },
        { "a time", 1.7e15 + 1, 0, 1.7e15 + 1 },
};

TEST_EACH(number_survives, numbers)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        g_autoptr(RecordingReader) reader = NULL;
        RecordingTable *table = recording_table(batch, "t");
        const double values[] = { 17, c->value, c->value, -1 };
        const double *read;
        const RecordedFrame *frame;

        for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
                recording_row(table);
                recording_put(table, "n", NULL, "", c->decimals, values[i]);
        }
        frame = take_frame(batch, &reader);
        read = recorded_numbers(recorded_table(frame, "t"), "n", NULL);
        for (int i = 1; i < 3; i++)
                ck_case(c->name, isnan(c->expected) ? isnan(read[i]) : read[i] == c->expected,
                        "%.9g, expected %.9g", read[i], c->expected);
        ck_case(c->name, read[0] == 17 && read[3] == -1, "neighbours differ");
}

static const struct {
        const char *name, *text, *expected;
} texts[] = {
        { "nothing", NULL, NULL },
        { "empty", "", "" },
        { "hostile", "a\033[2J\"<script>\n,;\t\x7f\xc2\x9b", "a?[2J\"<script>\n,;\t???" },
        { "not UTF-8", "a\xff\xfe", "a\xef\xbf\xbd\xef\xbf\xbd" },
        { "half a character", "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
};

TEST_EACH(text_survives, texts)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        g_autoptr(RecordingReader) reader = NULL;
        RecordingTable *table = recording_table(batch, "t");
        const RecordedFrame *frame;

        for (int i = 0; i < 2; i++) {
                recording_row(table);
                recording_put_text(table, "s", c->text, c->text);
        }
        frame = take_frame(batch, &reader);
        for (int i = 0; i < 2; i++) {
                const RecordedTable *t = recorded_table(frame, "t");
                const char *read = t->n_columns ? t->columns[0].texts[i] : NULL;

                ck_case(c->name, g_strcmp0(read, c->expected) == 0, "found %s", read);
        }
}

TEST_RANGE(long_text_is_cut, 0, 2)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        g_autoptr(RecordingReader) reader = NULL;
        RecordingTable *table = recording_table(batch, "t");
        g_autoptr(GString) text = g_string_new(NULL);
        const RecordedFrame *frame;
        const char *read;

        while (text->len < 3 * RECORDING_TEXT_MAX)
                g_string_append(text, _i ? "\xff" : "\xe2\x82\xac");
        recording_row(table);
        recording_put_text(table, "s", NULL, text->str);
        frame = take_frame(batch, &reader);
        read = recorded_texts(recorded_table(frame, "t"), "s", NULL)[0];
        ck_assert_uint_le(strlen(read), RECORDING_TEXT_MAX);
        ck_assert_uint_gt(strlen(read), RECORDING_TEXT_MAX - 4);
}

/* A column that comes later has no values before; a table that lasts is in every frame. */
TEST(later_column_and_lasting_table)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        g_autoptr(RecordingReader) reader = NULL;
        RecordingTable *fact = recording_table(batch, "fact"), *table = recording_table(batch, "t");
        const RecordedFrame *frame;

        recording_table_lasts(fact);
        recording_row(fact);
        recording_put_text(fact, "name", NULL, "x");
        ck_assert_uint_eq(recording_batch_size(batch), 0);
        for (int f = 0; f < 3; f++) {
                recording_row(table);
                recording_row(table);
                recording_put(table, "late", NULL, "", 0, f);
                ck_assert_uint_gt(recording_batch_size(batch), 0);
                recording_batch_take(batch, text);
                frame_pack(text, 0, bytes);
        }
        reader = memory_recording(bytes->data, bytes->len);
        for (int f = 0; f < 3; f++) {
                const double *late;

                ck_assert_int_eq(recording_read(reader, &frame), 1);
                late = recorded_numbers(recorded_table(frame, "t"), "late", NULL);
                ck_assert(isnan(late[0]));
                ck_assert_double_eq(late[1], f);
                ck_assert_str_eq(recorded_texts(recorded_table(frame, "fact"), "name", NULL)[0],
                                 "x");
        }
        ck_assert_int_eq(recording_read(reader, &frame), 0);
}

UNIT("recording", .timeout = 120)
