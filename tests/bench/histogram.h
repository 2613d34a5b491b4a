/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How late threads wake up, or servers answer, as cyclictest writes it: a line per microsecond, and
 * what was longer counted as overflows.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define HISTOGRAM_US 20000

static atomic_uint_fast32_t histogram[HISTOGRAM_US + 1]; /* the last: longer ones */

static inline void histogram_add(uint64_t late_us)
{
        atomic_fetch_add(&histogram[late_us < HISTOGRAM_US ? late_us : HISTOGRAM_US], 1);
}

/* Negative errno. */
static inline int histogram_write(const char *path)
{
        FILE *file = fopen(path, "we");

        if (!file)
                return -errno;
        fputs("# Histogram\n", file);
        for (int usec = 0; usec < HISTOGRAM_US; usec++)
                if (histogram[usec] > 0)
                        fprintf(file, "%06d %06u\n", usec, (unsigned)histogram[usec]);
        fprintf(file, "# Histogram Overflows: %05u\n", (unsigned)histogram[HISTOGRAM_US]);
        return fclose(file) == 0 ? 0 : -errno;
}
