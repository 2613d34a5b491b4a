/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading traces: blocks of the file, decompressed if it is xz or zstd, are cut into lines and
 * these into records. The line that a block ends in is moved to the front of the next one, so
 * memory is the same for every trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <lzma.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "governors/governor.h"
#include "governors/trace.h"

#define BLOCK_BYTES (256u << 10)
#define LINE_BYTES  4096u /* the longest line that is read */
#define XZ_MEMORY   (256u << 20)
#define N_COLUMNS   11
#define N_USUAL     10 /* those that need no header */
#define N_MANDATORY 4
#define TIME_MAX    (INT64_MAX / 4) /* sums with exit latencies stay in range */
#define LIMIT_MAX   (TIME_MAX / 1000)

/* In the order of a trace without a header. */
typedef enum Column {
        COLUMN_CPU,
        COLUMN_ENTER,
        COLUMN_SLEEP,
        COLUMN_IDLE,
        COLUMN_WAKE_TIMER,
        COLUMN_UTIL,
        COLUMN_LIMIT,
        COLUMN_IOWAIT,
        COLUMN_RESCHED,
        COLUMN_GOT_TICK,
        COLUMN_EXIT,
} Column;

static const struct {
        const char *name, *what;
        uint64_t max;
        bool can_be_negative;
} columns[N_COLUMNS] = {
        [COLUMN_CPU] = { "cpu", "a CPU number, 0 to 8191", TRACE_CPUS_MAX - 1, false },
        [COLUMN_ENTER] = { "t_enter_ns", "the time of the idle entry in ns", UINT64_MAX, false },
        [COLUMN_SLEEP] = { "sleep_len_ns", "the time to the next timer in ns", INT64_MAX, true },
        [COLUMN_IDLE] = { "idle_ns", "the length of the idle period in ns, 0 or more", TIME_MAX,
                          false },
        [COLUMN_WAKE_TIMER] = { "wake_timer", "0 or 1", 1, false },
        [COLUMN_UTIL] = { "util", "the utilization, 0 to 1024", CPU_CAPACITY, false },
        [COLUMN_LIMIT] = { "lat_us", "the latency limit in us, or -1 for none", LIMIT_MAX, true },
        [COLUMN_IOWAIT] = { "iowait", "the number of tasks that wait for I/O", UINT32_MAX, false },
        [COLUMN_RESCHED] = { "resched", "0 or 1", 1, false },
        [COLUMN_GOT_TICK] = { "got_tick", "0 or 1", 1, false },
        [COLUMN_EXIT] = { "exit_ns", "the time to leave the idle state in ns", TIME_MAX, false },
};

/* The file and what decompresses it. */
typedef struct Source {
        char *path; /* for messages */
        int fd;
        uint64_t bytes; /* read of the file */
        bool is_packed, in_frame;
        bool ended; /* the file has been read to its end */
        lzma_stream xz;
        ZSTD_DStream *zstd;          /* NULL: it is not zstd */
        uint8_t packed[BLOCK_BYTES]; /* a block as in the file, if it is compressed */
        size_t used, filled;         /* of that */
} Source;

struct Trace {
        Source source;
        char block[LINE_BYTES + BLOCK_BYTES];
        char *next, *ready; /* what is not parsed yet, and the end of the last whole line */
        char *filled;
        uint64_t line; /* of `next`, from 1 */
        int n_columns; /* 0: not known yet */
        Column order[N_COLUMNS];
        uint64_t last_enter_ns[TRACE_CPUS_MAX];
        bool has_cpu[TRACE_CPUS_MAX];
        TraceFacts facts;
};

static int __attribute__((format(printf, 3, 4)))
failed(int r, char **ret_error, const char *format, ...)
{
        va_list list;

        va_start(list, format);
        *ret_error = g_strdup_vprintf(format, list);
        va_end(list);
        return r;
}

/* Reads from the file until `size` bytes or its end. */
static ssize_t read_fully(Source *source, void *to, size_t size, char **ret_error)
{
        ssize_t n = fd_read_full(source->fd, to, size);

        if (n < 0)
                return failed((int)n, ret_error, "%s: cannot read: %s", source->path,
                              g_strerror((int)-n));
        source->bytes += (size_t)n;
        return n;
}

static const char *xz_problem(lzma_ret r)
{
        switch (r) {
        case LZMA_BUF_ERROR:
                return "the xz data end too early, the file is truncated";
        case LZMA_DATA_ERROR:
                return "the xz data are corrupt, or something else follows them";
        case LZMA_MEMLIMIT_ERROR:
                return "the xz data need more than 256 MiB to decompress";
        case LZMA_OPTIONS_ERROR:
                return "the xz data use an option that liblzma does not support";
        default:
                return "the xz data cannot be decompressed";
        }
}

