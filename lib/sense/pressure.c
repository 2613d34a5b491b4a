/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pressure on the CPUs: the "some" line of /proc/pressure/cpu. Only its total is used; callers
 * compute averages.
 *
 * A kernel that has PSI but has it disabled (psi=0) refuses with EOPNOTSUPP, older ones when the
 * file is opened, newer ones when it is read. So opening the sensor reads it once.
 */
#include "sense/sensor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "sense/scan.h"

static void pressure_close(void *state)
{
        fd_close(state);
        g_free(state);
}

static int read_total(int fd, uint64_t *ret_usec)
{
        char buffer[256];
        const char *text = buffer, *total;
        uint64_t usec;
        int n;

        n = fd_read_at_start(fd, buffer, sizeof(buffer));
        if (n < 0)
                return n;
        buffer[strcspn(buffer, "\n")] = '\0';
        if (!scan_word(&text, "some "))
                return -EBADMSG;
        total = strstr(text, " total=");
        if (!total)
                return -EBADMSG;
        total += strlen(" total=");
        if (*total == ' ' || !scan_u64(&total, &usec) || *total)
                return -EBADMSG;
        *ret_usec = usec;
        return 0;
}

static int pressure_open(int root, const Topology *topology, void **ret_state)
{
        int fd = openat(root, "proc/pressure/cpu", O_RDONLY | O_CLOEXEC), r;
        uint64_t usec;

        if (fd < 0)
                return -errno;
        r = read_total(fd, &usec);
        if (r < 0) {
                close(fd);
                return r;
        }
        *ret_state = g_memdup2(&fd, sizeof(fd));
        return 0;
}

static int pressure_read(void *state, Counters *counters)
{
        int r;

        r = read_total(*(int *)state, &counters->pressure_usec);
        if (r < 0)
                return r;
        counters->have |= SENSE_PRESSURE;
        return 0;
}

int pressure_trigger_open(int root, PressureTrigger trigger)
{
        static const char *const texts[] = {
                [PRESSURE_TRIGGER_FAST] = "some " G_STRINGIFY(PRESSURE_USEC) " " G_STRINGIFY(
                        PRESSURE_WINDOW_USEC),
                [PRESSURE_TRIGGER_SLOW] = "some 200000 2000000",
        };
        _fd_ int fd = openat(root, "proc/pressure/cpu", O_RDWR | O_NONBLOCK | O_CLOEXEC);
        const char *text = texts[trigger];
        int opened;

        if (fd < 0)
                return -errno;
        if (write(fd, text, strlen(text) + 1) < 0)
                return -errno;
        opened = fd;
        fd = -1;
        return opened;
}

const Sensor sensor_pressure = {
        .provides = SENSE_PRESSURE,
        .open = pressure_open,
        .read = pressure_read,
        .close = pressure_close,
};
