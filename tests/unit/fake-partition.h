/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tree of files that behaves as cgroup v2 does towards one partition below the root, on a machine
 * with CPUs 0-3. What is faked was observed on Linux 6.1 and 6.12:
 *
 * - a directory made in the root has cpuset files if the controller is on there;
 * - `isolated` is accepted always, and reads "isolated invalid (why)" if the list is empty, holds
 *   all CPUs, or overlaps with a neighbour's;
 * - an empty list in a valid partition loses its CPUs: it must never be written;
 * - 6.1 has no scheduling domain for CPUs that a new list adds until the type is written;
 * - 6.12 keeps unbound workqueues off the partition, under its lock of cpusets. It must find
 * nothing to change, because it can hang if another program moves tasks between cgroups meanwhile;
 * - from 6.8 on cpuset.cpus.exclusive, if it is not empty, counts instead of cpuset.cpus;
 * - from 7.0 on lists of neighbours do not matter, and CPUs of another partition are taken from
 * this.
 *
 * Every write is kept in the log, as "FILE=VALUE ", that to the mask of workqueues as "unbound=".
 */
#ifndef IDLED_TESTS_FAKE_PARTITION_H
#define IDLED_TESTS_FAKE_PARTITION_H

#include <sys/syscall.h>

#include "scratch.h"
#include "set-of.h"
#include "table.h"

#define FAKE_ROOT  "sys/fs/cgroup/"
#define FAKE_GROUP FAKE_ROOT "idled.parked"
#define FAKE_SLICE FAKE_ROOT "idledpark.slice"
#define FAKE_WORK  "sys/devices/virtual/workqueue/cpumask"

typedef struct FakeWorld {
        bool controller, group;
        bool slice;         /* the group is that of a slice, and its directory not ours to make */
        bool has_exclusive; /* as Linux 6.8 */
        bool lists_overlap; /* without making a partition invalid, as Linux 7.0 */
        char cpus[64], exclusive[64], type[16];
        CpuSet stripped;           /* CPUs that another partition has */
        char neighbour[64];        /* CPUs that a neighbour insists on */
        bool old_kernel;           /* does not rebuild domains when the list changes */
        CpuSet domains;            /* CPUs that have one */
        CpuSet unbound, requested; /* masks of workqueues, not of the old kernel */
        CpuSet others;             /* CPUs of partitions of other programs */
        char log[4096];
        char fail[64]; /* a file whose writing fails */
        int error;     /* so */
} FakeWorld;

static FakeWorld *fake;

/* The group's path, or that of a file of it. */
static char *fake_path(const char *file)
{
        return g_strconcat(fake->slice ? FAKE_SLICE : FAKE_GROUP, file, NULL);
}

static ssize_t fake_write(int fd, const void *data, size_t size);
static int fake_unlinkat(int dir, const char *name, int flags);
static bool fake_is_regular(int fd);

#define STEPS_WRITE(fd, data, size)      fake_write(fd, data, size)
#define STEPS_UNLINKAT(dir, name, flags) fake_unlinkat(dir, name, flags)
#define STEPS_CAN_BE_PARTIAL(fd)         fake_is_regular(fd)

#include "steps.h"

