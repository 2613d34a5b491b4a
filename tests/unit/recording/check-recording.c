/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recordings in memory: what was written is read, whatever is lost or damaged on the way. */
#include <string.h>

#include "recording/recording-fixture.h"
#include "recording/varint.h"

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

START_TEST(reads_what_was_written)
{
        g_autoptr(GByteArray) bytes = make_recording(sizes[_i].n_frames, sizes[_i].per_frame,
                                                     MAX(sizes[_i].n_cpus, 1), NULL);
        g_autoptr(RecordingReader) reader = recording_reader_bytes(bytes->data, bytes->len);
        unsigned seen = read_frames(sizes[_i].name, reader, sizes[_i].per_frame,
                                    MAX(sizes[_i].n_cpus, 1));
        g_autofree char *problem = recording_problem(reader);

        ck_case(sizes[_i].name, seen == (1u << sizes[_i].n_frames) - 1, "read frames %x", seen);
        ck_case(sizes[_i].name, !problem, "%s", problem);
}
END_TEST

/* A crash at any byte loses the frame that was being written, and says so. */
START_TEST(cut_anywhere)
{
        size_t ends[FRAMES];
        g_autoptr(GByteArray) bytes = make_recording(FRAMES, 2, 3, ends);

        for (size_t length = 1; length <= bytes->len; length++) {
                g_autoptr(RecordingReader) reader = recording_reader_bytes(bytes->data, length);
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
                ck_case(name, report->incomplete == length - last && report->damaged == 0,
                        "%" G_GUINT64_FORMAT " incomplete, %" G_GUINT64_FORMAT " damaged",
                        report->incomplete, report->damaged);
                ck_case(name, (problem == NULL) == (length == last), "says %s", problem);
        }
}
END_TEST

/* After a crash the file is written on behind the incomplete frame. */
START_TEST(cut_and_written_on)
{
        size_t ends[FRAMES];
        g_autoptr(GByteArray) whole = make_recording(FRAMES, 2, 3, ends);

        for (size_t length = ends[0]; length < ends[1]; length++) {
                g_autoptr(GByteArray) bytes = g_byte_array_new();
                g_autoptr(RecordingReader) reader = NULL;
                g_autofree char *name = g_strdup_printf("cut at %zu", length);
                unsigned seen;

                g_byte_array_append(bytes, whole->data, (guint)length);
                g_byte_array_append(bytes, whole->data + ends[1], (guint)(ends[3] - ends[1]));
                reader = recording_reader_bytes(bytes->data, bytes->len);
                seen = read_frames(name, reader, 2, 3);
                ck_case(name, seen == (ALL & ~2u), "frames %x", seen);
                ck_case(name, recording_report(reader)->damaged == (length > ends[0]),
                        "%" G_GUINT64_FORMAT " places", recording_report(reader)->damaged);
        }
}
END_TEST

/* Every single bit: the frame that has it is lost, the others are not, and nothing wrong is read.
 */
START_TEST(bit_flipped)
{
        size_t ends[FRAMES];
        g_autoptr(GByteArray) bytes = make_recording(FRAMES, 2, 2, ends);

        for (size_t bit = 0; bit < 8 * (size_t)bytes->len; bit++) {
                g_autoptr(RecordingReader) reader = NULL;
                g_autofree char *name = g_strdup_printf("bit %zu of byte %zu", bit % 8, bit / 8);
                g_autofree char *problem = NULL;
                unsigned seen;
                int frame = 0;

                while (bit / 8 >= ends[frame])
                        frame++;
                bytes->data[bit / 8] ^= (guint8)(1u << bit % 8);
                reader = recording_reader_bytes(bytes->data, bytes->len);
                seen = read_frames(name, reader, 2, 2);
                problem = recording_problem(reader);
                ck_case(name, seen == (ALL & ~(1u << frame)), "frames %x", seen);
                ck_case(name, problem, "nothing is said");
                bytes->data[bit / 8] ^= (guint8)(1u << bit % 8);
        }
}
END_TEST

