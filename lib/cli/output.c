/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where results go.
 *
 * As with perf stat, results follow what the command writes to standard error, or have a file of
 * their own, so that a reader of the command's output gets nothing else.
 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

const char *output_asked;

const VerbOption output_option[] = {
        { "output", "FILE", "write the result to FILE", .text = &output_asked },
        { 0 },
};

int output_open(const Ctl *ctl, int *ret_fd)
{
        *ret_fd = -1;
        if (!output_asked)
                return EXIT_FINE;
        *ret_fd = open(output_asked, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666);
        return *ret_fd < 0 ? complain("--output: %s: %s", output_asked, g_strerror(errno))
                           : EXIT_FINE;
}

void output_use(Ctl *ctl, int fd)
{
        if (fd < 0 && ctl->n_args == 0)
                return;
        fflush(stdout);
        dup2(fd < 0 ? STDERR_FILENO : fd, STDOUT_FILENO);
        ctl->screen = screen_look(ctl->no_colour);
}
