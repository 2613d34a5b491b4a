/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Schedulers of sched_ext, which choose CPUs by themselves.
 */
#ifndef IDLED_SCHED_EXT_H
#define IDLED_SCHED_EXT_H

#include <stdbool.h>

/* The name of the scheduler that is loaded, as a new string; NULL: none. */
char *sched_ext_loaded(int root);

/*
 * True if the kernel can load one. From Linux 7.0 on some do not while an isolated partition
 * exists: those without commit 6ae315d37924, which 7.3.4 has. No file shows which these are.
 */
bool sched_ext_is_known(int root);

#endif
