/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The load for the demonstration of tools/run, one thread per online CPU:
 *
 *      demo-load light SECONDS    each thread works 1 ms of every 20 ms
 *      demo-load heavy SECONDS    each thread works all the time
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MSEC INT64_C(1000000)

static bool heavy;
static int64_t end_nsec;

static int64_t now_nsec(clockid_t clock)
{
        struct timespec t;

        clock_gettime(clock, &t);
        return (int64_t)t.tv_sec * 1000 * MSEC + t.tv_nsec;
}

/* Works for `nsec` of this thread's own CPU time, however long it waits for a CPU. */
static void work(int64_t nsec)
{
        int64_t end = now_nsec(CLOCK_THREAD_CPUTIME_ID) + nsec;

        while (now_nsec(CLOCK_THREAD_CPUTIME_ID) < end)
                ;
}

static void *thread_main(void *userdata)
{
        struct timespec pause = { .tv_nsec = 19 * MSEC };

        while (now_nsec(CLOCK_MONOTONIC) < end_nsec) {
                work(MSEC);
                if (!heavy)
                        nanosleep(&pause, NULL);
        }
        return NULL;
}

/* How long to run; 0 if the text is no such number. */
static long read_seconds(const char *text)
{
        char *end;
        long seconds = strtol(text, &end, 10);

        return seconds > 0 && seconds < 1000000 && *end == '\0' ? seconds : 0;
}

int main(int argc, char **argv)
{
        long n = sysconf(_SC_NPROCESSORS_ONLN), seconds = argc == 3 ? read_seconds(argv[2]) : 0;
        pthread_t threads[512];

        if (seconds == 0 || (strcmp(argv[1], "light") != 0 && strcmp(argv[1], "heavy") != 0)) {
                fprintf(stderr, "usage: demo-load light|heavy SECONDS\n");
                return 2;
        }
        heavy = argv[1][0] == 'h';
        end_nsec = now_nsec(CLOCK_MONOTONIC) + seconds * 1000 * MSEC;
        n = n > 512 ? 512 : n;
        for (long i = 0; i < n; i++)
                if (pthread_create(&threads[i], NULL, thread_main, NULL) != 0)
                        return 1;
        for (long i = 0; i < n; i++)
                pthread_join(threads[i], NULL);
        return 0;
}
