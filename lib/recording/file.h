/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing a recording, second half: frames into a file that only grows, or into a ring.
 *
 * A ring is a file as well: when it has become too large or too old its newest frames are copied to
 * a new file, which takes its place at once (rename(2)). So the file is a whole recording at any
 * time, and readers that have it open go on reading the old one.
 */
#ifndef IDLED_RECORDING_FILE_H
#define IDLED_RECORDING_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "recording/batch.h"

/* The smallest limit of a ring's size that is accepted. */
#define RECORDING_SIZE_LEAST (64u << 10)

/* A batch of this many bytes is written at once. */
#define RECORDING_BATCH_FULL (1u << 20)

typedef struct RecordingLimits {
        uint64_t max_bytes;    /* of the file and its copy while it is copied; 0: no limit */
        uint64_t max_age_usec; /* frames are removed when they are at most a quarter older; 0: no
                                  limit */
} RecordingLimits;

typedef struct RecordingFile RecordingFile;

/* Opens a recording for writing, with mode 0600 if it is new, and locks it. "-" is standard output.
 * -EEXIST: it is there, not empty, and `append` is false; -EBADMSG: it is there and not a
 * recording, -EPROTONOSUPPORT: one of version 1; -EBUSY: another process writes it; -EINVAL: limits
 * on something that is no regular file; else open(2)'s errors. `dir` is kept by the caller. */
int recording_file_open(int dir, const char *path, const RecordingLimits *limits, bool append,
                        RecordingFile **ret_file);

/* True if the batch is so large that it should be written now. */
bool recording_file_is_due(const RecordingFile *file, const RecordingBatch *batch);

/* Writes the rows of the batch as one frame, whose newest is of `last_usec` (CLOCK_REALTIME); a
 * batch without rows writes nothing. On failure the file ends where it ended before, the rows are
 * lost, and the next call tries again: -ENOSPC, -EFBIG, -EDQUOT, -EPIPE, -E2BIG (the frame does
 * not fit into the ring), ... */
int recording_file_write(RecordingFile *file, RecordingBatch *batch, uint64_t last_usec);

/* The same with the text of a batch that was taken from it before. */
int recording_file_put(RecordingFile *file, const GString *text, uint64_t last_usec);

/* How many bytes the file has, and how many frames were written to it here. */
uint64_t recording_file_size(const RecordingFile *file);
uint64_t recording_file_frames(const RecordingFile *file);

/* Has the kernel write what it still keeps, and closes. Returns the error of that. NULL is allowed.
 */
int recording_file_close(RecordingFile *file);

#endif
