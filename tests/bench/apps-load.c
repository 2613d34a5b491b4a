/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * apps-load start COUNT PROGRAM FILE: how long a process waits for its rule's request.
 * apps-load storm COUNT RATE PROGRAM PID: what processes that match no rule cost the daemon PID.
 *
 * "start" begins PROGRAM, with 60 as its argument, and looks until FILE, a CPU's limit, reads
 * anything else than at first; from before the call, so that fork and exec are in it. Then PROGRAM
 * is killed, and FILE must read its first value again.
 *
 * "storm" begins and ends COUNT processes of PROGRAM, RATE a second if this machine can, and prints
 * the CPU time that the daemon used meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_SEC 5.0
#define LOOK_NS   100000

extern char **environ;

static double now_sec(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void sleep_ns(long ns)
{
        const struct timespec pause = { .tv_nsec = ns };

        nanosleep(&pause, NULL);
}

static void die(const char *what)
{
        perror(what);
        exit(EXIT_FAILURE);
}

static pid_t begin(const char *program)
{
        char *argv[] = { (char *)program, (char *)"60", NULL };
        pid_t pid;

        errno = posix_spawn(&pid, program, NULL, NULL, argv, environ);
        if (errno)
                die(program);
        return pid;
}

static void read_text(const char *path, char *text, size_t size)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

        if (n < 0)
                die(path);
        close(fd);
        text[n] = '\0';
}

/* When the text was, or was no longer, what it was at first. */
static double wait_text(const char *path, const char *first, bool same)
{
        double end = now_sec() + LIMIT_SEC, now;
        char text[256];

        for (;;) {
                read_text(path, text, sizeof(text));
                now = now_sec();
                if ((strcmp(text, first) == 0) == same)
                        return now;
                if (now > end) {
                        fprintf(stderr, "%s: still %s", path, text);
                        exit(EXIT_FAILURE);
                }
                sleep_ns(LOOK_NS);
        }
}

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static void start(int count, const char *program, const char *file)
{
        double *times = calloc((size_t)count, sizeof(times[0]));
        char first[256];

        if (!times)
                die("calloc");
        read_text(file, first, sizeof(first));
        for (int i = 0; i < count; i++) {
                double begun = now_sec();
                pid_t pid = begin(program);

                times[i] = 1e3 * (wait_text(file, first, false) - begun);
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
                wait_text(file, first, true);
                sleep_ns(1000000 + rand() % 20000000);
        }
        qsort(times, (size_t)count, sizeof(times[0]), compare);
        printf("start to limit in effect: median %.2f ms, p10 %.2f, p90 %.2f, max %.2f\n",
               times[count / 2], times[count / 10], times[count * 9 / 10], times[count - 1]);
        free(times);
}

static double cpu_usec(const char *pid)
{
        char path[64], text[128];

        snprintf(path, sizeof(path), "/proc/%s/schedstat", pid);
        read_text(path, text, sizeof(text));
        return (double)strtoull(text, NULL, 10) / 1e3;
}

static void storm(int count, int rate, const char *program, const char *pid)
{
        double cpu = cpu_usec(pid), begun = now_sec(), taken, used;

        for (int i = 0; i < count; i++) {
                double early = begun + (double)i / rate - now_sec();

                if (early > 0)
                        sleep_ns((long)(early * 1e9));
                waitpid(begin(program), NULL, 0);
        }
        taken = now_sec() - begun;
        sleep_ns(50000000);
        used = cpu_usec(pid) - cpu;
        printf("%.2f us of CPU for a process at %.0f/s; %d/s of them are %.2f %% of a CPU\n",
               used / count, count / taken, rate, used / count * rate / 1e4);
}

int main(int argc, char **argv)
{
        if (argc == 5 && strcmp(argv[1], "start") == 0 && atoi(argv[2]) > 0) {
                start(atoi(argv[2]), argv[3], argv[4]);
        } else if (argc == 6 && strcmp(argv[1], "storm") == 0 && atoi(argv[2]) > 0 &&
                   atoi(argv[3]) > 0) {
                storm(atoi(argv[2]), atoi(argv[3]), argv[4], argv[5]);
        } else {
                fprintf(stderr, "usage: apps-load start COUNT PROGRAM FILE\n"
                                "       apps-load storm COUNT RATE PROGRAM PID\n");
                return 2;
        }
        return EXIT_SUCCESS;
}
