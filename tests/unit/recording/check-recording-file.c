/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recordings in files: appended to, locked, bounded, and whole when there is no room left. */
#include "recording/file.h"
#include "recording/recording-fixture.h"
#include "scratch.h"

static const RecordingLimits none = { 0 };

static RecordingFile *open_file(const RecordingLimits *limits, bool append)
{
        RecordingFile *file = NULL;
        int r = recording_file_open(scratch_fd, "a.rec", limits, append, &file);

        ck_assert_msg(r == 0, "a.rec is not opened: %s", g_strerror(-r));
        return file;
}

static uint64_t time_of(int n)
{
        return FIXTURE_START + (uint64_t)n * 1000000;
}

/* Writes sample `n` as a frame of its own. */
static int write_sample(RecordingFile *file, RecordingBatch *batch, int n)
{
        add_sample(batch, n, 6);
        return recording_file_write(file, batch, time_of(n));
}

/* Reads the file: numbers of the first and the last sample, which follow each other. */
static int read_all_samples(int *ret_first, char **ret_problem)
{
        g_autoptr(RecordingReader) reader = NULL;
        const RecordedFrame *frame;
        int n = 0, r = recording_reader_open(scratch_fd, "a.rec", &reader);

        ck_assert_int_eq(r, 0);
        while ((r = recording_read(reader, &frame)) > 0) {
                int number = (int)((frame->last_usec - FIXTURE_START) / 1000000);

                if (n == 0)
                        *ret_first = number;
                ck_assert_int_eq(number, *ret_first + n);
                expect_sample("a.rec", frame, 0, number, 6);
                n++;
        }
        ck_assert_int_eq(r, 0);
        *ret_problem = recording_problem(reader);
        return n;
}

static void expect_samples(int first, int n)
{
        g_autofree char *problem = NULL;
        int found_first = first, found = read_all_samples(&found_first, &problem);

        ck_assert_msg(found_first == first && found == n && !problem,
                      "%d samples from %d, expected %d from %d: %s", found, found_first, n, first,
                      problem);
}

static off_t size_of(const char *path)
{
        struct stat st = { 0 };

        return fstatat(scratch_fd, path, &st, 0) == 0 ? st.st_size : -1;
}

TEST(appends_only_if_asked)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        RecordingFile *file = open_file(&none, false), *other = NULL;
        struct stat st;

        ck_assert_int_eq(recording_file_write(file, batch, time_of(0)), 0); /* no rows */
        ck_assert_int_eq(size_of("a.rec"), 0);
        ck_assert_int_eq(write_sample(file, batch, 0), 0);
        ck_assert_int_eq(recording_file_open(scratch_fd, "a.rec", &none, true, &other), -EBUSY);
        ck_assert_int_eq(recording_file_close(file), 0);
        ck_assert_int_eq(recording_file_open(scratch_fd, "a.rec", &none, false, &other), -EEXIST);
        file = open_file(&none, true);
        ck_assert_int_eq(write_sample(file, batch, 1), 0);
        ck_assert_int_eq(recording_file_close(file), 0);
        expect_samples(0, 2);
        ck_assert_int_eq(fstatat(scratch_fd, "a.rec", &st, 0), 0);
        ck_assert_int_eq(st.st_mode & 0777, 0600);
}

TEST(refuses_what_is_none)
{
        RecordingFile *file = NULL;

        scratch_file("a.rec", "a diary\n");
        ck_assert_int_eq(recording_file_open(scratch_fd, "a.rec", &none, true, &file), -EBADMSG);
        ck_assert_int_eq(size_of("a.rec"), 8);
        ck_assert_int_lt(recording_file_open(scratch_fd, "no/a.rec", &none, true, &file), 0);
        ck_assert_int_lt(recording_file_open(scratch_fd, ".", &none, true, &file), 0);
        ck_assert_int_eq(recording_file_open(AT_FDCWD, "/dev/null",
                                             &(RecordingLimits){ .max_bytes = 1 << 20 }, false,
                                             &file),
                         -EINVAL);
}

/* Whatever a crash left, the file is written on. */
TEST(appends_after_crash)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        g_autofree char *path = g_build_filename(scratch, "a.rec", NULL), *bytes = NULL;
        RecordingFile *file = open_file(&none, false);
        off_t ends[2];

        for (int n = 0; n < 2; n++) {
                write_sample(file, batch, n);
                ends[n] = size_of("a.rec");
        }
        recording_file_close(file);
        ck_assert(g_file_get_contents(path, &bytes, NULL, NULL));
        for (off_t length = 0; length <= ends[1]; length += length < 50 ? 1 : 7) {
                int whole = (length >= ends[0]) + (length >= ends[1]), first = 0;
                g_autofree char *problem = NULL;

                ck_assert(g_file_set_contents(path, bytes, length, NULL));
                file = open_file(&none, true);
                ck_assert_int_eq(write_sample(file, batch, whole), 0);
                recording_file_close(file);
                ck_assert_int_eq(read_all_samples(&first, &problem), whole + 1);
        }
}

