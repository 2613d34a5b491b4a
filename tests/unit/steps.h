/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Dying at every step: a child runs a scenario and is killed at the first place where that makes a
 * difference to others, then at the second, and so on until it gets through.
 *
 * Places are before and after every system call that changes a file, and for write(2) to the record
 * of originals also with half of it done, as the kernel takes a knob's value whole; the functions
 * below stand in for libc's in the whole test program. Mocks that change something else call step()
 * themselves. The same calls can also fail.
 */
#ifndef IDLED_TESTS_STEPS_H
#define IDLED_TESTS_STEPS_H

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static inline bool step_is_record(int fd)
{
        char link[32], path[256];
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, path, sizeof(path) - 1);
        path[n < 0 ? 0 : n] = '\0';
        return g_str_has_suffix(path, "/undo") || g_str_has_suffix(path, "/undo.new");
}

/* A test that fakes files puts its own in the place of these. */
#ifndef STEPS_WRITE
#define STEPS_WRITE(fd, data, size)      syscall(SYS_write, fd, data, size)
#define STEPS_UNLINKAT(dir, name, flags) syscall(SYS_unlinkat, dir, name, flags)
#endif
#ifndef STEPS_LINKAT
#define STEPS_LINKAT(old_dir, old, new_dir, new, flags)                                            \
        syscall(SYS_linkat, old_dir, old, new_dir, new, flags)
#endif
#ifndef STEPS_CAN_BE_PARTIAL
#define STEPS_CAN_BE_PARTIAL(fd) step_is_record(fd)
#endif

/* After so many calls the next `times` fail; only write(2) is interrupted. */
static struct {
        int after, times, error;
} calls_failing;

static bool call_fails(bool writes)
{
        if (calls_failing.times == 0 || (calls_failing.error == EINTR && !writes) ||
            calls_failing.after-- > 0)
                return false;
        calls_failing.times--;
        errno = calls_failing.error;
        return true;
}

static int steps_left = -1; /* -1: not counting */

/* True if the test ends the process here. */
static bool step_is_last(void)
{
        return steps_left >= 0 && steps_left-- == 0;
}

static void step(void)
{
        if (step_is_last())
                kill(getpid(), SIGKILL);
}

ssize_t write(int fd, const void *data, size_t size)
{
        ssize_t n;

        step();
        if (step_is_last()) {
                if (STEPS_CAN_BE_PARTIAL(fd))
                        syscall(SYS_write, fd, data, size / 2);
                kill(getpid(), SIGKILL);
        }
        n = call_fails(true) ? -1 : STEPS_WRITE(fd, data, size);
        step();
        return n;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
        lseek(fd, offset, SEEK_SET);
        return write(fd, data, size);
}

int ftruncate(int fd, off_t length)
{
        int r;

        step();
        r = call_fails(false) ? -1 : (int)syscall(SYS_ftruncate, fd, length);
        step();
        return r;
}

int unlinkat(int dir, const char *name, int flags)
{
        int r;

        step();
        r = call_fails(false) ? -1 : (int)STEPS_UNLINKAT(dir, name, flags);
        step();
        return r;
}

int linkat(int old_dir, const char *old, int new_dir, const char *new, int flags)
{
        int r;

        step();
        r = call_fails(false) ? -1 : (int)STEPS_LINKAT(old_dir, old, new_dir, new, flags);
        step();
        return r;
}

int renameat(int old_dir, const char *old, int new_dir, const char *new)
{
        int r;

        step();
        r = call_fails(false) ? -1 : (int)syscall(SYS_renameat2, old_dir, old, new_dir, new, 0);
        step();
        return r;
}

/* Runs `scenario` in a child that dies at step `n`, counted from 0. False if it got through: there
 * are no more than `n` steps. */
static inline bool killed_at(int n, void (*scenario)(void))
{
        int status;
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                steps_left = n;
                scenario();
                _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
                return true;
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child failed: %#x",
                      (unsigned)status);
        return false;
}

#endif
