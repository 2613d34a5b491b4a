/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where processes may run and whose they are, from trees of status files. */
#include "base/cpuset-text.h"
#include "scratch.h"
#include "sense/affinity.h"
#include "table.h"

#define NAME "Name:\ta\\nCpus_allowed_list:\t7\n"

/* Process 42, its first thread and others; "" ends the threads. */
static const struct {
        const char *name, *first, *threads[3];
        int n_threads, result;
        const char *cpus;
} cases[] = {
        { "one thread", "0-1", { NULL }, 1, 0, "0-1" },
        { "others elsewhere", "0", { "2", "2-3" }, 3, 0, "0,2-3" },
        { "first is enough", "0-7", { "9" }, 2, 0, "0-7" },
        { "a thread without its line", "0", { "" }, 2, -EBADMSG, NULL },
        { "no list", NULL, { NULL }, 1, -EBADMSG, NULL },
        { "nonsense", "0-x", { NULL }, 1, -EINVAL, NULL },
        { "too many threads to look at", "0", { "2" }, 513, 0, "0-7" },
};

static void write_status(const char *path, const char *cpus, int n_threads)
{
        g_autofree char *text = NULL;

        text = g_strdup_printf(NAME "Uid:\t1000\t1001\t0\t0\nThreads:\t%d\n%s%s%s", n_threads,
                               cpus && *cpus ? "Cpus_allowed_list:\t" : "", cpus ? cpus : "",
                               cpus && *cpus ? "\n" : "");
        scratch_file(path, text);
}

TEST_EACH(reads, cases)
{
        g_autofree char *text = NULL;
        CpuSet enough, cpus;
        int r;

        cpuset_parse("0-7", &enough);
        write_status("proc/42/status", c->first, c->n_threads);
        write_status("proc/42/task/42/status", c->first, c->n_threads);
        for (int i = 0; i < 3 && c->threads[i]; i++) {
                g_autofree char *path = g_strdup_printf("proc/42/task/%d/status", 50 + i);

                write_status(path, c->threads[i], c->n_threads);
        }
        r = affinity_read(scratch_fd, 42, &enough, NULL, &cpus);
        ck_case(c->name, r == c->result, "found %d, expected %d", r, c->result);
        if (r < 0)
                return;
        text = cpuset_format(&cpus);
        ck_case(c->name, g_str_equal(text, c->cpus), "found %s, expected %s", text, c->cpus);
}

/* Threads of one user's processes are read up to a number: those of a user with more count as
 * unpinned, and those of others are read as always. */
TEST(budget)
{
        static const struct {
                const char *pid;
                int n_threads;
                const char *cpus;
        } processes[] = {
                { "42", 500, "0,2" }, { "43", 500, "0,2" }, { "44", 500, "0-7" },
                { "45", 24, "0,2" },  { "46", 2, "0-7" },   { "47", 1, "0" },
        };
        g_autoptr(GHashTable) spent = g_hash_table_new(NULL, NULL);
        CpuSet enough, cpus;

        cpuset_parse("0-7", &enough);
        for (size_t i = 0; i < G_N_ELEMENTS(processes); i++) {
                const char *pid = processes[i].pid;
                g_autofree char *first = g_strdup_printf("proc/%s/status", pid);
                g_autofree char *second = g_strdup_printf("proc/%s/task/50/status", pid);
                g_autofree char *text = NULL;

                write_status(first, "0", processes[i].n_threads);
                write_status(second, "2", processes[i].n_threads);
                ck_assert_int_eq(affinity_read(scratch_fd, atoi(pid), &enough, spent, &cpus), 0);
                text = cpuset_format(&cpus);
                ck_case(pid, g_str_equal(text, processes[i].cpus), "found %s", text);
        }
        scratch_file("proc/48/status", "Name:\tx\nUid:\t7\t7\t7\t7\nThreads:\t500\n"
                                       "Cpus_allowed_list:\t0\n");
        scratch_file("proc/48/task/50/status", "Name:\tx\nCpus_allowed_list:\t2\n");
        ck_assert_int_eq(affinity_read(scratch_fd, 48, &enough, spent, &cpus), 0);
        ck_assert_int_eq(cpuset_count(&cpus), 2);
}

TEST(users)
{
        uid_t real, effective;

        write_status("proc/42/status", "0", 1);
        ck_assert_int_eq(process_users_read(scratch_fd, 42, &real, &effective), 0);
        ck_assert_uint_eq(real, 1000);
        ck_assert_uint_eq(effective, 1001);
        scratch_file("proc/43/status", "Name:\tx\nUid:\tnobody\n");
        ck_assert_int_eq(process_users_read(scratch_fd, 43, &real, &effective), -EBADMSG);
}

TEST(gone)
{
        uid_t real, effective;
        CpuSet all = { 0 }, cpus;

        ck_assert_int_eq(affinity_read(scratch_fd, 44, &all, NULL, &cpus), -ESRCH);
        ck_assert_int_eq(process_users_read(scratch_fd, 44, &real, &effective), -ESRCH);
}

UNIT("affinity", .setup = scratch_open, .teardown = scratch_close)
