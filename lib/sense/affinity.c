/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Affinity and users of one process, from the status files of its threads.
 *
 * Files instead of sched_getaffinity(), because they also have the owner of the process, and
 * because everything about the machine is read below the root. A file costs about ten microseconds,
 * so reading stops as soon as nothing can be added.
 *
 * The status of a process is that of its first thread, and has the number of threads: usually one.
 *
 * The number may pass to another process while it is read. The caller holds a pidfd and checks
 * afterwards that the process still exists.
 */
#include "sense/affinity.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/number.h"

/* Bounds the files that are read for one process or one user, so that a user with ten thousand
 * threads does not delay others. */
#define THREADS_MAX         512
#define THREADS_OF_USER_MAX 1024

/* The value of the line that begins with `key`, which starts with a line break; ends it, so lines
 * are asked for from the last to the first. A name with a line break in it cannot pass for a line:
 * the kernel escapes it. */
static char *line_value(char *text, const char *key)
{
        char *value = strstr(text, key);

        if (!value)
                return NULL;
        value += strlen(key);
        value[strcspn(value, "\n")] = '\0';
        return value;
}

static int status_read(int root, const char *path, char **ret_text)
{
        int r = file_read(root, path, ret_text);

        return r == -ENOENT ? -ESRCH : r;
}

typedef struct Status {
        int threads;
        unsigned uid; /* the real one; 0: not known */
} Status;

/* Adds the CPUs of the status file at `path` to `cpus`, and returns the other values. */
static int add_status(int root, const char *path, CpuSet *cpus, Status *ret_status)
{
        g_autofree char *text = NULL;
        char *list, *threads, *users;
        Status status = { .threads = 1 };
        CpuSet set;
        int r;

        r = status_read(root, path, &text);
        if (r < 0)
                return r;
        list = line_value(text, "\nCpus_allowed_list:\t");
        r = list ? cpuset_parse(list, &set) : -EBADMSG;
        if (r < 0)
                return r;
        cpuset_or(cpus, &set);
        threads = line_value(text, "\nThreads:\t");
        if (threads && int_parse(threads, &status.threads) < 0)
                status.threads = 1;
        users = line_value(text, "\nUid:\t");
        if (users && sscanf(users, "%u", &status.uid) != 1)
                status.uid = 0;
        *ret_status = status;
        return 0;
}

/* Adds the threads of the process until the set holds `enough`. */
static int add_threads(int root, pid_t pid, const CpuSet *enough, CpuSet *cpus)
{
        struct dirent *entry;
        char path[64];
        Status ignored;
        int tid, r = 0;
        _dir_ DIR *dir = NULL;

        snprintf(path, sizeof(path), "proc/%d/task", (int)pid);
        dir = dir_open(root, path);
        if (!dir)
                return errno == ENOENT ? -ESRCH : -errno;
        while (!cpuset_is_subset(enough, cpus) && (entry = readdir(dir))) {
                if (int_parse(entry->d_name, &tid) < 0 || tid == pid)
                        continue;
                snprintf(path, sizeof(path), "proc/%d/task/%d/status", (int)pid, tid);
                r = add_status(root, path, cpus, &ignored);
                if (r < 0 && r != -ESRCH) /* a thread may end meanwhile */
                        break;
        }
        return r == -ESRCH ? 0 : r;
}

/* Charges all threads of the process to its user; false: they are too many to be read. */
static bool charge_threads(GHashTable *spent, const Status *status)
{
        gpointer key = GUINT_TO_POINTER(status->uid);
        unsigned sum = (unsigned)status->threads;

        if (status->threads > THREADS_MAX)
                return false;
        if (!spent)
                return true;
        sum += GPOINTER_TO_UINT(g_hash_table_lookup(spent, key));
        if (sum > THREADS_OF_USER_MAX)
                return false;
        g_hash_table_insert(spent, key, GUINT_TO_POINTER(sum));
        return true;
}

int affinity_read(int root, pid_t pid, const CpuSet *enough, GHashTable *spent, CpuSet *ret_cpus)
{
        CpuSet cpus = { 0 };
        Status status;
        char path[64];
        int r;

        snprintf(path, sizeof(path), "proc/%d/status", (int)pid);
        r = add_status(root, path, &cpus, &status);
        if (r >= 0 && status.threads > 1 && !cpuset_is_subset(enough, &cpus)) {
                if (charge_threads(spent, &status))
                        r = add_threads(root, pid, enough, &cpus);
                else
                        cpuset_or(&cpus, enough);
        }
        if (r < 0)
                return r;
        *ret_cpus = cpus;
        return 0;
}

int process_users_read(int root, pid_t pid, uid_t *ret_real, uid_t *ret_effective)
{
        g_autofree char *text = NULL;
        unsigned real, effective;
        char path[64], *users;
        int r;

        snprintf(path, sizeof(path), "proc/%d/status", (int)pid);
        r = status_read(root, path, &text);
        if (r < 0)
                return r;
        users = line_value(text, "\nUid:\t");
        if (!users || sscanf(users, "%u %u", &real, &effective) != 2)
                return -EBADMSG;
        *ret_real = real;
        *ret_effective = effective;
        return 0;
}
