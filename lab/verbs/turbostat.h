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

/* One sample: a package's mean over its CPUs. Packages are in the order of their numbers. */
typedef struct TurbostatSample {
        int n_packages;
        int *packages;  /* their numbers */
        double *shares; /* [package * n_states + state], 0 .. 1 */
        double *watts;  /* by package, PkgWatt; NaN: not printed */
        bool estimated; /* not all of it was measured (in samples of our own) */
} TurbostatSample;

typedef struct Turbostat {
        char **states; /* "C0" first, then "C1" ..., NULL at the end */
        int n_states;
        bool software; /* by the kernel's counters, not by the hardware's: idle shares are scaled so
                          that a row adds up, because sleeps are counted when they end */
        bool summary;  /* it has no rows of CPUs: how many packages there are is not known */
        GPtrArray *samples; /* of TurbostatSample, at least one, all with the same packages */
} Turbostat;

/* Reads turbostat's standard output. -EINVAL: it is something else, or was cut off; `*ret_error`, a
 * new string, says in which line, what was found and what was expected. */
int turbostat_parse(const char *text, Turbostat **ret_turbostat, char **ret_error);

/* One without samples and names, for `n_states` states; and a sample more. */
Turbostat *turbostat_new(int n_states);
TurbostatSample *turbostat_add(Turbostat *turbostat, int n_packages);

void turbostat_free(Turbostat *turbostat);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Turbostat, turbostat_free)

#endif
