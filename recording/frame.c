/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames. The head, little endian, never changes from version to version:
 *
 *      0  magic           8 bytes
 *      8  version         u16
 *     10  zero            u16
 *     12  stored          u32
 *     16  raw             u32
 *     20  zero            u32
 *     24  last_usec       u64
 *     32  checksum        8 bytes: the first of the SHA-256 of bytes 0 to 31 and of those stored
 */
#include "recording/frame.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

#define AT_VERSION   8
#define AT_STORED    12
#define AT_RAW       16
#define AT_LAST      24
#define AT_CHECKSUM  32
#define CHECKSUM     8
#define COMPRESSION_ 3 /* zstd's default: a higher level gains 3 % and costs twice the time */

static void put_le(uint8_t *to, uint64_t value, int bytes)
{
        for (int i = 0; i < bytes; i++)
                to[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_le(const uint8_t *from, int bytes)
{
        uint64_t value = 0;

        for (int i = 0; i < bytes; i++)
                value |= (uint64_t)from[i] << (8 * i);
        return value;
}

static void checksum(const uint8_t *data, size_t stored, uint8_t ret_sum[CHECKSUM])
{
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
        uint8_t digest[32];
        gsize length = sizeof(digest);

        g_checksum_update(sum, data, AT_CHECKSUM);
        g_checksum_update(sum, data + FRAME_HEAD_SIZE, (gssize)stored);
        g_checksum_get_digest(sum, digest, &length);
        memcpy(ret_sum, digest, CHECKSUM);
}

int frame_pack(const uint8_t *raw, size_t size, uint64_t last_usec, GByteArray *out)
{
        guint start = out->len;
        uint8_t *frame;
        size_t stored;

        if (size > FRAME_RAW_MAX)
                return -E2BIG;
        g_byte_array_set_size(out, start + FRAME_HEAD_SIZE + (guint)ZSTD_compressBound(size));
        frame = out->data + start;
        stored = ZSTD_compress(frame + FRAME_HEAD_SIZE, out->len - start - FRAME_HEAD_SIZE, raw,
                               size, COMPRESSION_);
        if (ZSTD_isError(stored)) /* out of memory: the buffer is large enough */
                g_error("zstd: %s", ZSTD_getErrorName(stored));
        memset(frame, 0, FRAME_HEAD_SIZE);
        memcpy(frame, FRAME_MAGIC, FRAME_MAGIC_SIZE);
        put_le(frame + AT_VERSION, FRAME_VERSION, 2);
        put_le(frame + AT_STORED, stored, 4);
        put_le(frame + AT_RAW, size, 4);
        put_le(frame + AT_LAST, last_usec, 8);
        checksum(frame, stored, frame + AT_CHECKSUM);
        g_byte_array_set_size(out, start + FRAME_HEAD_SIZE + (guint)stored);
        return 0;
}

bool frame_head_parse(const uint8_t *data, FrameHead *ret_head)
{
        FrameHead head = { .version = (uint16_t)get_le(data + AT_VERSION, 2),
                           .stored = (uint32_t)get_le(data + AT_STORED, 4),
                           .raw = (uint32_t)get_le(data + AT_RAW, 4),
                           .last_usec = get_le(data + AT_LAST, 8) };

        if (memcmp(data, FRAME_MAGIC, FRAME_MAGIC_SIZE) != 0 || head.stored > FRAME_STORED_MAX)
                return false;
        *ret_head = head;
        return true;
}

bool frame_check(const uint8_t *data, const FrameHead *head)
{
        uint8_t sum[CHECKSUM];

        checksum(data, head->stored, sum);
        return memcmp(sum, data + AT_CHECKSUM, CHECKSUM) == 0;
}

int frame_unpack(const uint8_t *data, const FrameHead *head, GByteArray *raw)
{
        if (head->version == 0)
                return -EBADMSG;
        if (head->version > FRAME_VERSION)
                return -EPROTONOSUPPORT;
        if (head->raw > FRAME_RAW_MAX)
                return -EBADMSG;
        g_byte_array_set_size(raw, head->raw);
        if (ZSTD_decompress(raw->data, raw->len, data + FRAME_HEAD_SIZE, head->stored) != head->raw)
                return -EBADMSG;
        return 0;
}

size_t frame_search(const uint8_t *data, size_t size)
{
        const uint8_t *found = memmem(data, size, FRAME_MAGIC, FRAME_MAGIC_SIZE);

        if (found)
                return (size_t)(found - data);
        for (size_t tail = MIN(size, FRAME_MAGIC_SIZE - 1); tail > 0; tail--)
                if (memcmp(data + size - tail, FRAME_MAGIC, tail) == 0)
                        return size - tail;
        return size;
}