/* Decompresses some of the block behind `*n` bytes. 1: the data have ended. */
static int unpack_xz(Source *source, char *to, size_t size, size_t *n, char **ret_error)
{
        lzma_stream *xz = &source->xz;
        lzma_ret r;

        xz->next_in = source->packed + source->used;
        xz->avail_in = source->filled - source->used;
        xz->next_out = (uint8_t *)to + *n;
        xz->avail_out = size - *n;
        r = lzma_code(xz, source->ended ? LZMA_FINISH : LZMA_RUN);
        source->used = source->filled - xz->avail_in;
        *n = size - xz->avail_out;
        if (r != LZMA_OK && r != LZMA_STREAM_END)
                return failed(-EBADMSG, ret_error, "%s: %s", source->path, xz_problem(r));
        return r == LZMA_STREAM_END;
}

static int unpack_zstd(Source *source, char *to, size_t size, size_t *n, char **ret_error)
{
        ZSTD_inBuffer in = { source->packed, source->filled, source->used };
        ZSTD_outBuffer out = { to, size, *n };
        size_t r;

        if (source->used == source->filled && !source->in_frame)
                return 1;
        r = ZSTD_decompressStream(source->zstd, &out, &in);
        if (ZSTD_isError(r))
                return failed(-EBADMSG, ret_error,
                              "%s: the zstd data are corrupt, or something else follows them: %s",
                              source->path, ZSTD_getErrorName(r));
        source->in_frame = r > 0;
        if (source->in_frame && source->ended && in.pos == in.size && out.pos == *n)
                return failed(-EBADMSG, ret_error,
                              "%s: the zstd data end too early, the file is truncated",
                              source->path);
        source->used = in.pos;
        *n = out.pos;
        return 0;
}

/* Decompresses until `to` is full or the data end. */
static ssize_t unpack(Source *source, char *to, size_t size, char **ret_error)
{
        size_t n = 0;
        int r = 0;

        while (n < size && r == 0) {
                if (source->used == source->filled && !source->ended) {
                        ssize_t found = read_fully(source, source->packed, BLOCK_BYTES, ret_error);

                        if (found < 0)
                                return found;
                        source->ended = found < (ssize_t)BLOCK_BYTES;
                        source->filled = (size_t)found;
                        source->used = 0;
                }
                r = (source->zstd ? unpack_zstd : unpack_xz)(source, to, size, &n, ret_error);
        }
        return r < 0 ? r : (ssize_t)n;
}

/* Makes `next` .. `ready` whole lines, each with its '\n'. 0: there are no more. */
static int fill(Trace *trace, char **ret_error)
{
        size_t rest = (size_t)(trace->filled - trace->next);
        Source *source = &trace->source;
        ssize_t n;

        if (rest >= LINE_BYTES)
                return failed(-EINVAL, ret_error,
                              "%s:%" PRIu64 ":1: the line is longer than %u bytes", source->path,
                              trace->line, LINE_BYTES - 1);
        memmove(trace->block, trace->next, rest);
        trace->next = trace->block;
        trace->filled = trace->block + rest;
        n = source->is_packed ? unpack(source, trace->filled, BLOCK_BYTES - 1, ret_error)
                              : read_fully(source, trace->filled, BLOCK_BYTES - 1, ret_error);
        if (n < 0)
                return (int)n;
        trace->filled += n;
        if (n < (ssize_t)BLOCK_BYTES - 1 && trace->filled > trace->next &&
            trace->filled[-1] != '\n')
                *trace->filled++ = '\n';
        trace->ready = trace->filled;
        while (trace->ready > trace->next && trace->ready[-1] != '\n')
                trace->ready--;
        if (trace->ready == trace->next && n > 0)
                return fill(trace, ret_error);
        return trace->ready > trace->next;
}

static int wrong_field(Trace *trace, const char *field, Column column, char **ret_error)
{
        g_autofree char *found = g_strndup(field, strcspn(field, ",\r\n"));
        g_autofree char *shown = g_strescape(found, NULL);

        return failed(-EINVAL, ret_error, "%s:%" PRIu64 ":%zu: found '%.40s', expected %s, %s",
                      trace->source.path, trace->line, (size_t)(field - trace->next) + 1, shown,
                      columns[column].name, columns[column].what);
}

