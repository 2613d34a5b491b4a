/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames. A head is a skippable frame of zstd:
 *
 *      0  magic   50 2a 4d 18
 *      4  size    u32, little endian: 50
 *      8  text    "idled recording VERSION TIME STORED\n", the numbers 2, 20 and 9 digits long
 */
#include "recording/frame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#define LEVEL    3 /* zstd's default: a higher level gains 3 % and costs twice the time */
#define MAGIC    "\x50\x2a\x4d\x18\x32\x00\x00\x00idled recording "
#define OLD      "\x89idlrec\n"
#define AT_VALUE (sizeof(MAGIC) - 1)

static void put_head(uint8_t *to, uint64_t last_usec, size_t stored)
{
        char text[FRAME_HEAD_SIZE - AT_VALUE + 1];

        snprintf(text, sizeof(text), "%02d %020" PRIu64 " %09zu\n", FRAME_VERSION, last_usec,
                 stored);
        memcpy(to, MAGIC, AT_VALUE);
        memcpy(to + AT_VALUE, text, FRAME_HEAD_SIZE - AT_VALUE);
}

int frame_pack(const GString *text, uint64_t last_usec, GByteArray *out)
{
        ZSTD_CCtx *context;
        guint start = out->len;
        size_t bound, stored;

        if (text->len > FRAME_RAW_MAX)
                return -E2BIG;
        bound = ZSTD_compressBound(text->len);
        g_byte_array_set_size(out, start + FRAME_HEAD_SIZE + (guint)bound);
        context = ZSTD_createCCtx();
        if (!context)
                g_error("Out of memory");
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        stored = ZSTD_compress2(context, out->data + start + FRAME_HEAD_SIZE, bound, text->str,
                                text->len);
        ZSTD_freeCCtx(context);
        if (ZSTD_isError(stored)) {
                g_byte_array_set_size(out, start);
                return -ENOMEM; /* there is no other reason */
        }
        put_head(out->data + start, last_usec, stored);
        g_byte_array_set_size(out, start + FRAME_HEAD_SIZE + (guint)stored);
        return 0;
}

/* The digits between a blank and another one, or the end of the line. */
static bool take_digits(const uint8_t **at, int n, char end, uint64_t *ret_value)
{
        uint64_t value = 0;

        for (int i = 0; i < n; i++, (*at)++) {
                if (**at < '0' || **at > '9')
                        return false;
                value = value * 10 + (uint64_t)(**at - '0');
        }
        *ret_value = value;
        return *(*at)++ == (uint8_t)end;
}

int frame_head_parse(const uint8_t *data, size_t size, FrameHead *ret_head)
{
        const uint8_t *at = data + AT_VALUE;
        uint64_t version, stored;
        FrameHead head;

        if (size >= sizeof(OLD) - 1 && memcmp(data, OLD, sizeof(OLD) - 1) == 0)
                return -EPROTONOSUPPORT;
        if (memcmp(data, MAGIC, MIN(size, AT_VALUE)) != 0)
                return -EBADMSG;
        if (size < FRAME_HEAD_SIZE)
                return 0;
        if (!take_digits(&at, 2, ' ', &version) || !take_digits(&at, 20, ' ', &head.last_usec) ||
            !take_digits(&at, 9, '\n', &stored) || version < FRAME_VERSION ||
            stored > FRAME_STORED_MAX)
                return -EBADMSG;
        head.version = (unsigned)version;
        head.stored = (uint32_t)stored;
        *ret_head = head;
        return 1;
}

int frame_unpack(const uint8_t *data, size_t size, GString *text)
{
        unsigned long long raw = ZSTD_getFrameContentSize(data, size);
        size_t found;

        if (raw > FRAME_RAW_MAX || ZSTD_findFrameCompressedSize(data, size) != size)
                return -EBADMSG; /* also where the frame does not say how large it is */
        g_string_set_size(text, raw);
        found = ZSTD_decompress(text->str, raw, data, size);
        return found == raw ? 0 : -EBADMSG;
}
