/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A directory for one test, removed with all that is in it. Its name has the number of the process
 * that made it: what a failed test leaves behind is known by that.
 */
#ifndef IDLED_TESTS_SCRATCH_H
#define IDLED_TESTS_SCRATCH_H

#include <check.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "temporary.h"

static char *scratch;       /* its path */
static int scratch_fd = -1; /* and a descriptor of it */
static bool scratch_covered;

static void scratch_open(void)
{
        scratch = temporary_make(g_get_tmp_dir());
        scratch_fd = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(scratch_fd, 0);
}

static void scratch_close(void)
{
        close(scratch_fd);
        if (scratch_covered)
                umount2(scratch, MNT_DETACH);
        temporary_remove(scratch);
        g_clear_pointer(&scratch, g_free);
}

/* The path of a file there, with the directories on the way to it made. */
static char *scratch_path(const char *path)
{
        char *full = g_build_filename(scratch, path, NULL);
        g_autofree char *dir = g_path_get_dirname(full);

        ck_assert_int_eq(g_mkdir_with_parents(dir, 0755), 0);
        return full;
}

/* Makes a file with the text. */
__attribute__((unused)) static void scratch_file(const char *path, const char *text)
{
        g_autofree char *full = scratch_path(path);

        ck_assert_msg(g_file_set_contents(full, text, -1, NULL), "cannot make %s", full);
}

__attribute__((unused)) static char *scratch_text(const char *path)
{
        g_autofree char *full = g_build_filename(scratch, path, NULL);
        char *text = NULL;

        g_file_get_contents(full, &text, NULL, NULL);
        return text;
}

/* No file of this process may become larger than the named one is now (0 if it is not there), plus
 * `more` bytes. */
__attribute__((unused)) static void scratch_limit(const char *path, off_t more)
{
        struct rlimit limit;
        struct stat st = { 0 };

        fstatat(scratch_fd, path, &st, 0);
        signal(SIGXFSZ, SIG_IGN);
        ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = (rlim_t)(st.st_size + more);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Lays a file system over the directory that only this process sees; NULL: its own contents, read
 * only. False if that is not allowed here. Ends with the process. */
__attribute__((unused)) static bool scratch_mount(const char *type, const char *options)
{
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return false;
        if (type) {
                if (mount("none", scratch, type, 0, options) < 0)
                        return false;
        } else if (mount(scratch, scratch, NULL, MS_BIND, NULL) < 0 ||
                   mount(NULL, scratch, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0) {
                return false;
        }
        scratch_covered = true;
        close(scratch_fd);
        scratch_fd = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return scratch_fd >= 0;
}

/* Whether scratch_mount() is allowed that here, as a child finds out. If not, says that the test
 * is left out for it. */
__attribute__((unused)) static bool scratch_may_mount(const char *type, const char *options,
                                                      const char *test)
{
        pid_t child = fork();
        int status = -1;

        if (child == 0) {
                bool may;

                scratch = temporary_make(g_get_tmp_dir()); /* no assertions outside of a test */
                may = scratch_mount(type, options);
                scratch_close();
                _exit(may ? EXIT_SUCCESS : EXIT_FAILURE);
        }
        if (child > 0 && waitpid(child, &status, 0) == child && status == 0)
                return true;
        printf("left out: %s: nothing may be mounted here\n", test);
        return false;
}

#endif
