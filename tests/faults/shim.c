/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes system calls fail, for tests. Preloaded, it counts the calls of one kind while it is armed,
 * and lets one fail, or all from one on, or kills the process in its place.
 *
 * The test that steers it (test-faults.py) shares the file that FAULTS names, a Control. Calls go
 * on to the next function of the same name, so that sanitizers see them. What the C library calls
 * itself does not come this way, nor does memory management: out of memory aborts by design.
 *
 * It also sets the clock, for this process alone: the file that CLOCK names has an int64_t, by how
 * many seconds CLOCK_REALTIME is wrong.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef enum Mode {
        MODE_OFF,
        MODE_COUNT,
        MODE_LIST, /* as MODE_COUNT, and every call of any kind is appended to the file */
} Mode;

typedef struct Control {
        _Atomic int32_t mode;
        int32_t nth;     /* the call that fails, from 1; 0: none */
        int32_t error;   /* errno; 0: SIGKILL */
        int32_t lasting; /* all later ones fail, too */
        char kind[16];   /* of the calls that count */
        _Atomic int32_t count, failed;
        char what[216]; /* what the first that failed was about */
} Control;

/* What a call is about: its path, or the file of its descriptor. */
typedef enum About { NOTHING, PATH, PATH_AT, DESCRIPTOR } About;

static Control *control;
static int list = -1, wrong_clock = -1;

__attribute__((constructor)) static void begin(void)
{
        const char *path = getenv("FAULTS"), *clock = getenv("CLOCK");
        void *map;

        if (clock)
                wrong_clock = (int)syscall(SYS_openat, AT_FDCWD, clock, O_RDONLY | O_CLOEXEC);

        list = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_APPEND | O_CLOEXEC) : -1;
        if (list < 0)
                return;
        map = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, list, 0);
        if (map == MAP_FAILED)
                abort();
        control = map;
}

static void describe(About about, const long *arguments, char *text, size_t size)
{
        char link[32];
        long n;

        text[0] = '\0';
        if (about == PATH || about == PATH_AT) {
                const char *path = (const char *)arguments[about == PATH_AT];

                snprintf(text, size, "%s", path ? path : "");
        } else if (about == DESCRIPTOR) {
                snprintf(link, sizeof(link), "/proc/self/fd/%d", (int)arguments[0]);
                n = syscall(SYS_readlinkat, AT_FDCWD, link, text, size - 1);
                text[n > 0 ? n : 0] = '\0';
        }
}

static void append(const char *kind, About about, const long *arguments)
{
        char what[sizeof(control->what)], line[sizeof(what) + 32];
        int length;

        describe(about, arguments, what, sizeof(what));
        length = snprintf(line, sizeof(line), "%s\t%s\n", kind, what);
        if (syscall(SYS_write, list, line, (size_t)length) < 0)
                abort();
}

/* Counts the call. True, with errno, if it fails. */
static bool fails(const char *kind, About about, const long *arguments)
{
        int saved = errno, number;

        if (!control || control->mode == MODE_OFF)
                return false;
        if (control->mode == MODE_LIST)
                append(kind, about, arguments);
        errno = saved;
        if (strcmp(kind, control->kind) != 0)
                return false;
        number = atomic_fetch_add(&control->count, 1) + 1;
        if (control->nth == 0 || number < control->nth ||
            (number > control->nth && !control->lasting))
                return false;
        if (atomic_fetch_add(&control->failed, 1) == 0)
                describe(about, arguments, control->what, sizeof(control->what));
        if (control->error == 0)
                syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
        errno = control->error;
        return true;
}

typedef long Call(long, long, long, long, long, long);

/* Defines the function `name` of the C library, which takes at most six arguments. `failure` is
 * what it returns when it fails, which it does `after` it has been carried out, or instead. */