static const struct {
        const char *name, *bytes;
        size_t size;
        const char *expected; /* part of the message */
} foreign[] = {
        { "empty", "", 0, "empty" },
        { "a text", "cpu,t_enter_ns\n1,2\n", 19, "expected a file that" },
        { "one byte", "\0", 1, "expected a file that" },
        { "gzip", "\x1f\x8b\x08\0\0\0\0\0", 8, "expected a file that" },
        { "a magic alone", FRAME_MAGIC, 8, "expected a file that" },
};

START_TEST(foreign_file)
{
        g_autoptr(RecordingReader)
                reader = recording_reader_bytes(foreign[_i].bytes, foreign[_i].size);
        const RecordedFrame *frame;
        g_autofree char *problem = NULL;

        ck_case(foreign[_i].name, recording_read(reader, &frame) == 0, "it is read");
        problem = recording_problem(reader);
        ck_case(foreign[_i].name, problem && strstr(problem, foreign[_i].expected), "says %s",
                problem);
}
END_TEST

/* Reading a large file that is none ends early. */
START_TEST(large_foreign_file)
{
        size_t size = 3 * (size_t)FRAME_STORED_MAX;
        g_autofree char *bytes = g_malloc0(size);
        g_autoptr(RecordingReader) reader = recording_reader_bytes(bytes, size);
        const RecordedFrame *frame;

        ck_assert_int_eq(recording_read(reader, &frame), 0);
}
END_TEST

/* A frame with this version and contents. */
static void add_frame(GByteArray *bytes, unsigned version, const GByteArray *contents)
{
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
        guint start = bytes->len;
        guint8 digest[32];
        gsize length = sizeof(digest);

        ck_assert_int_eq(frame_pack(contents->data, contents->len, FIXTURE_START, bytes), 0);
        bytes->data[start + 8] = (guint8)version;
        g_checksum_update(sum, bytes->data + start, 32);
        g_checksum_update(sum, bytes->data + start + FRAME_HEAD_SIZE,
                          (gssize)(bytes->len - start - FRAME_HEAD_SIZE));
        g_checksum_get_digest(sum, digest, &length);
        memcpy(bytes->data + start + 32, digest, 8);
}

START_TEST(newer_frames)
{
        g_autoptr(GByteArray) bytes = make_recording(2, 2, 3, NULL);
        g_autoptr(GByteArray) contents = g_byte_array_new();
        g_autoptr(RecordingReader) reader = NULL;
        g_autofree char *problem = NULL;

        g_byte_array_append(contents, (const guint8 *)"whatever", 8);
        add_frame(bytes, 7, contents);
        reader = recording_reader_bytes(bytes->data, bytes->len);
        ck_assert_uint_eq(read_frames("newer", reader, 2, 3), 3);
        problem = recording_problem(reader);
        ck_assert_ptr_nonnull(strstr(problem, "version 7"));
        ck_assert_ptr_nonnull(strstr(problem, "up to 1"));
        ck_assert_ptr_null(strstr(problem, "damaged"));
}
END_TEST

static void put_text(GByteArray *to, const char *text)
{
        varint_put(to, strlen(text));
        g_byte_array_append(to, (const guint8 *)text, (guint)strlen(text));
}

static void put_column(GByteArray *to, const char *name, unsigned type, unsigned decimals,
                       unsigned bytes)
{
        put_text(to, name);
        put_text(to, "");
        put_text(to, "");
        varint_put(to, type);
        varint_put(to, decimals);
        varint_put(to, bytes);
}

