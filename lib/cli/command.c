/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Commands. The process and its parent have a pipe each way, which execve(2) closes.
 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/verb.h"

/* So many descriptors may be open, if that is permitted: those of 576 CPUs with 10 idle states.
 * Each costs about 4.6 kB of kernel memory once it is read. */
#define DESCRIPTORS 65536

static struct rlimit descriptors; /* as found; 0: not changed */

void command_raise_descriptors(void)
{
        struct rlimit limit;

        getrlimit(RLIMIT_NOFILE, &descriptors);
        limit = descriptors;
        limit.rlim_cur = MAX(limit.rlim_cur, MIN(limit.rlim_max, DESCRIPTORS));
        setrlimit(RLIMIT_NOFILE, &limit);
}

/* The child: waits, and becomes the command. */
__attribute__((noreturn)) static void become(char *const *argv, int go, int error)
{
        int failure;
        char byte;
        ssize_t n;

        if (descriptors.rlim_cur)
                setrlimit(RLIMIT_NOFILE, &descriptors);
        while ((n = read(go, &byte, 1)) < 0 && errno == EINTR)
                continue;
        if (n == 1) {
                execvp(argv[0], argv);
                failure = errno;
                while (write(error, &failure, sizeof(failure)) < 0 && errno == EINTR)
                        continue;
        }
        _exit(EXIT_NOT_FOUND);
}

int command_fork(Command *command, char *const *argv, void (*prepare)(const void *data),
                 const void *data)
{
        int go[2], error[2], r;

        *command = (Command){ .go = -1, .error = -1 };
        if (pipe2(go, O_CLOEXEC) < 0)
                return -errno;
        if (pipe2(error, O_CLOEXEC) < 0) {
                r = -errno;
                close(go[0]);
                close(go[1]);
                return r;
        }
        command->pid = fork();
        r = command->pid < 0 ? -errno : 0;
        if (command->pid == 0) {
                close(go[1]);
                if (prepare)
                        prepare(data);
                become(argv, go[0], error[1]);
        }
        close(go[0]);
        close(error[1]);
        command->go = go[1];
        command->error = error[0];
        if (r < 0)
                command_drop(command);
        return r;
}

static void close_both(Command *command)
{
        fd_close(&command->go);
        fd_close(&command->error);
        command->go = command->error = -1;
}

static void reap(Command *command)
{
        while (command->pid > 0 && waitpid(command->pid, NULL, 0) < 0 && errno == EINTR)
                continue;
        command->pid = 0;
}

int command_exec(Command *command, const char *name)
{
        int failure = 0;
        ssize_t n;

        while (write(command->go, "", 1) < 0 && errno == EINTR)
                continue;
        while ((n = read(command->error, &failure, sizeof(failure))) < 0 && errno == EINTR)
                continue;
        close_both(command);
        if (n != sizeof(failure))
                return EXIT_FINE;
        reap(command);
        complain("%s: %s", name, g_strerror(failure));
        return failure == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXECUTABLE;
}

void command_drop(Command *command)
{
        close_both(command);
        reap(command);
}

int command_status(int status)
{
        return WIFSIGNALED(status) ? EXIT_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}
