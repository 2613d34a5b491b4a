/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recordings of tests: a few frames of a machine of any size, and their contents as text.
 */
#ifndef IDLED_TESTS_RECORDING_FIXTURE_H
#define IDLED_TESTS_RECORDING_FIXTURE_H

#include "recording/batch.h"
#include "recording/memory-recording.h"
#include "table.h"

#define FIXTURE_START UINT64_C(1700000000000000)

/* Reads a recording of one frame with this text. */
static inline RecordingReader *text_recording(GString *text)
{
        g_autoptr(GByteArray) bytes = g_byte_array_new();

        ck_assert_int_eq(frame_pack(text, FIXTURE_START, bytes), 0);
        return memory_recording(bytes->data, bytes->len);
}

/* Reads all that was added, as the only frame of a recording. */
static inline const RecordedFrame *take_frame(RecordingBatch *batch, RecordingReader **ret_reader)
{
        g_autoptr(GString) text = g_string_new(NULL);
        const RecordedFrame *frame = NULL;

        recording_batch_take(batch, text);
        *ret_reader = text_recording(text);
        ck_assert_int_eq(recording_read(*ret_reader, &frame), 1);
        return frame;
}

/* Adds sample `n` of a machine of `n_cpus` CPUs. */
static inline void add_sample(RecordingBatch *batch, int n, int n_cpus)
{
        RecordingTable *machine = recording_table(batch, "machine");
        RecordingTable *cpu = recording_table(batch, "cpu");
        double now = (double)(FIXTURE_START + (uint64_t)n * 1000000);

        recording_row(machine);
        recording_put(machine, "time_usec", NULL, "us", 0, now);
        recording_put(machine, "load", NULL, "CPUs", 2, n % 3 ? n * 0.25 : NAN);
        recording_put_text(machine, "profile", NULL, n < 4 ? "balanced" : "performance");
        for (int i = 0; i < n_cpus; i++) {
                double busy = (n * 7 + i * 3) % 100 / 100.;

                recording_row_of(cpu, "cpu", i);
                recording_put(cpu, "time_usec", NULL, "us", 0, now);
                recording_put(cpu, "busy_share", NULL, "share", 4, busy);
                recording_put(cpu, "residency_share", "C6", "share", 4,
                              i % 5 == 4 ? NAN : 1 - busy);
                recording_put_text(cpu, "governor", NULL, i % 3 ? "powersave" : NULL);
        }
}

/* What add_sample() must become. */
static inline void expect_sample(const char *name, const RecordedFrame *frame, size_t row, int n,
                                 int n_cpus)
{
        const RecordedTable *machine = recorded_table(frame, "machine");
        const RecordedTable *cpu = recorded_table(frame, "cpu");
        const double *time = recorded_numbers(machine, "time_usec", NULL);
        const char *const *profile = recorded_texts(machine, "profile", NULL);
        const double *number = recorded_numbers(cpu, "cpu", NULL);
        const double *busy = recorded_numbers(cpu, "busy_share", NULL);
        const double *deep = recorded_numbers(cpu, "residency_share", "C6");
        double now = (double)(FIXTURE_START + (uint64_t)n * 1000000), load;

        ck_case(name, time && profile && number && busy && deep, "a column is missing");
        ck_case(name, row < machine->n_rows && (row + 1) * (size_t)n_cpus <= cpu->n_rows,
                "%zu and %zu rows", machine->n_rows, cpu->n_rows);
        load = recorded_number(machine, "load", row);
        ck_case(name, time[row] == now, "time %f, expected %f", time[row], now);
        ck_case(name, n % 3 ? fabs(load - n * 0.25) < 1e-9 : isnan(load), "load %f", load);
        ck_case(name, g_strcmp0(profile[row], n < 4 ? "balanced" : "performance") == 0,
                "profile %s", profile[row]);
        for (int i = 0; i < n_cpus; i++) {
                size_t at = row * (size_t)n_cpus + (size_t)i;
                double expected = (n * 7 + i * 3) % 100 / 100.;

                ck_case(name, number[at] == i, "CPU %f, expected %d", number[at], i);
                ck_case(name, fabs(busy[at] - expected) < 1e-9, "busy %f", busy[at]);
                ck_case(name, i % 5 == 4 ? isnan(deep[at]) : fabs(deep[at] - (1 - expected)) < 1e-9,
                        "share %f", deep[at]);
                ck_case(name,
                        g_strcmp0(recorded_text(cpu, "governor", at), i % 3 ? "powersave" : NULL) ==
                                0,
                        "governor %s", recorded_text(cpu, "governor", at));
        }
}

/* A recording of `n_frames` frames with `per_frame` samples each; `ret_ends`, room for n_frames:
 * where each ends. */
static inline GByteArray *make_recording(int n_frames, int per_frame, int n_cpus, size_t *ret_ends)
{
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        g_autoptr(GString) text = g_string_new(NULL);
        GByteArray *bytes = g_byte_array_new();

        for (int f = 0; f < n_frames; f++) {
                for (int i = 0; i < per_frame; i++)
                        add_sample(batch, f * per_frame + i, n_cpus);
                recording_batch_take(batch, text);
                ck_assert_int_eq(frame_pack(text, FIXTURE_START + (uint64_t)f * 1000000, bytes), 0);
                if (ret_ends)
                        ret_ends[f] = bytes->len;
        }
        return bytes;
}

/* Which frames of make_recording() are in there, as the bits of a mask; each must be right. */
static inline unsigned read_frames(const char *name, RecordingReader *reader, int per_frame,
                                   int n_cpus)
{
        const RecordedFrame *frame;
        unsigned seen = 0;
        int r;

        while ((r = recording_read(reader, &frame)) > 0) {
                int f = (int)((frame->last_usec - FIXTURE_START) / 1000000);

                ck_case(name, f >= 0 && f < 32, "frame of %" G_GUINT64_FORMAT, frame->last_usec);
                for (int i = 0; i < per_frame; i++)
                        expect_sample(name, frame, (size_t)i, f * per_frame + i, n_cpus);
                ck_case(name, !(seen & 1u << f), "frame %d comes twice", f);
                seen |= 1u << f;
        }
        ck_case(name, r == 0, "reading ends with %d", r);
        return seen;
}

#endif
