/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A hash of a text, for tables with thousands of lookups: it reads eight bytes at a time, while
 * g_str_hash() reads one. Like g_str_hash() it does not resist texts chosen to collide.
 */
#ifndef IDLED_HASH_H
#define IDLED_HASH_H

#include <stdint.h>
#include <string.h>

/* The same for the same text, in this process. */
static inline unsigned text_hash(const char *text)
{
        size_t length = strlen(text);
        uint64_t hash = length, word;

        for (; length > 0; text += sizeof(word)) {
                size_t n = length < sizeof(word) ? length : sizeof(word);

                word = 0;
                memcpy(&word, text, n);
                hash = (hash ^ word) * 0x9e3779b97f4a7c15u; /* 2^64 by the golden ratio, odd */
                hash ^= hash >> 32;
                length -= n;
        }
        return (unsigned)hash;
}

#endif
