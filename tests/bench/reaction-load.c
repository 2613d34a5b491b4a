/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reaction-load PROCS FILE TASKS: a heavy load, and how long it waits for CPUs that were parked.
 *
 * A line "new CPUS" or "old CPUS" on standard input begins a trial: TASKS processes in the cgroup
 * whose cgroup.procs is PROCS spin, forked at that moment or asleep in a pipe since long before.
 * CPUS, a mask in hexadecimal, are those that are parked. The answer is a line of two times in
 * milliseconds: until FILE, the group's set of CPUs, read anything else than before, and until one
 * of the processes ran on one of CPUS; negative if that did not come within LIMIT seconds.
 *
 * This process is not in the group, so the load does not keep it from looking.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT   5.0
#define LOOK_NS 2000000
#define BALANCE 0.3 /* seconds for the kernel to use the unparked CPUs */

static struct Shared {
        _Atomic bool stop;
        _Atomic uint64_t parked;
        _Atomic double arrived;
} * shared;

static double now_sec(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void spin(void)
{
        double end = now_sec() + 2 * LIMIT, none;

        while (!shared->stop && now_sec() < end) {
                int cpu = sched_getcpu();

                none = 0;
                if (cpu >= 0 && cpu < 64 && shared->parked >> cpu & 1)
                        atomic_compare_exchange_strong(&shared->arrived, &none, now_sec());
        }
}

/* Sleeps in `pipe` and spins for each byte in it. */
static void work(int pipe)
{
        char byte;

        while (read(pipe, &byte, 1) == 1)
                spin();
}

static pid_t fork_child(void)
{
        pid_t pid = fork();

        if (pid < 0) {
                perror("fork");
                exit(EXIT_FAILURE);
        }
        if (pid == 0)
                prctl(PR_SET_PDEATHSIG, SIGKILL);
        return pid;
}

/* In the group: makes the old processes, and new ones for each byte in `pipe`. */
static void serve(const char *procs, int tasks, int old, int new)
{
        FILE *group = fopen(procs, "w");
        char byte;

        if (!group || fprintf(group, "%d", getpid()) < 0 || fclose(group) != 0) {
                perror(procs);
                exit(EXIT_FAILURE);
        }
        for (int i = 0; i < tasks; i++)
                if (fork_child() == 0) {
                        work(old);
                        exit(EXIT_SUCCESS);
                }
        while (read(new, &byte, 1) == 1) {
                for (int i = 0; i < tasks; i++)
                        if (fork_child() == 0) {
                                spin();
                                _exit(EXIT_SUCCESS);
                        }
                for (int i = 0; i < tasks; i++)
                        wait(NULL);
        }
        exit(EXIT_SUCCESS);
}

/* Empty if there is no such file any more: then the group is not confined. */
static void read_set(const char *path, char *text, size_t size)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

        text[n < 0 ? 0 : n] = '\0';
        if (fd >= 0)
                close(fd);
}

/* When the set changed; 0 if it did not. */
static double wait_changed(const char *path, const char *before, double end)
{
        const struct timespec pause = { .tv_nsec = LOOK_NS };
        char text[1024];
        double now;

        while ((now = now_sec()) < end) {
                read_set(path, text, sizeof(text));
                if (strcmp(text, before) != 0)
                        return now;
                nanosleep(&pause, NULL);
        }
        return 0;
}

static void trial(const char *path, int tasks, int pipe, bool one_byte)
{
        const struct timespec balance = { .tv_nsec = (long)(BALANCE * 1e9) };
        char before[1024], bytes[64] = { 0 };
        size_t n = one_byte ? 1 : (size_t)tasks;
        double start, given;

        shared->stop = false;
        shared->arrived = 0;
        read_set(path, before, sizeof(before));
        start = now_sec();
        if (write(pipe, bytes, n) != (ssize_t)n)
                exit(EXIT_FAILURE);
        given = wait_changed(path, before, start + LIMIT);
        nanosleep(&balance, NULL);
        shared->stop = true;
        printf("%.1f %.1f\n", given > 0 ? (given - start) * 1e3 : -1,
               shared->arrived > 0 ? (shared->arrived - start) * 1e3 : -1);
        fflush(stdout);
}

int main(int argc, char **argv)
{
        int old[2], new[2], tasks = argc == 4 ? atoi(argv[3]) : 0;
        unsigned long long parked;
        char kind[8];

        if (tasks < 1 || tasks > 64 || pipe(old) < 0 || pipe(new) < 0) {
                fprintf(stderr, "usage: reaction-load PROCS FILE TASKS, of 1 to 64\n");
                return 2;
        }
        shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
        if (shared == MAP_FAILED)
                return EXIT_FAILURE;
        if (fork_child() == 0)
                serve(argv[1], tasks, old[0], new[0]);
        while (scanf("%7s %llx", kind, &parked) == 2) {
                bool is_new = strcmp(kind, "new") == 0;

                shared->parked = parked;
                trial(argv[2], tasks, is_new ? new[1] : old[1], is_new);
        }
        return EXIT_SUCCESS;
}
