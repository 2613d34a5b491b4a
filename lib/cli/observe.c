/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waiting: one poll() on a descriptor of signals, and a process if there is a command.
 */
#include "cli/observe.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/verb.h"

static const int ends[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD, 0 };

typedef struct Wait {
        int signals;
        sigset_t before; /* what was blocked */
        pid_t pid;       /* of the command; 0: none */
        int status;
} Wait;

int signals_open(const int *numbers, sigset_t *ret_before)
{
        sigset_t signals;
        int fd;

        sigemptyset(&signals);
        for (; *numbers; numbers++)
                sigaddset(&signals, *numbers);
        pthread_sigmask(SIG_BLOCK, &signals, ret_before);
        fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
        return fd < 0 ? -errno : fd;
}

/* False: the time came first. Looks once even if it is over: samples that are always late must not
 * keep signals away. */
static bool wait_signal(int fd, uint64_t end_usec, struct signalfd_siginfo *ret_info)
{
        struct pollfd waiting = { .fd = fd, .events = POLLIN };
        uint64_t now;

        do {
                struct timespec left;

                now = clock_usec(CLOCK_MONOTONIC);
                left = timespec_of(now < end_usec ? (end_usec - now) * 1000 : 0);
                if (ppoll(&waiting, 1, &left, NULL) > 0 &&
                    read(fd, ret_info, sizeof(*ret_info)) == sizeof(*ret_info))
                        return true;
        } while (now < end_usec);
        return false;
}

int signals_wait(int fd, uint64_t end_usec)
{
        struct signalfd_siginfo info;

        return wait_signal(fd, end_usec, &info) ? (int)info.ssi_signo : 0;
}

static void unblock(const void *before)
{
        sigprocmask(SIG_SETMASK, before, NULL);
}

/* False after a message. */
static bool begin_command(Wait *wait, char *const *argv)
{
        Command command;
        int r = command_fork(&command, argv, unblock, &wait->before);

        wait->status = r < 0 ? EXIT_NO_EXECUTABLE : command_exec(&command, argv[0]);
        wait->pid = command.pid;
        if (r < 0)
                complain("%s: %s", argv[0], g_strerror(-r));
        return wait->status == EXIT_FINE;
}

/* True if the command ended. */
static bool reap(Wait *wait)
{
        int status;

        if (wait->pid <= 0 || waitpid(wait->pid, &status, WNOHANG) != wait->pid)
                return false;
        wait->status = command_status(status);
        return true;
}

/* True if it ends the wait. */
static bool take_signal(Wait *wait, const struct signalfd_siginfo *info)
{
        if (info->ssi_signo == SIGCHLD)
                return reap(wait);
        if (wait->pid > 0 &&
            info->ssi_code <= 0) /* what a terminal sends, the command has as well */
                kill(wait->pid, (int)info->ssi_signo);
        return wait->pid <= 0;
}

static void follow(Wait *wait, uint64_t usec, uint64_t period_usec, bool (*meanwhile)(void *data),
                   void *data)
{
        uint64_t now = clock_usec(CLOCK_MONOTONIC), last = now;
        uint64_t end = now + (wait->pid > 0 ? OBSERVE_FOREVER : usec);
        struct signalfd_siginfo info;

        while (now < end) {
                uint64_t until = period_usec ? MIN(end, last + period_usec) : end;

                if (wait_signal(wait->signals, until, &info) && take_signal(wait, &info))
                        return;
                now = clock_usec(CLOCK_MONOTONIC);
                if (period_usec == 0 || now < last + period_usec)
                        continue;
                last += (now - last + period_usec / 2) / period_usec * period_usec;
                if (!meanwhile(data)) {
                        period_usec = 0;
                        end = wait->pid > 0 ? end : now;
                }
        }
}

static void announce(const char *what, uint64_t usec, char *const *command)
{
        if (!isatty(STDERR_FILENO))
                return;
        if (command && command[0])
                fprintf(stderr, "Recording %s until %s ends\n", what, command[0]);
        else if (usec == OBSERVE_FOREVER)
                fprintf(stderr, "Recording %s; Ctrl+C ends it\n", what);
        else
                fprintf(stderr, "Recording %s for %g s; Ctrl+C ends it\n", what,
                        (double)usec / 1e6);
}

bool observe(const char *what, uint64_t usec, char *const *command, uint64_t period_usec,
             bool (*meanwhile)(void *data), void *data, int *ret_status)
{
        const struct sigaction usual = { .sa_handler = SIG_DFL };
        struct sigaction child;
        Wait wait = { 0 };
        bool fine;

        sigaction(SIGCHLD, &usual, &child); /* the parent process may ignore it */
        wait.signals = signals_open(ends, &wait.before);
        fine = !command || !command[0] || begin_command(&wait, command);
        if (fine && what)
                announce(what, usec, command);
        if (fine)
                follow(&wait, usec, period_usec, meanwhile, data);
        fd_close(&wait.signals);
        sigprocmask(SIG_SETMASK, &wait.before, NULL);
        sigaction(SIGCHLD, &child, NULL);
        *ret_status = wait.status;
        return fine;
}