/* A table and columns that a later version has: what is known is read, the rest is left out. */
START_TEST(unknown_columns)
{
        g_autoptr(GByteArray) contents = g_byte_array_new(), bytes = g_byte_array_new();
        g_autoptr(RecordingReader) reader = NULL;
        const RecordedFrame *frame;
        const RecordedTable *table;
        g_autofree char *problem = NULL;

        varint_put(contents, 1);
        put_text(contents, "machine");
        varint_put(contents, 2); /* rows */
        varint_put(contents, 0);
        varint_put(contents, 4);
        put_column(contents, "curve", 9, 0, 5);
        put_column(contents, "load", 1, 2, 2);
        put_column(contents, "exact", 1, 12, 2);
        put_column(contents, "profile", 2, 0, 4);
        g_byte_array_append(contents, (const guint8 *)"\xff\xff\xff\xff\xff", 5);
        g_byte_array_append(contents, (const guint8 *)"\x33\x00", 2); /* 25 hundredths, none */
        g_byte_array_append(contents, (const guint8 *)"\x33\x00", 2);
        g_byte_array_append(contents, (const guint8 *)"\x04hi\x01", 4);
        g_byte_array_append(contents, (const guint8 *)"more that comes later", 21);
        add_frame(bytes, 1, contents);
        reader = recording_reader_bytes(bytes->data, bytes->len);
        ck_assert_int_eq(recording_read(reader, &frame), 1);
        table = recorded_table(frame, "machine");
        ck_assert_int_eq(table->n_columns, 2);
        ck_assert_double_eq(recorded_numbers(table, "load", NULL)[0], 0.25);
        ck_assert(isnan(recorded_numbers(table, "load", NULL)[1]));
        ck_assert_str_eq(recorded_texts(table, "profile", NULL)[1], "hi");
        ck_assert_ptr_null(recorded_numbers(table, "profile", NULL));
        ck_assert_ptr_null(recorded_texts(table, "load", NULL));
        ck_assert_ptr_null(recorded_numbers(table, "curve", NULL));
        ck_assert_ptr_null(recorded_numbers(NULL, "load", NULL));
        ck_assert_ptr_null(recorded_table(frame, "cpu"));
        problem = recording_problem(reader);
        ck_assert_ptr_nonnull(strstr(problem, "2 columns"));
}
END_TEST

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
        { "infinite", INFINITY, 0, NAN },
        { "none", NAN, 0, NAN },
        { "a time", 1.7e15 + 1, 0, 1.7e15 + 1 },
};

/* Twice in a row and after other values, because differences are written. */
START_TEST(number_survives)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        g_autoptr(GByteArray) contents = g_byte_array_new(), bytes = g_byte_array_new();
        g_autoptr(RecordingReader) reader = NULL;
        RecordingTable *table = recording_table(batch, "t");
        int column = recording_number(table, "n", NULL, "", numbers[_i].decimals);
        const double values[] = { 17, numbers[_i].value, numbers[_i].value, -1 };
        const double *read;
        const RecordedFrame *frame;

        for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
                recording_row(table);
                recording_put(table, column, values[i]);
        }
        recording_batch_take(batch, contents);
        frame_pack(contents->data, contents->len, 0, bytes);
        reader = recording_reader_bytes(bytes->data, bytes->len);
        ck_assert_int_eq(recording_read(reader, &frame), 1);
        read = recorded_numbers(recorded_table(frame, "t"), "n", NULL);
        for (int i = 1; i < 3; i++)
                ck_case(numbers[_i].name,
                        isnan(numbers[_i].expected) ? isnan(read[i])
                                                    : read[i] == numbers[_i].expected,
                        "%.9g, expected %.9g", read[i], numbers[_i].expected);
        ck_case(numbers[_i].name, read[0] == 17 && read[3] == -1, "neighbours differ");
}
END_TEST

