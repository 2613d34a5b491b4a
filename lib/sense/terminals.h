/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Input that programs read from terminals: pseudo-terminals, virtual consoles and consoles of the
 * kernel, such as ttyS0 of a server and hvc0 of a guest.
 */
#ifndef IDLED_TERMINALS_H
#define IDLED_TERMINALS_H

#include <glib.h>
#include <stdint.h>

typedef struct Terminals Terminals;

/* Watches pts/0, ..., tty1, tty2, ... and the kernel's consoles from now on, in dev/host below
 * `root` if there is one, else in dev. `root` stays open for as long. */
int terminals_new(int root, Terminals **ret_terminals);
void terminals_free(Terminals *terminals);

/* Why some terminal is not watched, as negative errno; 0: all are. -ENOSPC: the user has no inotify
 * watch left. terminals_retry() tries again to watch those. */
int terminals_error(const Terminals *terminals);
void terminals_retry(Terminals *terminals);

/* Becomes readable when a program reads from a terminal; belongs to `terminals`. */
int terminals_fd(const Terminals *terminals);

/* Takes all events that are there, and begins to watch terminals that came. Returns the last
 * terminal that a program has read from, as a new string ("pts/0"); NULL: none. */
char *terminals_read(Terminals *terminals);

/* When a program last read from a terminal, and from which ("pts/0", a new string):
 * CLOCK_REALTIME in microseconds, up to 8 s late, as the kernel notes it no more exactly. Input
 * before `since` does not count, nor in the first 8 s of a terminal. Access times after `now` do
 * not count either: the clock was set back since. 0: there is none, and no name. */
uint64_t terminals_last_input(int root, uint64_t since, uint64_t now, char **ret_name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Terminals, terminals_free)

#endif
