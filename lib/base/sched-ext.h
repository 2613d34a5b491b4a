/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Schedulers of sched_ext, which choose CPUs by themselves.
 */
#ifndef IDLED_SCHED_EXT_H
#define IDLED_SCHED_EXT_H

#include <stdbool.h>

/* The name of the scheduler that is loaded, as a new string; NULL: none. */
char *sched_ext_loaded(int root);

/* True if the kernel can load one: not while an isolated partition exists, from Linux 7.0 on. */
bool sched_ext_is_known(int root);

#endif
