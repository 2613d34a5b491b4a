/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waiting while something is measured: for a time, or until a command ends.
 */
#ifndef IDLED_OBSERVE_H
#define IDLED_OBSERVE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* As long as a time that cannot end. */
#define OBSERVE_FOREVER (UINT64_C(100) * 365 * 86400 * 1000000)

/* Waits for `usec`, or, if `command` is not empty, until it ends; then `usec` does not count. In
 * between it calls `meanwhile` every `period_usec`, unless that is 0; after a late call
 * the next one may be left out, so that half a period is between them. When it returns false it is
 * not called again, and without a command the wait ends. If standard error is a terminal, a line
 * there says that `what` is recorded, such as "a.rec", and what ends that; NULL: no line.
 *
 * SIGINT, SIGQUIT, SIGTERM and SIGHUP end the wait early, so that what was measured can be shown;
 * while a command runs it is the command that they end. `*ret_status` is the exit status: 0, or
 * that of the command as the verb run has it. False, with 126 or 127 after a message, if it cannot
 * be executed.
 */
bool observe(const char *what, uint64_t usec, char *const *command, uint64_t period_usec,
             bool (*meanwhile)(void *data), void *data, int *ret_status);

/* Blocks these signals, 0 at the end, in this thread and in those that it starts. Returns a
 * descriptor that reports them, which does not block; negative errno. `ret_before`, unless NULL, is
 * what was blocked. */
int signals_open(const int *numbers, sigset_t *ret_before);

/* Waits until then (monotonic), or until the descriptor reports a signal: its number; else 0. */
int signals_wait(int fd, uint64_t end_usec);

#endif
