/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts of a process from /proc/PID.
 *
 * Nothing is taken from /proc/PID/stat, where the name stands between parentheses and may contain
 * some; `comm` is the name's bytes and one line feed more, and in `status` the kernel escapes line
 * feeds of the name, so that a line's beginning is one. A path or list that does not fit is not cut
 * off, for half a path is another one: the fact is absent.
 */
#include "sense/process-facts.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "sense/scan.h"

/* "Uid:" is among the first 200 bytes, behind a name of at most 64. */
#define STATUS_SIZE 1024

void process_facts_init(ProcessFacts *facts, pid_t pid)
{
        facts->pid = pid;
        facts->have = facts->absent = 0;
}

static int read_whole(int proc, const char *path, char *buffer, size_t size)
{
        _fd_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);

        return fd < 0 ? -errno : fd_read_at_start(fd, buffer, size);
}

/* Cached attributes: asking a file system in user space for new ones would wait for its server. */
static int id_read(int dir, const char *path, int flags, FileId *ret_id)
{
        struct statx file;

        if (statx(dir, path, flags | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO | STATX_MNT_ID,
                  &file) < 0)
                return -errno;
        if (!(file.stx_mask & STATX_INO))
                return -ENODATA;
        *ret_id = (FileId){ .device = (uint64_t)file.stx_dev_major << 32 | file.stx_dev_minor,
                            .inode = file.stx_ino,
                            .mount = file.stx_mask & STATX_MNT_ID ? file.stx_mnt_id : 0 };
        return 0;
}

int file_id_read(int root, const char *path, FileId *ret_id)
{
        path += strspn(path, "/");
        return *path ? id_read(root, path, AT_SYMLINK_NOFOLLOW, ret_id) : -EISDIR;
}

bool process_has_mount(int proc, pid_t pid, uint64_t mount)
{
        g_autofree char *text = NULL;
        char path[32];
        uint64_t id;

        snprintf(path, sizeof(path), "%d/mountinfo", (int)pid);
        if (mount == 0 || file_read(proc, path, &text) < 0)
                return false;
        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (scan_u64(&line, &id) && id == mount)
                        return true;
        }
        return false;
}

static int read_executable(int proc, const char *path, ProcessFacts *facts)
{
        ssize_t n = readlinkat(proc, path, facts->executable, sizeof(facts->executable));

        if (n < 0)
                return -errno;
        if ((size_t)n >= sizeof(facts->executable))
                return -ENAMETOOLONG;
        facts->executable[n] = '\0';
        return id_read(proc, path, 0, &facts->program);
}

static int read_comm(int proc, const char *path, ProcessFacts *facts)
{
        int n = read_whole(proc, path, facts->comm, sizeof(facts->comm));

        if (n < 0)
                return n;
        if (n == 0 || facts->comm[n - 1] != '\n')
                return -EBADMSG;
        facts->comm[n - 1] = '\0';
        return 0;
}

/* Whether systemd puts units into this hierarchy: the one of cgroup v2, or v1's without
 * controllers. */
static bool is_of_units(const char *line)
{
        const char *controllers = strchr(line, ':');

        return g_str_has_prefix(line, "0::") ||
               (controllers && g_str_has_prefix(controllers, ":name=systemd:"));
}

/* "4:cpuset:/a\n0::/b\n" becomes "/a\0/b\0\0", in place. */
static int read_cgroups(int proc, const char *path, ProcessFacts *facts)
{
        int n = read_whole(proc, path, facts->cgroups, sizeof(facts->cgroups));
        char *from = facts->cgroups, *to = facts->cgroups, *end;

        facts->unit_cgroup = "";
        if (n < 0)
                return n;
        if (n >= (int)sizeof(facts->cgroups) - 1)
                return -ENAMETOOLONG;
        for (; (end = strchr(from, '\n')); from = end + 1) {
                char *group = memchr(from, ':', (size_t)(end - from));

                group = group ? memchr(group + 1, ':', (size_t)(end - group - 1)) : NULL;
                if (!group || group[1] != '/')
                        return -EBADMSG;
                *end = '\0';
                if (is_of_units(from))
                        facts->unit_cgroup = to;
                memmove(to, group + 1, (size_t)(end - group));
                to += end - group;
        }
        if (*from)
                return -EBADMSG;
        *to = '\0';
        return 0;
}

static bool find_number(const char *text, const char *key, uint64_t *ret_number)
{
        const char *at = strstr(text, key);

        if (!at)
                return false;
        at += strlen(key);
        return scan_u64(&at, ret_number) && *ret_number <= INT32_MAX * 2ull + 1;
}

static int read_status(int proc, const char *path, ProcessFacts *facts)
{
        char text[STATUS_SIZE];
        uint64_t parent, uid;
        int n = read_whole(proc, path, text, sizeof(text));

        if (n < 0)
                return n;
        if (!find_number(text, "\nPPid:\t", &parent) || !find_number(text, "\nUid:\t", &uid))
                return -EBADMSG;
        facts->parent = (pid_t)parent;
        facts->uid = (uid_t)uid;
        return 0;
}

static const struct {
        ProcessFact fact;
        const char *file;
        int (*read)(int proc, const char *path, ProcessFacts *facts);
} readers[] = {
        { PROCESS_FACT_EXECUTABLE, "exe", read_executable },
        { PROCESS_FACT_COMM, "comm", read_comm },
        { PROCESS_FACT_CGROUPS, "cgroup", read_cgroups },
        { PROCESS_FACT_STATUS, "status", read_status },
};

int process_facts_read(int proc, ProcessFact fact, ProcessFacts *facts)
{
        char path[32];
        int r;

        if (facts->have & fact)
                return 0;
        if (facts->absent & fact)
                return -ENOENT;
        for (size_t i = 0; i < G_N_ELEMENTS(readers); i++) {
                if (readers[i].fact != fact)
                        continue;
                snprintf(path, sizeof(path), "%d/%s", facts->pid, readers[i].file);
                r = readers[i].read(proc, path, facts);
                *(r < 0 ? &facts->absent : &facts->have) |= fact;
                return r;
        }
        return -EINVAL;
}

static void read_children(int proc, const char *path, GArray *children)
{
        g_autofree char *text = NULL;
        const char *at;
        uint64_t number;

        if (file_read(proc, path, &text) < 0)
                return;
        for (at = text; scan_u64(&at, &number) && number <= INT32_MAX;) {
                pid_t child = (pid_t)number;

                g_array_append_val(children, child);
        }
}

void process_children_read(int proc, pid_t pid, GArray *children)
{
        char path[64];
        struct dirent *entry;
        uint64_t thread;
        _dir_ DIR *dir = NULL;

        snprintf(path, sizeof(path), "%d/task", pid);
        dir = dir_open(proc, path);
        while (dir && (entry = readdir(dir))) {
                if (u64_parse(entry->d_name, &thread) < 0 || thread > INT32_MAX)
                        continue;
                snprintf(path, sizeof(path), "%d/task/%d/children", pid, (int)thread);
                read_children(proc, path, children);
        }
}