#define CALL(name, kind, about, failure, after)                                                    \
        Call fault_##name __asm__(#name);                                                          \
        long fault_##name(long a, long b, long c, long d, long e, long f)                          \
        {                                                                                          \
                static Call *_Atomic next;                                                         \
                bool failed;                                                                       \
                                                                                                   \
                if (!next)                                                                         \
                        next = (Call *)dlsym(RTLD_NEXT, #name);                                    \
                failed = fails(kind, about, (const long[]){ a, b });                               \
                if (failed && after) {                                                             \
                        int error = errno;                                                         \
                                                                                                   \
                        next(a, b, c, d, e, f);                                                    \
                        errno = error;                                                             \
                }                                                                                  \
                return failed ? failure : next(a, b, c, d, e, f);                                  \
        }

CALL(open, "open", PATH, -1, false)
CALL(open64, "open", PATH, -1, false)
CALL(openat, "open", PATH_AT, -1, false)
CALL(openat64, "open", PATH_AT, -1, false)
CALL(fopen, "open", PATH, 0, false)
CALL(fopen64, "open", PATH, 0, false)
CALL(opendir, "open", PATH, 0, false)
CALL(fdopendir, "open", DESCRIPTOR, 0, false)
CALL(read, "read", DESCRIPTOR, -1, false)
CALL(pread64, "read", DESCRIPTOR, -1, false)
CALL(readdir64, "read", NOTHING, 0, false)
CALL(readlink, "read", PATH, -1, false)
CALL(readlinkat, "read", PATH_AT, -1, false)
CALL(write, "write", DESCRIPTOR, -1, false)
CALL(writev, "write", DESCRIPTOR, -1, false)
CALL(pwrite64, "write", DESCRIPTOR, -1, false)
CALL(ftruncate64, "write", DESCRIPTOR, -1, false)
CALL(rename, "rename", PATH, -1, false)
CALL(renameat, "rename", PATH_AT, -1, false)
CALL(linkat, "rename", PATH_AT, -1, false)
CALL(unlink, "unlink", PATH, -1, false)
CALL(unlinkat, "unlink", PATH_AT, -1, false)
CALL(close, "close", DESCRIPTOR, -1, true) /* the kernel closes it though it fails */
CALL(fsync, "sync", DESCRIPTOR, -1, false)
CALL(fdatasync, "sync", DESCRIPTOR, -1, false)
CALL(mkdir, "mkdir", PATH, -1, false)
CALL(mkdirat, "mkdir", PATH_AT, -1, false)
CALL(stat64, "stat", PATH, -1, false)
CALL(lstat64, "stat", PATH, -1, false)
CALL(fstat64, "stat", DESCRIPTOR, -1, false)
CALL(fstatat64, "stat", PATH_AT, -1, false)
CALL(statx, "stat", PATH_AT, -1, false)
CALL(access, "stat", PATH, -1, false)
CALL(faccessat, "stat", PATH_AT, -1, false)
CALL(flock, "lock", DESCRIPTOR, -1, false)
CALL(socket, "socket", NOTHING, -1, false)
CALL(bind, "socket", NOTHING, -1, false)
CALL(connect, "socket", NOTHING, -1, false)
CALL(setsockopt, "socket", NOTHING, -1, false)
CALL(send, "message", NOTHING, -1, false)
CALL(sendto, "message", NOTHING, -1, false)
CALL(sendmsg, "message", NOTHING, -1, false)
CALL(recv, "message", NOTHING, -1, false)
CALL(recvfrom, "message", NOTHING, -1, false)
CALL(recvmsg, "message", NOTHING, -1, false)
CALL(epoll_create1, "epoll", NOTHING, -1, false)
CALL(epoll_ctl, "epoll", NOTHING, -1, false)
CALL(epoll_wait, "epoll", NOTHING, -1, false)
CALL(timerfd_create, "timer", NOTHING, -1, false)
CALL(timerfd_settime, "timer", NOTHING, -1, false)
CALL(inotify_init1, "inotify", NOTHING, -1, false)
CALL(inotify_add_watch, "inotify", PATH_AT, -1, false)
CALL(pipe2, "pipe", NOTHING, -1, false)
CALL(dup, "pipe", NOTHING, -1, false)
CALL(eventfd, "pipe", NOTHING, -1, false)
CALL(signalfd, "pipe", NOTHING, -1, false)
CALL(pthread_create, "thread", NOTHING, errno, false)

int clock_gettime(clockid_t id, struct timespec *now)
{
        int r = (int)syscall(SYS_clock_gettime, id, now);
        int64_t sec;

        if (r == 0 && id == CLOCK_REALTIME && wrong_clock >= 0) {
                if (syscall(SYS_pread64, wrong_clock, &sec, sizeof(sec), 0) != sizeof(sec))
                        abort();
                now->tv_sec += sec;
        }
        return r;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
        struct timespec spec;
        int r = clock_gettime(CLOCK_REALTIME, &spec);

        (void)zone;
        *now = (struct timeval){ spec.tv_sec, spec.tv_nsec / 1000 };
        return r;
}
