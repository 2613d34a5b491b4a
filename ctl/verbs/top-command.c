/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl top -- COMMAND: what the machine did while a command ran.
 *
 * The command gets the terminal's signals; this process waits for its end, as time(1) does. Energy
 * is read now and then meanwhile, because its counters wrap.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "top.h"

#define EXIT_NO_EXECUTABLE 126
#define EXIT_NOT_FOUND     127
#define EXIT_BY_SIGNAL     128 /* plus its number */
#define ENERGY_SEC         30

extern char **environ;

static int spawn(char **argv, const sigset_t *mask, pid_t *ret_pid)
{
        posix_spawnattr_t attributes;
        sigset_t usual;
        int error;

        sigemptyset(&usual);
        sigaddset(&usual, SIGINT);
        sigaddset(&usual, SIGQUIT);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setsigmask(&attributes, mask);
        posix_spawnattr_setsigdefault(&attributes, &usual);
        error = posix_spawnp(ret_pid, argv[0], NULL, &attributes, argv, environ);
        posix_spawnattr_destroy(&attributes);
        return error;
}

/* Waits for its end; reads energy meanwhile. */
static int wait_end(Top *top, pid_t pid, const sigset_t *child, struct rusage *usage)
{
        struct timespec pause = { ENERGY_SEC, 0 };
        uint64_t deadline = sensors_energy_deadline(top->watch->sensors);
        int status;

        if (deadline < (uint64_t)ENERGY_SEC * G_USEC_PER_SEC)
                pause.tv_sec = (time_t)MAX(deadline / G_USEC_PER_SEC, 1);
        while (wait4(pid, &status, WNOHANG, usage) == 0)
                if (sigtimedwait(child, NULL, &pause) < 0 && errno == EAGAIN)
                        watch_energy(top->watch);
        return status;
}

bool top_command(Top *top, int *ret_status, double *ret_seconds, double *ret_cpu_seconds)
{
        struct rusage usage = { 0 };
        struct rlimit ours;
        sigset_t child, before;
        gint64 begin;
        pid_t pid;
        int error, status;

        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child, &before);
        signal(SIGCHLD, SIG_DFL);
        signal(SIGINT, SIG_IGN);
        signal(SIGQUIT, SIG_IGN);
        top_restart(top);
        begin = g_get_monotonic_time();
        getrlimit(RLIMIT_NOFILE, &ours);
        setrlimit(RLIMIT_NOFILE, &top->descriptors);
        error = spawn(top->ctl->args, &before, &pid);
        setrlimit(RLIMIT_NOFILE, &ours);
        if (error) {
                complain("%s: %s", top->ctl->args[0], g_strerror(error));
                *ret_status = error == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXECUTABLE;
                return false;
        }
        status = wait_end(top, pid, &child, &usage);
        *ret_seconds = (double)(g_get_monotonic_time() - begin) / G_USEC_PER_SEC;
        *ret_cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
        *ret_status = WIFSIGNALED(status) ? EXIT_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
        top_sample(top);
        return true;
}
