/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The load averages: /proc/loadavg, "0.20 0.18 0.12 1/80 11206".
 */
#include "sense/sensor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "sense/scan.h"

static void loadavg_close(void *state)
{
        fd_close(state);
        g_free(state);
}

/* "0.20": the kernel always writes two decimals. */
static bool scan_hundredths(const char **text, double *ret_value)
{
        uint64_t whole, hundredths;
        const char *fraction;

        if (!scan_u64(text, &whole) || **text != '.')
                return false;
        fraction = ++*text;
        if (*fraction == ' ' || !scan_u64(text, &hundredths) || *text - fraction != 2)
                return false;
        *ret_value = (double)whole + (double)hundredths / 100;
        return true;
}

static int read_line(int fd, double ret_averages[3], unsigned *ret_threads)
{
        char buffer[128];
        const char *text = buffer;
        uint64_t runnable, threads;
        double averages[3];
        int n;

        n = fd_read_at_start(fd, buffer, sizeof(buffer));
        if (n < 0)
                return n;
        for (int i = 0; i < 3; i++)
                if (!scan_hundredths(&text, &averages[i]))
                        return -EBADMSG;
        if (!scan_u64(&text, &runnable) || *text++ != '/' || !scan_u64(&text, &threads))
                return -EBADMSG;
        memcpy(ret_averages, averages, sizeof(averages));
        *ret_threads = (unsigned)MIN(threads, UINT32_MAX);
        return 0;
}

static int loadavg_open(int root, const Topology *topology, void **ret_state)
{
        int fd = openat(root, "proc/loadavg", O_RDONLY | O_CLOEXEC), r;
        double averages[3];
        unsigned threads;

        if (fd < 0)
                return -errno;
        r = read_line(fd, averages, &threads);
        if (r < 0) {
                close(fd);
                return r;
        }
        *ret_state = g_memdup2(&fd, sizeof(fd));
        return 0;
}

static int loadavg_read(void *state, Counters *counters)
{
        int r;

        r = read_line(*(int *)state, counters->loadavg, &counters->threads);
        if (r < 0)
                return r;
        counters->have |= SENSE_LOADAVG;
        return 0;
}

const Sensor sensor_loadavg = {
        .provides = SENSE_LOADAVG,
        .open = loadavg_open,
        .read = loadavg_read,
        .close = loadavg_close,
};
