/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories of tests, which are gone when their test is, however it ended.
 *
 * A test that fails or runs out of time is ended without its teardown. So its directory is locked
 * for as long as the process that made it lives, and the process that makes the next one removes
 * those without a lock. Between making and locking there is a moment in which a directory looks
 * like a left one; so only those that are a minute old are removed.
 */
#ifndef IDLED_TESTS_TEMPORARY_H
#define IDLED_TESTS_TEMPORARY_H

#include <fcntl.h>
#include <ftw.h>
#include <glib.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEMPORARY_PREFIX  "idled-scratch-"
#define TEMPORARY_AGE_SEC 60

static inline int temporary_remove_one(const char *path, const struct stat *st, int type,
                                       struct FTW *ftw)
{
        remove(path);
        return 0;
}

/* Removes a directory with all that is in it. */
static inline void temporary_remove(const char *path)
{
        nftw(path, temporary_remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* The lock of the directory, which ends with the process; -1 if another process has it. */
static inline int temporary_lock(const char *path)
{
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

static inline void temporary_sweep(const char *base)
{
        g_autoptr(GDir) dir = g_dir_open(base, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *path = g_build_filename(base, name, NULL);
                struct stat st;
                int lock;

                if (!g_str_has_prefix(name, TEMPORARY_PREFIX) || lstat(path, &st) < 0 ||
                    st.st_uid != geteuid() || st.st_ctime > time(NULL) - TEMPORARY_AGE_SEC)
                        continue;
                lock = temporary_lock(path);
                if (lock < 0)
                        continue;
                temporary_remove(path);
                close(lock);
        }
}

/* A new directory below `base`, NULL: $TMPDIR, or in memory where that is possible. Aborts if
 * it cannot be made. The lock is never closed. */
static inline char *temporary_make(const char *base)
{
        char *path;
        int lock;

        if (!base)
                base = g_getenv("TMPDIR");
        if (!base)
                base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        temporary_sweep(base);
        path = g_strconcat(base, "/" TEMPORARY_PREFIX "XXXXXX", NULL);
        g_assert(g_mkdtemp(path));
        lock = temporary_lock(path);
        g_assert(lock >= 0);
        return path;
}

#endif
