/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What time in an idle state costs: the watts of a power table, shared out among the CPUs of each
 * package. All that follows from it is an estimate.
 */
#ifndef IDLED_PRICE_H
#define IDLED_PRICE_H

#include "config/power-table.h"
#include "cli/verb.h"
#include "cli/watch.h"

/* The table that a machine has of its own: etc/idled/power/machine.conf. */
#define ESTIMATE_MACHINE "machine"

/* --power, in the option of a verb; NULL: not given. */
extern const char *power_asked;

/* The power table of --power, else this machine's own. NULL after a message; without one, if there
 * is no table of this machine and `required` is false. */
PowerTable *estimate_table(const Ctl *ctl, bool required);

/* The watts that the table gives a package over the last interval. NaN: none of its CPUs was seen,
 * or they spent more than POWER_TABLE_UNKNOWN_MAX of the time in states without a figure. */
double estimate_package_watts(const PowerTable *table, const Watch *watch, int package);

/* Those of all packages together; NaN: those of some package are not known. */
double estimate_watts(const PowerTable *table, const Watch *watch);

/* --power, for verbs that print what sleeps cost. */
extern const VerbOption price_option[];

typedef struct Prices Prices;

/* The prices of the table that --power names, else of this machine's own. `*ret_prices` is NULL if
 * the machine has no table and none was asked for. Returns the exit status, after a message if it
 * is not EXIT_FINE. */
int prices_new(const Ctl *ctl, Prices **ret_prices);
void prices_free(Prices *prices);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Prices, prices_free)

/* The name of the table; NULL if there are no prices. */
const char *prices_name(const Prices *prices);

const Topology *prices_topology(const Prices *prices);

/* The watts of one CPU in a state. NaN: the table has no figure, or the CPU is offline. */
double price_find(const Prices *prices, int cpu, const char *state);

/* That of the cheapest state of the table. */
double price_lowest(const Prices *prices, int cpu);

/* The states of CPUs without a figure, as a new string such as "C1E, C8"; NULL: there are none, or
 * no prices. `tables` has `n_cpus` entries. */
char *prices_unknown(const Prices *prices, const IdleTable *tables, int n_cpus);

/* Prints that the table has no figure for these; nothing if `unknown` is "". */
void price_show_unknown(const Screen *screen, const char *table, const char *unknown);

/* True if idlelab estimate --fit can make a table of this machine: it has RAPL and idle states. */
bool price_can_fit(int root);

/* Prints that this machine has no power table: `what` is missing without one, and what to run. */
void price_show_missing(const Screen *screen, const char *what, bool can_fit);

#endif
