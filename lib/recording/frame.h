/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames: what a recording is made of. A head, which zstd skips, says the version, the time and the
 * size; a frame of zstd with its checksum follows. So zstdcat(1) shows a recording as text, and a
 * crash or a damaged disk is noticed. docs/recording.md has the layout.
 */
#ifndef IDLED_RECORDING_FRAME_H
#define IDLED_RECORDING_FRAME_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A frame of a higher version cannot be read; anything that can be skipped does not raise it. */
#define FRAME_VERSION 2

#define FRAME_HEAD_SIZE  58u
#define FRAME_RAW_MAX    (16u << 20)                  /* bytes of text, uncompressed */
#define FRAME_STORED_MAX (FRAME_RAW_MAX + (1u << 16)) /* the same, when it does not compress */

typedef struct FrameHead {
        unsigned version;
        uint32_t stored;    /* bytes that follow the head */
        uint64_t last_usec; /* CLOCK_REALTIME of the newest row; 0: none has a time */
} FrameHead;

/* Appends a frame with this text to `out`. -E2BIG: more than FRAME_RAW_MAX bytes. */
int frame_pack(const GString *text, uint64_t last_usec, GByteArray *out);

/* Reads a head, of FRAME_HEAD_SIZE bytes. 1: there it is; 0: `size` is less, and a head begins so,
 * of which a crash may have left no more. -EBADMSG: they are not the head of a frame;
 * -EPROTONOSUPPORT: they begin a recording of version 1, which had another form. */
int frame_head_parse(const uint8_t *data, size_t size, FrameHead *ret_head);

/* Replaces `text` by the text of the frame whose `size` bytes follow a head. -EBADMSG: they are not
 * a frame, are damaged, or have more than FRAME_RAW_MAX bytes of text. */
int frame_unpack(const uint8_t *data, size_t size, GString *text);

#endif
