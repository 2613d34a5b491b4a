/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What benchmarks share: CPU time, trees of described machines, and libcpupower on them.
 *
 * libcpupower knows one path only, so a described machine's tree is mounted over it, in a mount
 * namespace that only this process has, and only if the tree's marker is there.
 */
#ifndef IDLED_TESTS_BENCH_H
#define IDLED_TESTS_BENCH_H

#include <cpuidle.h>
#include <fcntl.h>
#include <glib.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cpuset.h"
#include "base/file.h"
#include "base/log.h"

#define MARKER   "IDLED_FAKE_TREE"
#define CPU_TREE "sys/devices/system/cpu"

typedef struct Machine {
        const char *title;
        const char *name;   /* of its description; NULL: this one */
        double target_usec; /* of a whole tick */
        char *path;
} Machine;

/* CPU time of this process in microseconds. */
static inline double cpu_usec(void)
{
        struct timespec now;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static inline int compare_doubles(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* Puts the tree where libcpupower looks; false if that is not allowed or it is no tree of ours. */
static inline bool tree_mount(const Machine *machine)
{
        g_autofree char *marker = g_strdup_printf("%s/" MARKER, machine->path);
        g_autofree char *source = g_strdup_printf("%s/" CPU_TREE, machine->path);

        return access(marker, F_OK) == 0 && unshare(CLONE_NEWNS) == 0 &&
               mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
               mount(source, "/" CPU_TREE, NULL, MS_BIND, NULL) == 0;
}

/* Reads every state's usage and time by libcpupower once; returns how many that were. */
static inline int libcpupower_read(const CpuSet *cpus)
{
        int n = 0;

        CPUSET_FOREACH(cpu, cpus) {
                unsigned states = cpuidle_state_count((unsigned)cpu);

                for (unsigned s = 0; s < states; s++, n += 2) {
                        cpuidle_state_usage((unsigned)cpu, s);
                        cpuidle_state_time((unsigned)cpu, s);
                }
        }
        return n;
}

/* CPU time of that in microseconds, the median of several. */
static inline double bench_libcpupower(const CpuSet *cpus, int *ret_counters)
{
        double rounds[9];

        for (size_t i = 0; i < G_N_ELEMENTS(rounds); i++) {
                double start = cpu_usec();

                *ret_counters = libcpupower_read(cpus);
                rounds[i] = cpu_usec() - start;
        }
        qsort(rounds, G_N_ELEMENTS(rounds), sizeof(rounds[0]), compare_doubles);
        return rounds[G_N_ELEMENTS(rounds) / 2];
}

static inline void limit_files(rlim_t n)
{
        struct rlimit limit;

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = MIN(n, limit.rlim_max);
        setrlimit(RLIMIT_NOFILE, &limit);
}

/* The variable's value; ends the program if it is not set. */
static inline const char *need_variable(const char *name)
{
        const char *value = g_getenv(name);

        if (value && *value)
                return value;
        fprintf(stderr, "%s is not set: expected what meson test --benchmark sets it to\n", name);
        exit(EXIT_FAILURE);
}

/* What the program ends with. */
static int bench_status = EXIT_SUCCESS;

/* Runs in a process of its own, whose mounts and limits end with it. */
static inline void apart(void (*bench)(const Machine *machine), const Machine *machine)
{
        int status = 0;
        pid_t pid;

        fflush(stdout);
        pid = fork();
        if (pid == 0) {
                bench(machine);
                fflush(stdout);
                _exit(EXIT_SUCCESS);
        }
        if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
                return;
        fprintf(stderr, "%s could not be measured\n", machine->title);
        bench_status = EXIT_FAILURE;
}

/* Makes the tree of a described machine, in memory. */
static inline void machine_build(Machine *machine)
{
        g_autofree char *description = g_strdup_printf("%s/machines/%s.machine", TESTS_DIR,
                                                       machine->name);
        char *argv[] = { (char *)TESTS_DIR "/machines/build", description, NULL, NULL };
        int status = 0;

        machine->path = g_strdup(access("/dev/shm", W_OK) == 0 ? "/dev/shm/idled-bench-XXXXXX"
                                                               : "/tmp/idled-bench-XXXXXX");
        argv[2] = g_mkdtemp(machine->path);
        if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL, &status,
                          NULL) ||
            status != 0) {
                fprintf(stderr, "%s: cannot build\n", machine->name);
                exit(EXIT_FAILURE);
        }
}

static inline void machine_remove(Machine *machine)
{
        char *argv[] = { (char *)"rm", (char *)"-rf", (char *)"--", machine->path, NULL };

        g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
        g_free(machine->path);
}

#endif
