/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether this kernel keeps the affinities of tasks when a cpuset shrinks and grows.
 */
#ifndef IDLED_PARK_AFFINITIES_H
#define IDLED_PARK_AFFINITIES_H

#include <stdbool.h>

/* Tries it, in at most about 20 ms. 1: it keeps them, 0: it resets them; negative errno if it
 * cannot be tried: `*ret_why` says why, valid as g_strerror()'s. */
int affinities_try(int root, const char **ret_why);

/* Removes what affinities_try() left when it was killed. -EBUSY: a process is still there. */
int affinities_clean(int root);

/* Keeps the result of affinities_try() in the directory `run` for the next affinities_kept(). */
int affinities_note(int run, bool kept);

/* True if the kernel keeps them: not with isolcpus=, else as noted in `run`, else as tried, else by
 * its version, where one that is not known resets them. With a `run` of -1 nothing is tried.
 * `*ret_about` says how that is known, as a new string: "Linux 6.12.1, tried", "isolcpus=3". */
bool affinities_kept(int root, int run, char **ret_about);

#endif
