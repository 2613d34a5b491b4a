/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Traces of idle periods: CSV, plain, xz or zstd, one period a line (idlelab(1), REPLAY). Read in
 * blocks, so that memory does not grow with the trace.
 */
#ifndef IDLED_GOVERNORS_TRACE_H
#define IDLED_GOVERNORS_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_CPUS_MAX 8192 /* CPU numbers are below that, as in the kernel */

/* One line. What a trace leaves out has its default. */
typedef struct Record {
        uint64_t enter_ns;
        int64_t sleep_ns, idle_ns;
        int64_t exit_ns;  /* how long the CPU then took to leave its state; 0: not known */
        int64_t limit_ns; /* NO_LATENCY_LIMIT: none */
        uint32_t iowait;
        uint16_t cpu, util;
        bool resched, got_tick;
} Record;

typedef struct Trace Trace;

/* Opens a trace; "-" is standard input. NULL with a message for people in `ret_error`. */
Trace *trace_open(const char *path, char **ret_error);

/* The same of a descriptor, which it takes, with a name for messages. */
Trace *trace_new(int fd, const char *name, char **ret_error);
void trace_free(Trace *trace);

/* Reads up to `max` records. Returns how many, 0 at the end, or a negative errno with a message
 * "path:line:column: ..." in `ret_error`. */
int trace_read(Trace *trace, Record *ret_records, int max, char **ret_error);

/* How many bytes of the file have been read. */
uint64_t trace_bytes(const Trace *trace);

typedef struct TraceFacts {
        uint64_t records;
        uint64_t backwards; /* records that began before the last one of their CPU */
        int cpus;           /* that have any */
} TraceFacts;

/* About what has been read so far. */
TraceFacts trace_facts(const Trace *trace);

#endif