/* Past the functions of steps.h, and past our own. */
static void fake_put(const char *path, const char *text)
{
        int fd = openat(scratch_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        ck_assert_msg(fd >= 0, "cannot make %s: %m", path);
        ck_assert_int_eq(syscall(SYS_write, fd, text, strlen(text)), (long)strlen(text));
        close(fd);
}

static void fake_put_in_group(const char *file, const char *text)
{
        g_autofree char *path = fake_path(file);

        fake_put(path, text);
}

/* The CPUs that the partition would take. */
static CpuSet fake_listed(void)
{
        return set_of(*fake->exclusive ? fake->exclusive : fake->cpus);
}

static const char *fake_why_invalid(void)
{
        CpuSet cpus = fake_listed(), all = set_of("0-3"), other = set_of(fake->neighbour);

        if (cpuset_is_empty(&cpus))
                return "cpuset.cpus is empty";
        if (cpuset_is_subset(&all, &cpus))
                return "Parent unable to distribute cpu downstream";
        if (cpuset_intersects(&cpus, &other) && !fake->lists_overlap)
                return "Cpu list in cpuset.cpus not exclusive";
        return NULL;
}

/* The CPUs that are taken away from all other groups. */
static CpuSet fake_parked(void)
{
        bool works = fake->controller && fake->group && *fake->type != 'm' && !fake_why_invalid();
        CpuSet cpus = works ? fake_listed() : (CpuSet){ 0 };

        cpuset_subtract(&cpus, &fake->stripped);
        return cpus;
}

static void fake_put_schedstat(void)
{
        g_autoptr(GString) text = g_string_new("version 15\ntimestamp 1\n");

        for (int cpu = 0; cpu < 4; cpu++) {
                g_string_append_printf(text, "cpu%d 0 0 0\n", cpu);
                if (cpuset_has(&fake->domains, cpu))
                        g_string_append(text, "domain0 f 0 0\n");
        }
        fake_put("proc/schedstat", text->str);
}

static void fake_show(bool rebuilt);

static void fake_put_mask(const char *path, const CpuSet *cpus)
{
        g_autofree char *mask = cpuset_format_mask(cpus);

        fake_put(path, mask);
}

/* What the kernel makes of workqueues when these are in a partition. */
static void fake_exclude(const CpuSet *parked)
{
        CpuSet left = fake->requested, isolated = *parked;

        if (fake->old_kernel)
                return;
        cpuset_or(&isolated, &fake->others);
        cpuset_subtract(&left, &isolated);
        if (cpuset_is_empty(&left))
                left = fake->requested;
        ck_assert_msg(cpuset_equal(&left, &fake->unbound),
                      "the kernel moves unbound work under its lock of cpusets");
        fake_put_mask(FAKE_WORK, &fake->unbound);
        fake_put_mask(FAKE_WORK "_requested", &fake->requested);
        fake_put_mask(FAKE_WORK "_isolated", &isolated);
}

/* By idled or another program. */
static void fake_set_unbound(const char *mask)
{
        ck_assert_int_eq(cpuset_parse_mask(mask, &fake->requested), 0);
        fake->unbound = fake->requested;
}

/* Another program isolates these CPUs, for which the kernel changes the mask. */
static inline void fake_isolate_others(const char *cpus)
{
        fake->others = set_of(cpus);
        cpuset_subtract(&fake->unbound, &fake->others);
        fake_show(true);
}

/* Makes the files say what the world is like. */
static void fake_show(bool rebuilt)
{
        CpuSet parked = fake_parked(), domains = set_of("0-3");
        const char *why = fake_why_invalid();
        g_autofree char *type = NULL;

        cpuset_subtract(&domains, &parked);
        if (!rebuilt && fake->old_kernel)
                cpuset_and(&domains, &fake->domains);
        fake->domains = domains;
        fake_put_schedstat();
        fake_exclude(&parked);
        fake_put(FAKE_ROOT "cgroup.subtree_control", fake->controller ? "cpu cpuset\n" : "cpu\n");
        if (!fake->group || !fake->controller)
                return;
        type = *fake->type != 'm' && why ? g_strdup_printf("%s invalid (%s)\n", fake->type, why)
                                         : g_strdup_printf("%s\n", fake->type);
        fake_put_in_group("/cpuset.cpus.partition", type);
        fake_put_in_group("/cpuset.cpus", *fake->cpus ? fake->cpus : "\n");
        fake_put_in_group("/cgroup.procs", "");
        if (fake->has_exclusive) {
                g_autofree char *taken = cpuset_format(&parked);

                fake_put_in_group("/cpuset.cpus.exclusive", fake->exclusive);
                fake_put_in_group("/cpuset.cpus.exclusive.effective", taken);
        }
}

static void fake_empty_group(void)
{
        static const char *const files[] = { "/cpuset.cpus.partition", "/cpuset.cpus",
                                             "/cgroup.procs", "/cpuset.cpus.exclusive",
                                             "/cpuset.cpus.exclusive.effective" };

        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autofree char *path = fake_path(files[i]);

                syscall(SYS_unlinkat, scratch_fd, path, 0);
        }
        fake->cpus[0] = fake->exclusive[0] = '\0';
        strcpy(fake->type, "member");
}

static void fake_log(const char *file, const char *value)
{
        g_strlcat(fake->log, file, sizeof(fake->log));
        g_strlcat(fake->log, "=", sizeof(fake->log));
        g_strlcat(fake->log, value, sizeof(fake->log));
        g_strlcat(fake->log, " ", sizeof(fake->log));
}

/* The file's name in the fake tree, NULL if it is not in it. */
static char *fake_name(int fd)
{
        g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
        g_autofree char *path = g_file_read_link(link, NULL);
        g_autofree char *top = fake ? g_strdup_printf("%s/" FAKE_ROOT, scratch) : NULL;

        if (path && top && g_str_has_suffix(path, FAKE_WORK))
                return g_strdup(".unbound");
        if (!path || !top || !g_str_has_prefix(path, top))
                return NULL;
        return g_strdup(path + strlen(top));
}

static bool fake_is_regular(int fd)
{
        g_autofree char *name = fake_name(fd);

        return !name;
}

