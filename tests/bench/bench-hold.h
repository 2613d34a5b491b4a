/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holds as a client has them, for the benchmarks: calls that wait.
 */
#ifndef IDLED_TESTS_BENCH_HOLD_H
#define IDLED_TESTS_BENCH_HOLD_H

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define NAME    "org.idled1"
#define PATH    "/org/idled1"
#define MANAGER "org.idled1.Manager"

static sd_bus *bus;

static double now_usec(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void fail(const char *what, int r, const sd_bus_error *error)
{
        fprintf(stderr, "%s: %s\n", what, error && error->message ? error->message : strerror(-r));
        exit(EXIT_FAILURE);
}

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* `p50_target` and `p99_target` in us; 0: none. False: one is exceeded. */
static bool print_times(const char *what, double *times, int n, double p50_target,
                        double p99_target)
{
        double p50, p99;
        bool met = true;

        qsort(times, (size_t)n, sizeof(times[0]), compare);
        p50 = times[n / 2];
        p99 = times[n * 99 / 100];
        printf("%-46s %8.0f %8.0f %8.0f", what, p50, p99, times[n - 1]);
        if (p50_target > 0) {
                met = p50 <= p50_target && p99 <= p99_target;
                printf("   at most %.0f, %.0f: %s", p50_target, p99_target, met ? "met" : "MISSED");
        }
        putchar('\n');
        return met;
}

/* Returns the descriptor; `ret_path`, if not NULL, is a new string. */
static int hold(uint32_t latency_us, char **ret_path)
{
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        const char *path;
        int fd, r = sd_bus_call_method(bus, NAME, PATH, MANAGER, "Hold", &error, &reply, "a{sv}", 1,
                                       "latency_us", "u", latency_us);

        if (r >= 0)
                r = sd_bus_message_read(reply, "oh", &path, &fd);
        if (r < 0)
                fail("Hold", r, &error);
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (ret_path)
                *ret_path = g_strdup(path);
        sd_bus_message_unref(reply);
        return fd;
}

static void release(const char *path)
{
        sd_bus_error error = SD_BUS_ERROR_NULL;
        int r = sd_bus_call_method(bus, NAME, PATH, MANAGER, "ReleaseHold", &error, NULL, "o",
                                   path);

        if (r < 0)
                fail("ReleaseHold", r, &error);
}

#endif
