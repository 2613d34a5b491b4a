/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the fuzz targets share. A target is one function that is given bytes and aborts if what it
 * tests does not hold; it is linked with fuzz-driver.c, or with a fuzzing engine that brings its
 * own main().
 */
#ifndef IDLED_TESTS_FUZZ_H
#define IDLED_TESTS_FUZZ_H

#include <fcntl.h>
#include <glib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "temporary.h"

#if defined(__has_feature)
#define FUZZ_MEMORY __has_feature(memory_sanitizer)
#else
#define FUZZ_MEMORY 0
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *fuzz_temp;

static inline void fuzz_remove(void)
{
        temporary_remove(fuzz_temp);
        g_free(fuzz_temp);
}

/* A descriptor of a temporary directory that is removed in the end; always the same. */
static inline int fuzz_root(void)
{
        static int root = -1;

        if (root < 0) {
                fuzz_temp = temporary_make(NULL);
                atexit(fuzz_remove);
                root = root_open(fuzz_temp);
                g_assert(root >= 0);
        }
        return root;
}

/* Makes or replaces a file below fuzz_root(), with the directories that lead to it. */
static inline void fuzz_put(const char *path, const void *data, size_t size)
{
        g_autofree char *full = NULL, *parent = NULL;
        FILE *file;

        fuzz_root();
        full = g_build_filename(fuzz_temp, path, NULL);
        parent = g_path_get_dirname(full);
        g_assert(g_mkdir_with_parents(parent, 0755) == 0);
        file = fopen(full, "we");
        g_assert(file);
        g_assert(fwrite(data, 1, size, file) == size);
        g_assert(fclose(file) == 0);
}

#endif
