/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers and texts as bytes, as the contents of a frame have them: a number takes seven bits a
 * byte, lowest first, and bit 7 says that more follow; a text is its length and its bytes.
 */
#ifndef IDLED_RECORDING_VARINT_H
#define IDLED_RECORDING_VARINT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The largest scaled number: doubles hold all whole numbers up to it. */
#define NUMBER_MAX (INT64_C(1) << 53)

#define DECIMALS_MAX 9

/* 10 to the power of `decimals`, 0 .. DECIMALS_MAX. */
static inline double decimal_scale(int decimals)
{
        static const double scales[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };

        return scales[decimals];
}

static inline void varint_put(GByteArray *to, uint64_t value)
{
        uint8_t bytes[10];
        guint n = 0;

        for (; value >= 0x80; value >>= 7)
                bytes[n++] = (uint8_t)(value | 0x80);
        bytes[n++] = (uint8_t)value;
        g_byte_array_append(to, bytes, n);
}

/* Moves `*at` behind the number. False: the bytes end before it does, or it exceeds 64 bits. */
static inline bool varint_get(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
        uint64_t value = 0;

        for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
                uint8_t byte = *(*at)++;

                if (shift == 63 && byte > 1)
                        return false;
                value |= (uint64_t)(byte & 0x7f) << shift;
                if (!(byte & 0x80)) {
                        *ret_value = value;
                        return true;
                }
        }
        return false;
}

/* Differences, in which small numbers of either sign take few bits. */
static inline uint64_t zigzag(int64_t value)
{
        return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
        return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
