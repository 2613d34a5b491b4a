/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Traces from memory, as plain text or packed by xz.
 */
#ifndef IDLED_TESTS_MEMORY_TRACE_H
#define IDLED_TESTS_MEMORY_TRACE_H

#include <glib.h>
#include <lzma.h>
#include <sys/mman.h>
#include <unistd.h>

#include "governors/governor.h"
#include "governors/trace.h"

static inline Trace *memory_trace(const void *data, size_t size, char **ret_error)
{
        int fd = memfd_create("trace", MFD_CLOEXEC);

        g_assert(fd >= 0);
        for (size_t n = 0; n < size;) {
                ssize_t r = write(fd, (const char *)data + n, size - n);

                g_assert(r > 0);
                n += (size_t)r;
        }
        g_assert(lseek(fd, 0, SEEK_SET) == 0);
        return trace_new(fd, "t", ret_error);
}

/* The text as an xz file; a new array. */
static inline GByteArray *xz_pack(const char *text, size_t size)
{
        size_t room = lzma_stream_buffer_bound(size), used = 0;
        GByteArray *packed = g_byte_array_sized_new((guint)room);

        g_byte_array_set_size(packed, (guint)room);
        g_assert(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, (const uint8_t *)text, size,
                                         packed->data, &used, room) == LZMA_OK);
        g_byte_array_set_size(packed, (guint)used);
        return packed;
}

/* Reads all records, a few at a time. Returns their number, or a negative errno with a message. */
static inline int read_all(Trace *trace, GArray *ret_records, char **ret_error)
{
        Record records[7];
        int n;

        while ((n = trace_read(trace, records, G_N_ELEMENTS(records), ret_error)) > 0)
                if (ret_records)
                        g_array_append_vals(ret_records, records, (guint)n);
        return n < 0 ? n : (int)trace_facts(trace).records;
}

#endif