static int wrong_count(Trace *trace, const char *at, int found, char **ret_error)
{
        return failed(-EINVAL, ret_error, "%s:%" PRIu64 ":%zu: found %d fields, expected %d",
                      trace->source.path, trace->line, (size_t)(at - trace->next) + 1, found,
                      trace->n_columns);
}

/* Takes the digits of a number off `*at`. False: there are none, or too many. */
static inline bool take_number(const char **at, uint64_t *ret_value)
{
        const char *begin = *at, *c = begin;
        uint64_t value = 0;

        for (; g_ascii_isdigit(*c); c++)
                if (__builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
                        return false;
        *at = c;
        *ret_value = value;
        return c > begin;
}

/* One line into `ret_record`, `next` moved behind it. */
static int parse_record(Trace *trace, Record *ret_record, char **ret_error)
{
        int64_t values[N_COLUMNS] = { [COLUMN_LIMIT] = -1, [COLUMN_RESCHED] = true };
        const char *c = trace->next;

        for (int i = 0; i < trace->n_columns; i++) {
                Column column = trace->order[i];
                const char *field = c;
                bool negative = *c == '-' && columns[column].can_be_negative;
                uint64_t value;

                c += negative;
                if (!take_number(&c, &value) || value > columns[column].max ||
                    (negative && column == COLUMN_LIMIT && value != 1))
                        return wrong_field(trace, field, column, ret_error);
                values[column] = negative ? -(int64_t)value : (int64_t)value;
                if (*c == ',') {
                        if (i + 1 == trace->n_columns)
                                return wrong_count(trace, c, i + 2, ret_error);
                        c++;
                } else if (*c != '\n' && (*c != '\r' || c[1] != '\n')) {
                        return wrong_field(trace, field, column, ret_error);
                } else if (i + 1 < trace->n_columns) {
                        return wrong_count(trace, c, i + 1, ret_error);
                }
        }
        *ret_record = (Record){
                .cpu = (uint16_t)values[COLUMN_CPU],
                .enter_ns = (uint64_t)values[COLUMN_ENTER],
                .sleep_ns = values[COLUMN_SLEEP],
                .idle_ns = values[COLUMN_IDLE],
                .util = (uint16_t)values[COLUMN_UTIL],
                .limit_ns = values[COLUMN_LIMIT] < 0 ? NO_LATENCY_LIMIT
                                                     : values[COLUMN_LIMIT] * 1000,
                .iowait = (uint32_t)values[COLUMN_IOWAIT],
                .resched = values[COLUMN_RESCHED],
                .got_tick = values[COLUMN_GOT_TICK],
                .exit_ns = values[COLUMN_EXIT],
        };
        trace->next = (char *)c + 1 + (*c == '\r');
        trace->line++;
        return 0;
}

static int find_column(const char *name)
{
        for (int i = 0; i < N_COLUMNS; i++)
                if (strcmp(columns[i].name, name) == 0)
                        return i;
        return -1;
}

/* The line at `next` names the columns. */
static int parse_header(Trace *trace, const char *line, char **ret_error)
{
        g_auto(GStrv) names = g_strsplit(line, ",", -1);
        bool seen[N_COLUMNS] = { false };
        size_t at = 1;

        for (int i = 0; names[i]; at += strlen(names[i]) + 1, i++) {
                int column = find_column(g_strstrip(names[i]));
                g_autofree char *shown = g_strescape(names[i], NULL);

                if (column < 0 || seen[column])
                        return failed(-EINVAL, ret_error,
                                      "%s:%" PRIu64 ":%zu: found '%.40s', expected %s",
                                      trace->source.path, trace->line, at, shown,
                                      column < 0 ? "cpu, t_enter_ns, sleep_len_ns, idle_ns, "
                                                   "wake_timer, util, lat_us, iowait, resched, "
                                                   "got_tick or exit_ns"
                                                 : "each column once");
                seen[column] = true;
                trace->order[trace->n_columns++] = (Column)column;
        }
        for (int i = 0; i < N_MANDATORY; i++)
                if (!seen[i])
                        return failed(-EINVAL, ret_error,
                                      "%s:%" PRIu64 ":1: the header has no %s, which is mandatory",
                                      trace->source.path, trace->line, columns[i].name);
        return 0;
}

static void skip_line(Trace *trace)
{
        char *end = memchr(trace->next, '\n', (size_t)(trace->ready - trace->next));

        trace->next = end + 1;
        trace->line++;
}

/* The first line that is no comment: a header, or a record with the first columns. */
static int parse_first(Trace *trace, char **ret_error)
{
        size_t length = strcspn(trace->next, "\r\n");
        g_autofree char *line = g_strndup(trace->next, length);
        int n = 1;

        if (g_ascii_isalpha(*line)) {
                int r = parse_header(trace, line, ret_error);

                skip_line(trace);
                return r;
        }
        for (const char *c = line; *c; c++)
                n += *c == ',';
        if (n < N_MANDATORY || n > N_USUAL)
                return failed(-EINVAL, ret_error,
                              "%s:%" PRIu64 ":1: found %d fields, expected %d to %d",
                              trace->source.path, trace->line, n, N_MANDATORY, N_USUAL);
        for (int i = 0; i < n; i++)
                trace->order[i] = (Column)i;
        trace->n_columns = n;
        return 0;
}

static void note(Trace *trace, const Record *record)
{
        TraceFacts *facts = &trace->facts;
        uint64_t *last_ns = &trace->last_enter_ns[record->cpu];

        facts->records++;
        facts->backwards += record->enter_ns < *last_ns;
        facts->cpus += !trace->has_cpu[record->cpu];
        trace->has_cpu[record->cpu] = true;
        *last_ns = record->enter_ns;
}

int trace_read(Trace *trace, Record *ret_records, int max, char **ret_error)
{
        int n = 0, r;

        while (n < max) {
                if (trace->next == trace->ready) {
                        r = fill(trace, ret_error);
                        if (r < 0)
                                return r;
                        if (r == 0)
                                break;
                }
                if (*trace->next == '#' || *trace->next == '\n' || *trace->next == '\r') {
                        skip_line(trace);
                        continue;
                }
                if (trace->n_columns == 0) {
                        r = parse_first(trace, ret_error);
                        if (r < 0)
                                return r;
                        continue;
                }
                r = parse_record(trace, &ret_records[n], ret_error);
                if (r < 0)
                        return r;
                note(trace, &ret_records[n++]);
        }
        return n;
}

/* Reads enough to recognise a compressed file, and begins with that. */
static int start(Trace *trace, char **ret_error)
{
        Source *source = &trace->source;
        static const uint8_t magic[] = { 0xfd, '7', 'z', 'X', 'Z', 0 };
        static const uint8_t zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };
        ssize_t n = read_fully(source, source->packed, sizeof(magic), ret_error);

        if (n < 0)
                return (int)n;
        if (n >= 2 && source->packed[0] == 0x1f && source->packed[1] == 0x8b)
                return failed(-EINVAL, ret_error,
                              "%s: found a gzip file, expected xz, zstd or text", source->path);
        source->filled = (size_t)n;
        source->is_packed = true;
        if (n >= (ssize_t)sizeof(zstd) && memcmp(source->packed, zstd, sizeof(zstd)) == 0) {
                source->zstd = ZSTD_createDStream();
        } else if (n < (ssize_t)sizeof(magic) || memcmp(source->packed, magic, sizeof(magic))) {
                source->is_packed = false;
                memcpy(trace->block, source->packed, (size_t)n);
                trace->filled = trace->block + n;
        }
        if (!source->is_packed || source->zstd ||
            lzma_stream_decoder(&source->xz, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK)
                return 0;
        return failed(-ENOMEM, ret_error, "%s: cannot start to decompress", source->path);
}

Trace *trace_new(int fd, const char *name, char **ret_error)
{
        Trace *trace = g_new0(Trace, 1);

        trace->source.path = g_strdup(name);
        trace->source.fd = fd;
        trace->line = 1;
        trace->next = trace->ready = trace->filled = trace->block;
        if (start(trace, ret_error) < 0) {
                trace_free(trace);
                return NULL;
        }
        return trace;
}

Trace *trace_open(const char *path, char **ret_error)
{
        bool is_stdin = strcmp(path, "-") == 0;
        int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                          : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        if (fd < 0) {
                failed(-errno, ret_error, "%s: cannot open: %s", path, g_strerror(errno));
                return NULL;
        }
        return trace_new(fd, is_stdin ? "standard input" : path, ret_error);
}

void trace_free(Trace *trace)
{
        if (!trace)
                return;
        lzma_end(&trace->source.xz);
        ZSTD_freeDStream(trace->source.zstd);
        close(trace->source.fd);
        g_free(trace->source.path);
        g_free(trace);
}

uint64_t trace_bytes(const Trace *trace)
{
        return trace->source.bytes;
}

TraceFacts trace_facts(const Trace *trace)
{
        return trace->facts;
}
