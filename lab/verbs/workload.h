/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A command that is run again and again as a load, and what it has done so far.
 *
 * It has a process group of its own, so that all of it can be ended, reads nothing, and its output
 * is thrown away. If idlelab is killed the kernel kills the command.
 */
#ifndef IDLED_WORKLOAD_H
#define IDLED_WORKLOAD_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Workload Workload;

/* A command that does not run yet; `command` ends with NULL and stays the caller's. */
Workload *workload_new(char *const *command);

/* Starts it. EXIT_FINE, or 126 or 127 after a message: it cannot be executed. */
int workload_start(Workload *workload);

/* True while it runs; looks with waitpid() whether it has ended. */
bool workload_runs(Workload *workload);

/* True once after each end. */
bool workload_ended(Workload *workload);

/* How it ended: its exit status, or 128 plus the number of the signal. */
int workload_status(const Workload *workload);

/* Instructions that it and all processes that it started executed in user space since it was
 * started. Reading disturbs no idle CPU. Negative errno: this machine cannot count them. */
int workload_instructions(const Workload *workload, uint64_t *ret_count);

/* Ends it, by SIGTERM and after two seconds by SIGKILL, and waits for that. */
void workload_stop(Workload *workload);

void workload_free(Workload *workload);

#endif
