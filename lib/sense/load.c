/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The load sensor: /proc/stat.
 *
 * The kernel formats the whole text for every reader, whatever part is read, and that is most of
 * the cost. So it is read once per reading, by one pread of a kept descriptor into a kept buffer
 * that grows when the text does not fit. The `intr` line, tens of kilobytes on large machines, is
 * between the CPUs and the other lines; it is skipped, not parsed.
 *
 * A CPU that is offline has no line. A truncated line, or one that is not numbers, is ignored. A
 * text without any CPU is -EBADMSG.
 */
#include "sense/sensor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "sense/scan.h"

typedef struct Load {
        int fd;
        char *buffer;
        size_t size;
        uint64_t usec_per_tick; /* /proc/stat counts in USER_HZ */
} Load;

static void load_close(void *state)
{
        Load *load = state;

        fd_close(&load->fd);
        g_free(load->buffer);
        g_free(load);
}

/* Reads the whole text; its length. */
static int load_fill(Load *load)
{
        for (;;) {
                int n = fd_read_at_start(load->fd, load->buffer, load->size);

                if (n < 0 || (size_t)n < load->size - 1)
                        return n;
                if (load->size >= FILE_SIZE_MAX)
                        return -EFBIG;
                load->size *= 2;
                g_free(load->buffer);
                load->buffer = g_malloc(load->size);
        }
}

static int load_open(int root, const Topology *topology, void **ret_state)
{
        Load *load = g_new(Load, 1);
        long hz = sysconf(_SC_CLK_TCK);
        int r;

        *load = (Load){
                .fd = openat(root, "proc/stat", O_RDONLY | O_CLOEXEC),
                .size = 4096,
                .buffer = g_malloc(4096),
                .usec_per_tick = 1000000 / (uint64_t)(hz > 0 ? hz : 100),
        };
        r = load->fd < 0 ? -errno : load_fill(load);
        if (r < 0) {
                load_close(load);
                return r;
        }
        *ret_state = load;
        return 0;
}

/* The start of the next line; the end of the text if there is none. */
static const char *next_line(const char *text, const char *end)
{
        const char *newline = memchr(text, '\n', (size_t)(end - text));

        return newline ? newline + 1 : end;
}

/* "3 100 0 50 4000 10 0 2 0 ..." of a line that begins with "cpu". */
static bool parse_cpu(const char *text, uint64_t usec_per_tick, uint64_t *ret_cpu,
                      CpuTimes *ret_times)
{
        /* user, nice, system, idle, iowait, irq, softirq, steal; guest is in user already */
        uint64_t ticks[8] = { 0 };
        int n = 0;

        if (!scan_u64(&text, ret_cpu))
                return false;
        while (n < 8 && *text == ' ' && scan_u64(&text, &ticks[n]))
                n++;
        if (n < 4 || (n < 8 && *text != '\n'))
                return false;
        ret_times->busy_usec = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]) *
                               usec_per_tick;
        ret_times->idle_usec = (ticks[3] + ticks[4]) * usec_per_tick;
        return true;
}

/* All lines of CPUs from `text` on; returns where the others begin. */
static const char *parse_cpus(const char *text, const char *end, uint64_t usec_per_tick,
                              Counters *counters, CpuSet *seen)
{
        const char *next;
        CpuTimes times;
        uint64_t cpu;

        for (; scan_word(&text, "cpu"); text = next) {
                next = next_line(text, end);
                if (*text == ' ' || next[-1] != '\n')
                        continue;
                if (!parse_cpu(text, usec_per_tick, &cpu, &times) ||
                    cpu >= (uint64_t)counters->n_cpus)
                        continue;
                counters->times[cpu] = times;
                cpuset_add(seen, (int)cpu);
        }
        return text;
}

static void parse_others(const char *text, const char *end, Counters *counters)
{
        uint64_t running = 1, blocked = 0;

        counters->switches = 0;
        for (; text < end; text = next_line(text, end)) {
                if (scan_word(&text, "ctxt "))
                        scan_u64(&text, &counters->switches);
                else if (scan_word(&text, "procs_running "))
                        scan_u64(&text, &running);
                else if (scan_word(&text, "procs_blocked "))
                        scan_u64(&text, &blocked);
        }
        /* the reader itself is running */
        counters->running = (unsigned)MIN(running - MIN(running, 1), UINT32_MAX);
        counters->blocked = (unsigned)MIN(blocked, UINT32_MAX);
}

static int load_read(void *state, Counters *counters)
{
        Load *load = state;
        const char *text, *end;
        CpuSet seen = { 0 };
        int n;

        n = load_fill(load);
        if (n < 0)
                return n;
        end = load->buffer + n;
        text = parse_cpus(load->buffer, end, load->usec_per_tick, counters, &seen);
        if (cpuset_is_empty(&seen))
                return -EBADMSG;
        counters->cpus = seen;
        parse_others(text, end, counters);
        counters->have |= SENSE_LOAD;
        return 0;
}

const Sensor sensor_load = {
        .provides = SENSE_LOAD,
        .open = load_open,
        .read = load_read,
        .close = load_close,
};
