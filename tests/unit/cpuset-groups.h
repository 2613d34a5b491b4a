/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Groups of cgroup v1's cpusets, on the machine that runs the test: all below one that the test
 * makes, with a task of its own in one of them.
 */
#ifndef IDLED_TESTS_CPUSET_GROUPS_H
#define IDLED_TESTS_CPUSET_GROUPS_H

#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "table.h"

#define CPUSETS "/sys/fs/cgroup/cpuset"

static int root = -1;
static char *top;                /* the group that is ours, relative to the cpusets' root */
static char *both, *one, *other; /* "0-1", "0", "1": two CPUs of this machine, as lists */
static CpuSet online;
static pid_t sleeper = -1;

static inline char *group_path(const char *group)
{
        return g_strdup_printf(CPUSETS "/%s/%s", top, group);
}

static inline void group_put(const char *group, const char *file, const char *text)
{
        g_autofree char *dir = group_path(group);
        g_autofree char *path = g_strdup_printf("%s/%s", dir + 1, file);
        int r = file_write(root, path, text);

        ck_assert_msg(r == 0, "%s: %s", path, g_strerror(-r));
}

static inline char *group_get(const char *group, const char *file)
{
        g_autofree char *dir = group_path(group);
        g_autofree char *path = g_strdup_printf("%s/%s", dir + 1, file);
        char *text = NULL;

        ck_assert_int_eq(file_read(root, path, &text), 0);
        return text;
}

static inline void group_expect_cpus(const char *group, const char *cpus)
{
        g_autofree char *text = group_get(group, "cpuset.cpus");

        ck_assert_msg(g_str_equal(text, cpus), "%s has \"%s\", expected \"%s\"", group, text, cpus);
}

static inline void group_make(const char *group, const char *cpus)
{
        g_autofree char *dir = group_path(group);

        ck_assert_int_eq(mkdir(dir, 0755), 0);
        group_put(group, "cpuset.mems", "0");
        if (*cpus)
                group_put(group, "cpuset.cpus", cpus);
}

static inline int group_remove_one(const char *path, const struct stat *st, int type,
                                   struct FTW *ftw)
{
        if (type == FTW_DP)
                rmdir(path);
        return 0;
}

static inline void group_remove(const char *name)
{
        g_autofree char *dir = g_strdup_printf(CPUSETS "/%s", name);

        nftw(dir, group_remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* A test that was killed leaves its groups behind; without tasks they can be removed. Returns how
 * many there were. */
static inline int group_remove_leftovers(void)
{
        g_autoptr(GDir) dir = g_dir_open(CPUSETS, 0, NULL);
        const char *name;
        int n = 0;

        while (dir && (name = g_dir_read_name(dir))) {
                int pid = 0;

                if (sscanf(name, "idled-test-%d", &pid) == 1 && pid > 0 && kill(pid, 0) < 0) {
                        group_remove(name);
                        n++;
                }
        }
        return n;
}

static inline void start_sleeper(const char *group)
{
        g_autofree char *pid = NULL;

        sleeper = fork();
        ck_assert_int_ge(sleeper, 0);
        if (sleeper == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;)
                        pause();
        }
        pid = g_strdup_printf("%d", sleeper);
        group_put(group, "cgroup.procs", pid);
}

static inline void stop_sleeper(void)
{
        if (sleeper > 0) {
                kill(sleeper, SIGKILL);
                waitpid(sleeper, NULL, 0);
        }
        sleeper = -1;
}

static inline void expect_sleeper(const char *group, const char *cpus)
{
        g_autofree char *procs = group_get(group, "cgroup.procs");
        cpu_set_t mask;
        CpuSet set = { 0 }, expected;

        ck_assert_int_eq(atoi(procs), sleeper);
        ck_assert_int_eq(sched_getaffinity(sleeper, sizeof(mask), &mask), 0);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
                if (CPU_ISSET(cpu, &mask))
                        cpuset_add(&set, cpu);
        ck_assert_int_eq(cpuset_parse(cpus, &expected), 0);
        ck_assert(cpuset_equal(&set, &expected));
}

/* Two online CPUs, and cpusets that may be written; else why not. */
static inline const char *groups_missing(void)
{
        g_autofree char *text = NULL;
        CpuSet first = { 0 }, second = { 0 }, pair;
        int here = root_open("/"), cpu;

        if (access(CPUSETS "/cpuset.cpus", W_OK) < 0)
                return "no cgroup v1 cpusets that may be written at " CPUSETS;
        if (file_read(here, "sys/fs/cgroup/cpuset/cpuset.cpus", &text) < 0 ||
            cpuset_parse(text, &online) < 0 || cpuset_count(&online) < 2)
                return "fewer than two CPUs";
        close(here);
        cpu = cpuset_next(&online, -1);
        cpuset_add(&first, cpu);
        cpuset_add(&second, cpuset_next(&online, cpu));
        pair = first;
        cpuset_or(&pair, &second);
        both = cpuset_format(&pair);
        one = cpuset_format(&first);
        other = cpuset_format(&second);
        return NULL;
}

#endif
