/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recordings from memory.
 */
#ifndef IDLED_TESTS_MEMORY_RECORDING_H
#define IDLED_TESTS_MEMORY_RECORDING_H

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording/read.h"

static inline RecordingReader *memory_recording(const void *data, size_t size)
{
        RecordingReader *reader = NULL;
        int fd = memfd_create("recording", MFD_CLOEXEC);
        g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);

        g_assert(fd >= 0);
        for (size_t n = 0; n < size;) {
                ssize_t r = write(fd, (const char *)data + n, size - n);

                g_assert(r > 0);
                n += (size_t)r;
        }
        g_assert(recording_reader_open(AT_FDCWD, path, &reader) == 0);
        close(fd);
        return reader;
}

#endif
