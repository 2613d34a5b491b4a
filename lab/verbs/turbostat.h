/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The text that turbostat prints, read back as residencies.
 *
 * Read are the tables of all versions: the first ones with %c0 and %c6, those with CPU%c6 and those
 * with the kernel's own states (C6%), separated by blanks or tabs, with or without rows of CPUs.
 */
#ifndef IDLED_TURBOSTAT_H
#define IDLED_TURBOSTAT_H

#include <glib.h>
#include <stdbool.h>

/* Samples, each with a row for every package, which are in the order of their numbers. */
typedef struct Turbostat {
        char **states; /* "C0" first, then "C1" ..., NULL at the end */
        int n_states;
        bool software; /* by the kernel's counters, not by the hardware's: idle shares are scaled so
                          that a row adds up, because sleeps are counted when they end */
        bool summary;  /* it has no rows of CPUs: how many packages there are is not known */
        bool estimated;   /* not all of it was measured (in samples of our own) */
        GArray *packages; /* of int: their numbers */
        GArray *shares;   /* of double: n_states for each row, 0 .. 1; a mean over CPUs */
        GArray *watts;    /* of double, by row: PkgWatt; NaN: not printed */
        guint n_samples;
} Turbostat;

/* Reads turbostat's standard output. -EINVAL: it is something else, or was cut off; `*ret_error`, a
 * new string, says in which line, what was found and what was expected. */
int turbostat_parse(const char *text, Turbostat **ret_turbostat, char **ret_error);

/* One without samples, packages and names, for `n_states` states. */
Turbostat *turbostat_new(int n_states);

/* Adds a row. Returns its shares, which are 0, until the next one is added. */
double *turbostat_add(Turbostat *turbostat, double watts);

/* The shares of a package in a sample; and its watts. */
const double *turbostat_shares(const Turbostat *turbostat, guint sample, guint package);
double turbostat_watts(const Turbostat *turbostat, guint sample, guint package);

void turbostat_free(Turbostat *turbostat);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Turbostat, turbostat_free)

#endif
