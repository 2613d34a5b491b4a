/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Load series (traces/README.md), for tests that replay them.
 */
#ifndef IDLED_TESTS_TRACES_H
#define IDLED_TESTS_TRACES_H

#include "table.h"
#include "world.h"

typedef struct Trace {
        GArray *times_usec; /* of each line */
        GArray *demands;    /* STREAMS_MAX doubles a line */
        int n_streams;
} Trace;

static inline Trace trace_load(const char *name)
{
        g_autofree char *path = g_strdup_printf(TESTS_DIR "/traces/%s.csv", name), *text = NULL;
        g_auto(GStrv) lines = NULL;
        Trace trace = { g_array_new(FALSE, FALSE, sizeof(uint64_t)),
                        g_array_new(FALSE, FALSE, sizeof(double[STREAMS_MAX])), 0 };

        ck_case(path, g_file_get_contents(path, &text, NULL, NULL), "cannot be read");
        lines = g_strsplit(text, "\n", -1);
        for (int i = 0; lines[i]; i++) {
                g_auto(GStrv) fields = g_strsplit(lines[i], ",", -1);
                int n = (int)g_strv_length(fields) - 1;
                double demand[STREAMS_MAX] = { 0 };
                uint64_t usec;

                if (n < 1)
                        continue;
                ck_assert_int_le(n, STREAMS_MAX);
                usec = g_ascii_strtoull(fields[0], NULL, 10) * 1000;
                for (int k = 0; k < n; k++)
                        demand[k] = g_ascii_strtod(fields[k + 1], NULL);
                trace.n_streams = MAX(trace.n_streams, n);
                g_array_append_val(trace.times_usec, usec);
                g_array_append_val(trace.demands, demand);
        }
        ck_assert_uint_gt(trace.times_usec->len, 1);
        return trace;
}

static inline void trace_done(Trace *trace)
{
        g_array_unref(trace->times_usec);
        g_array_unref(trace->demands);
}

/* When it ends. */
static inline uint64_t trace_usec(const Trace *trace)
{
        return g_array_index(trace->times_usec, uint64_t, trace->times_usec->len - 1);
}

/* The demand of its streams at `usec`, given the line of an earlier time, which it moves on. */
static inline const double *trace_demand(const Trace *trace, uint64_t usec, guint *line)
{
        while (*line + 1 < trace->times_usec->len &&
               g_array_index(trace->times_usec, uint64_t, *line + 1) <= usec)
                (*line)++;
        return (const double *)(void *)trace->demands->data + (size_t)*line * STREAMS_MAX;
}

#endif
