/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Commands: a process that waits, and becomes the command when it may.
 */
#ifndef IDLED_COMMAND_H
#define IDLED_COMMAND_H

#include <sys/types.h>

/* Exit statuses as of env(1), nice(1) and timeout(1). */
#define EXIT_NO_EXECUTABLE 126
#define EXIT_NOT_FOUND     127
#define EXIT_BY_SIGNAL     128 /* plus its number */

typedef struct Command {
        pid_t pid; /* 0: there is none */
        int go;    /* a byte starts it, closing ends it; -1: closed */
        int error; /* errno if it cannot be executed, closed if it could */
} Command;

/* Makes the process that waits. It calls prepare() first, which may be NULL, and exits if its
 * parent ends. `argv` ends with NULL. Negative errno. */
int command_fork(Command *command, char *const *argv, void (*prepare)(const void *data),
                 const void *data);

/* Lets it become the command of this name. EXIT_FINE, or its exit status after a message, when it
 * is reaped. */
int command_exec(Command *command, const char *name);

/* The process does not become the command, and is reaped. */
void command_drop(Command *command);

/* The exit status for what waitpid() reported. */
int command_status(int status);

/* Permits this program more open descriptors, but not its commands: the usual 1024 are for programs
 * that use select(2). */
void command_raise_descriptors(void);

#endif
