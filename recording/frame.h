/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames: what a recording is made of. Each is compressed and has a checksum of its own, so that a
 * crash or a damaged disk costs the frames it hits and no others. docs/recording.md has the layout.
 */
#ifndef IDLED_RECORDING_FRAME_H
#define IDLED_RECORDING_FRAME_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A frame of a higher version cannot be read; anything that can be skipped does not raise it. */
#define FRAME_VERSION 1

#define FRAME_MAGIC      "\x89idlrec\n" /* no text and no other format begins like this */
#define FRAME_MAGIC_SIZE 8u
#define FRAME_HEAD_SIZE  40u
#define FRAME_RAW_MAX    (8u << 20)                   /* bytes of contents, uncompressed */
#define FRAME_STORED_MAX (FRAME_RAW_MAX + (1u << 16)) /* the same, when it does not compress */

typedef struct FrameHead {
        uint16_t version;
        uint32_t stored;    /* bytes that follow the head */
        uint32_t raw;       /* bytes that these are uncompressed */
        uint64_t last_usec; /* CLOCK_REALTIME of the newest row; 0: none has a time */
} FrameHead;

/* Appends a frame with these contents to `out`. -E2BIG: more than FRAME_RAW_MAX bytes. */
int frame_pack(const uint8_t *raw, size_t size, uint64_t last_usec, GByteArray *out);

/* Reads FRAME_HEAD_SIZE bytes. False: they are not the head of a frame. The head is not checked
 * before frame_check(). */
bool frame_head_parse(const uint8_t *data, FrameHead *ret_head);

/* True if the checksum of the frame fits: `data` are its FRAME_HEAD_SIZE + `stored` bytes. */
bool frame_check(const uint8_t *data, const FrameHead *head);

/* Uncompresses the contents of a frame that was checked into `raw`, which is replaced.
 * -EPROTONOSUPPORT: a newer version; -EBADMSG: not what the head says. */
int frame_unpack(const uint8_t *data, const FrameHead *head, GByteArray *raw);

/* Where in `data` the next frame may begin; `size` minus at most 7 bytes if nowhere. */
size_t frame_search(const uint8_t *data, size_t size);

#endif