static const struct {
        const char *name, *text, *expected;
} texts[] = {
        { "nothing", NULL, NULL },
        { "empty", "", "" },
        { "hostile", "a\033[2J\"<script>\n,;\t", "a\033[2J\"<script>\n,;\t" },
        { "not UTF-8", "a\xff\xfe", "a\xef\xbf\xbd\xef\xbf\xbd" },
        { "half a character", "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
};

START_TEST(text_survives)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        g_autoptr(GByteArray) contents = g_byte_array_new(), bytes = g_byte_array_new();
        g_autoptr(RecordingReader) reader = NULL;
        RecordingTable *table = recording_table(batch, "t");
        int column = recording_text(table, "s", texts[_i].text, "");
        const RecordedFrame *frame;

        for (int i = 0; i < 2; i++) {
                recording_row(table);
                recording_put_text(table, column, texts[_i].text);
        }
        recording_batch_take(batch, contents);
        frame_pack(contents->data, contents->len, 0, bytes);
        reader = recording_reader_bytes(bytes->data, bytes->len);
        ck_assert_int_eq(recording_read(reader, &frame), 1);
        for (int i = 0; i < 2; i++) {
                const char *read = recorded_texts(recorded_table(frame, "t"), "s",
                                                  texts[_i].expected)[i];

                ck_case(texts[_i].name, g_strcmp0(read, texts[_i].expected) == 0, "found %s", read);
        }
}
END_TEST

START_TEST(long_text_is_cut)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        g_autoptr(GByteArray) contents = g_byte_array_new(), bytes = g_byte_array_new();
        g_autoptr(RecordingReader) reader = NULL;
        RecordingTable *table = recording_table(batch, "t");
        int column = recording_text(table, "s", NULL, "");
        g_autoptr(GString) text = g_string_new(NULL);
        const RecordedFrame *frame;
        const char *read;

        while (text->len < 3 * RECORDING_TEXT_MAX)
                g_string_append(text, _i ? "\xff" : "\xe2\x82\xac");
        recording_row(table);
        recording_put_text(table, column, text->str);
        recording_batch_take(batch, contents);
        frame_pack(contents->data, contents->len, 0, bytes);
        reader = recording_reader_bytes(bytes->data, bytes->len);
        ck_assert_int_eq(recording_read(reader, &frame), 1);
        read = recorded_texts(recorded_table(frame, "t"), "s", NULL)[0];
        ck_assert_uint_le(strlen(read), RECORDING_TEXT_MAX);
        ck_assert_uint_gt(strlen(read), RECORDING_TEXT_MAX - 4);
}
END_TEST

/* A column that comes later has no values before; a table that lasts is in every frame. */
START_TEST(later_column_and_lasting_table)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        g_autoptr(GByteArray) contents = g_byte_array_new(), bytes = g_byte_array_new();
        g_autoptr(RecordingReader) reader = NULL;
        RecordingTable *fact = recording_table(batch, "fact"), *table = recording_table(batch, "t");
        int name = recording_text(fact, "name", NULL, "");
        const RecordedFrame *frame;

        recording_table_lasts(fact);
        recording_row(fact);
        recording_put_text(fact, name, "x");
        ck_assert(!recording_batch_has_rows(batch));
        for (int f = 0; f < 3; f++) {
                recording_row(table);
                recording_row(table);
                recording_put(table, recording_number(table, "late", NULL, "", 0), f);
                ck_assert(recording_batch_has_rows(batch));
                recording_batch_take(batch, contents);
                frame_pack(contents->data, contents->len, 0, bytes);
        }
        reader = recording_reader_bytes(bytes->data, bytes->len);
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
END_TEST

int main(void)
{
        Suite *suite = suite_create("recording");
        TCase *tcase = tcase_create("recording");

        tcase_set_timeout(tcase, 120);
        tcase_add_loop_test(tcase, reads_what_was_written, 0, G_N_ELEMENTS(sizes));
        tcase_add_test(tcase, cut_anywhere);
        tcase_add_test(tcase, cut_and_written_on);
        tcase_add_test(tcase, bit_flipped);
        tcase_add_loop_test(tcase, foreign_file, 0, G_N_ELEMENTS(foreign));
        tcase_add_test(tcase, large_foreign_file);
        tcase_add_test(tcase, newer_frames);
        tcase_add_test(tcase, unknown_columns);
        tcase_add_loop_test(tcase, number_survives, 0, G_N_ELEMENTS(numbers));
        tcase_add_loop_test(tcase, text_survives, 0, G_N_ELEMENTS(texts));
        tcase_add_loop_test(tcase, long_text_is_cut, 0, 2);
        tcase_add_test(tcase, later_column_and_lasting_table);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
