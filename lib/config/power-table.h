/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Power tables: what a package draws in each idle state, and what it draws on average if its CPUs
 * spend known shares of the time there.
 *
 * The model is that of the coreidle paper: P = sum over all states of share(state) * P(state),
 * where a share is the mean over the CPUs of the package, and C0 is the time that they run.
 */
#ifndef IDLED_POWER_TABLE_H
#define IDLED_POWER_TABLE_H

#include <glib.h>

#include "config/config.h"
#include "model/idle-table.h"
#include "model/topology.h"

/* No figure is above this, or below 0. */
#define POWER_TABLE_WATTS_MAX 100000.0

/* With states that have no figure for more of the time than this, the total would be wrong by as
 * much and more. The paper's own table has none for C6, which takes 0.2 % of the time. */
#define POWER_TABLE_UNKNOWN_MAX 0.05

typedef struct PowerState {
        char *name;   /* as the kernel or turbostat calls it: "C0", "POLL", "C1E" */
        double watts; /* of a package all of whose CPUs are in it */
        double error; /* standard error in watts; NaN: not known */
} PowerState;

struct PowerTable {
        char *name;        /* "coreidle" */
        char *path;        /* of its file, for messages; NULL: none */
        char *description; /* "" if there is none */
        GArray *states;    /* of PowerState */
};

PowerTable *power_table_new(const char *name);
void power_table_free(PowerTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PowerTable, power_table_free)

void power_table_add(PowerTable *table, const char *name, double watts, double error);

/* Reads the text of a table. -EINVAL: it is none, and `errors` (of ConfigError) says why with
 * file and line. `file` is interned. */
int power_table_parse(const char *file, const char *text, size_t length, PowerTable *table,
                      GPtrArray *errors);

/* Loads power/NAME.conf with its drop-ins, or the file itself if `name` has a slash.
 * -ENOENT: there is none; -EINVAL: it is wrong; `errors` says why. */
int power_table_load(const ConfigPaths *paths, const char *name, PowerTable **ret_table,
                     GPtrArray *errors);

/* The names of all tables, as a new vector. */
char **power_tables_list(const ConfigPaths *paths);

/* The watts of a state; NaN without a figure. POLL without one of its own has that of C0, because
 * a CPU that polls runs. */
double power_table_find(const PowerTable *table, const char *state);

/* The watts of a package whose CPUs spent `shares` (0 .. 1, `n` of them) of the time in `states`.
 * A state without a figure counts as 0; `*ret_unknown`, unless NULL, is the share of the time that
 * was spent in such states. */
double power_table_price(const PowerTable *table, const char *const *states, const double *shares,
                         size_t n, double *ret_unknown);

/* The watts of a package of `topology` over the interval of `snapshot`, which has SENSE_RESIDENCY;
 * `idle` has the names of states, by CPU number. NaN: none of its CPUs was seen, or they spent more
 * than POWER_TABLE_UNKNOWN_MAX of the time in states without a figure. */
double power_table_package_watts(const PowerTable *table, const Topology *topology,
                                 const IdleTable *idle, const Snapshot *snapshot, int package);

/* Those of all packages. NaN: those of some package are not known. */
double power_table_watts(const PowerTable *table, const Topology *topology, const IdleTable *idle,
                         const Snapshot *snapshot);

/* C0 and the states in `idle` (`n_cpus` tables) that have no figure, as a new string such as "C1E,
 * C8"; NULL: all have one. */
char *power_table_unknown(const PowerTable *table, const IdleTable *idle, int n_cpus);

/* The table as the text of a file, a new string. */
char *power_table_format(const PowerTable *table);

#endif