static void fake_take(const char *name, const char *value)
{
        bool rebuilt = true;

        if (g_str_equal(name, "cgroup.subtree_control")) {
                ck_assert(g_str_equal(value, "+cpuset") || g_str_equal(value, "-cpuset"));
                fake->controller = *value == '+';
                if (!fake->controller)
                        fake_empty_group();
        } else if (!fake->slice && g_str_equal(name, "idled.parked/cpuset.cpus")) {
                ck_assert_msg(*value || *fake->type == 'm', "a valid partition was emptied");
                g_strlcpy(fake->cpus, value, sizeof(fake->cpus));
                rebuilt = false;
        } else if (g_str_has_suffix(name, "/cpuset.cpus.exclusive") && fake->has_exclusive) {
                ck_assert_msg(*value || *fake->type == 'm', "a valid partition was emptied");
                g_strlcpy(fake->exclusive, value, sizeof(fake->exclusive));
        } else if (g_str_equal(name, fake->slice ? "idledpark.slice/cpuset.cpus.partition"
                                                 : "idled.parked/cpuset.cpus.partition")) {
                g_strlcpy(fake->type, value, sizeof(fake->type));
        } else if (g_str_equal(name, ".unbound")) {
                fake_set_unbound(value);
        } else {
                ck_abort_msg("%s was written", name);
        }
        fake_show(rebuilt);
}

static ssize_t fake_write(int fd, const void *data, size_t size)
{
        g_autofree char *name = fake_name(fd), *value = NULL;

        if (!name)
                return syscall(SYS_write, fd, data, size);
        value = g_strstrip(g_strndup(data, size));
        if (*fake->fail && g_str_has_suffix(name, fake->fail)) {
                errno = fake->error;
                return -1;
        }
        fake_log(strrchr(name, '.') + 1, value);
        fake_take(name, value);
        return (ssize_t)size;
}

static int fake_unlinkat(int dir, const char *name, int flags)
{
        if (flags != AT_REMOVEDIR || !g_str_equal(name, FAKE_GROUP))
                return (int)syscall(SYS_unlinkat, dir, name, flags);
        fake_empty_group();
        if (syscall(SYS_unlinkat, dir, name, flags) < 0)
                return -1;
        fake->group = false;
        fake_log("parked", "rmdir");
        fake_show(true);
        return 0;
}

int mkdirat(int dir, const char *name, mode_t mode)
{
        step();
        if (syscall(SYS_mkdirat, dir, name, mode) < 0)
                return -1;
        fake->group = true;
        fake_log("parked", "mkdir");
        fake_show(true);
        step();
        return 0;
}

static void fake_new(void)
{
        scratch_open();
        scratch_file("sys/devices/system/cpu/possible", "0-3\n");
        scratch_file("proc/schedstat", "");
        scratch_file(FAKE_ROOT "cgroup.controllers", "cpuset cpu io memory pids\n");
        scratch_file(FAKE_ROOT "cgroup.procs", "1\n");
        fake = mmap(NULL, sizeof(*fake), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ck_assert_ptr_ne(fake, MAP_FAILED);
        strcpy(fake->type, "member");
        fake->domains = set_of("0-3");
        scratch_file(FAKE_WORK, "f\n");
        scratch_file(FAKE_WORK "_requested", "f\n");
        scratch_file(FAKE_WORK "_isolated", "0\n");
        fake_set_unbound("f");
        fake_show(true);
}

static void fake_done(void)
{
        munmap(fake, sizeof(*fake));
        fake = NULL;
        scratch_close();
}

/* Verbs. */

static void fake_insist(const char *neighbour)
{
        g_strlcpy(fake->neighbour, neighbour, sizeof(fake->neighbour));
        fake_show(true);
}

static inline void fake_fail(const char *file, int error)
{
        g_strlcpy(fake->fail, file, sizeof(fake->fail));
        fake->error = error;
}

static void fake_kernel_6_1(void)
{
        fake->old_kernel = true;
        fake->controller = true; /* switching it on would not be safe */
        syscall(SYS_unlinkat, scratch_fd, FAKE_WORK "_requested", 0);
        syscall(SYS_unlinkat, scratch_fd, FAKE_WORK "_isolated", 0);
        fake_show(true);
}

/* One that has cpuset.cpus.exclusive; with `lists_overlap` it is 7.0. */
static inline void fake_kernel_6_8(bool lists_overlap)
{
        fake->has_exclusive = true;
        fake->lists_overlap = lists_overlap;
        fake_put(FAKE_ROOT "cpuset.cpus.isolated", "\n");
}

/* What was done to it since it was last asked. */
static inline void expect_log(const char *expected)
{
        ck_assert_str_eq(fake->log, expected);
        fake->log[0] = '\0';
}

/* Who is kept off by the partition. */
static inline void expect_parked(const char *cpus)
{
        CpuSet parked = fake_parked();
        g_autofree char *text = cpuset_format(&parked);

        ck_assert_str_eq(text, cpus);
}

#endif