TEST_RANGE(ring_is_bounded, 0, 3)
{
        static const uint64_t most[] = { 3000, 10000, 50000 };
        const RecordingLimits limits = { .max_bytes = most[_i] };
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        RecordingFile *file = open_file(&limits, true);
        off_t frame = 0;

        for (int n = 0; n < 600; n++) {
                g_autofree char *problem = NULL;
                int first = 0, found;

                ck_assert_int_eq(write_sample(file, batch, n), 0);
                frame = MAX(frame, n == 0 ? size_of("a.rec") : 0);
                ck_assert_int_le((uint64_t)size_of("a.rec"), most[_i] / 3 * 2);
                ck_assert_int_eq(size_of("a.rec.new"), -1);
                found = read_all_samples(&first, &problem);
                ck_assert_msg(found > 0 && first + found == n + 1 && !problem,
                              "%d samples from %d after %d: %s", found, first, n, problem);
                ck_assert_msg(first == 0 || (uint64_t)found * (uint64_t)frame * 2 > most[_i] / 4,
                              "only %d samples are left", found);
                if (n % 50 == 49) { /* it can be closed and opened anywhere */
                        recording_file_close(file);
                        file = open_file(&limits, true);
                }
        }
        recording_file_close(file);
}

TEST(ring_forgets)
{
        const RecordingLimits limits = { .max_age_usec = 100 * 1000000 };
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        RecordingFile *file = open_file(&limits, true);

        for (int n = 0; n < 600; n++) {
                g_autofree char *problem = NULL;
                int first = 0, found;

                ck_assert_int_eq(write_sample(file, batch, n), 0);
                found = read_all_samples(&first, &problem);
                ck_assert_int_eq(first + found, n + 1);
                ck_assert_int_le(n - first, 125);
                ck_assert_msg(first == 0 || n - first >= 100, "%d is gone at %d", first - 1, n);
                if (n % 40 == 39) {
                        recording_file_close(file);
                        file = open_file(&limits, true);
                }
        }
        recording_file_close(file);
}

/* The clock is set back and forth: nothing is lost but what is too old then. */
TEST(ring_and_clock)
{
        const RecordingLimits limits = { .max_age_usec = 100 * 1000000 };
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        RecordingFile *file = open_file(&limits, true);
        g_autofree char *problem = NULL;
        int first = 0;

        ck_assert_int_eq(write_sample(file, batch, 20), 0);
        add_sample(batch, 21, 6);
        ck_assert_int_eq(recording_file_write(file, batch, time_of(-1000)), 0);
        ck_assert_int_eq(write_sample(file, batch, 22), 0);
        recording_file_close(file);
        g_autoptr(RecordingReader) reader = NULL;
        const RecordedFrame *frame;

        ck_assert_int_eq(recording_reader_open(scratch_fd, "a.rec", &reader), 0);
        while (recording_read(reader, &frame) > 0)
                first++;
        ck_assert_int_eq(first, 3);
}

/* A copy that a crash left behind is removed, and a link is not followed. */
TEST(old_copy_is_replaced)
{
        const RecordingLimits limits = { .max_bytes = 3000 };
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        RecordingFile *file = open_file(&limits, true);

        scratch_file("victim", "precious");
        ck_assert_int_eq(symlinkat("victim", scratch_fd, "a.rec.new"), 0);
        for (int n = 0; n < 50; n++)
                ck_assert_int_eq(write_sample(file, batch, n), 0);
        recording_file_close(file);
        g_autofree char *text = scratch_text("victim");

        ck_assert_str_eq(text, "precious");
        ck_assert_int_eq(size_of("a.rec.new"), -1);
}

/* Check keeps a file of its own, which the limit is for as well: the recording must be larger. */
TEST_RANGE(no_room, 0, 20)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        RecordingFile *file = open_file(&none, false);
        int r;

        for (int n = 0; n < 40; n++)
                write_sample(file, batch, n);
        scratch_limit("a.rec", _i * 10);
        r = write_sample(file, batch, 40);
        scratch_limit("a.rec", 1 << 20);
        ck_assert_int_eq(r, -EFBIG);
        expect_samples(0, 40);
        ck_assert_int_eq(write_sample(file, batch, 40), 0);
        ck_assert_int_eq(recording_file_close(file), 0);
        expect_samples(0, 41);
}

TEST_RANGE(full_file_system, 0, 2)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        const RecordingLimits limits = { .max_bytes = _i ? 100 << 10 : 0 };
        RecordingFile *file;
        int r, n = 0;

        if (!scratch_may_mount("tmpfs", "size=64k", "full_file_system"))
                return;
        ck_assert(scratch_mount("tmpfs", "size=64k"));
        file = open_file(&limits, true);
        do
                r = write_sample(file, batch, n++);
        while (r == 0 && n < 2000);
        ck_assert_int_eq(r, -ENOSPC);
        expect_samples(0, n - 1);
        ck_assert_int_eq(size_of("a.rec.new"), -1);
        recording_file_close(file);
}

TEST(full_device)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        RecordingFile *file = NULL;

        ck_assert_int_eq(recording_file_open(AT_FDCWD, "/dev/full", &none, false, &file), 0);
        ck_assert_int_eq(write_sample(file, batch, 0), -ENOSPC);
        recording_file_close(file);
}

UNIT("recording-file", .setup = scratch_open, .teardown = scratch_close, .timeout = 120)
