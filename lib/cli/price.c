/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Prices of idle states.
 */
#include "cli/price.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "cli/offline.h"
#include "sense/sensor.h"
#include "sense/topology-read.h"

struct Prices {
        PowerTable *table;
        Topology *topology;
        int *n_online; /* by package */
};

const char *power_asked;

PowerTable *estimate_table(const Ctl *ctl, bool required)
{
        g_auto(OfflinePaths) offline = { .top = -1 };
        g_autoptr(GPtrArray) errors = config_errors_new();
        PowerTable *table = NULL;
        g_auto(GStrv) names = NULL;
        g_autofree char *list = NULL, *known = NULL;
        int r;

        offline_paths_init(&offline, ctl, NULL);
        r = power_table_load(&offline.paths, power_asked ?: ESTIMATE_MACHINE, &table, errors);
        if (r == 0)
                return table;
        if (r == -ENOENT && !power_asked && !required)
                return NULL;
        offline_complain(errors);
        if (errors->len > 0)
                return NULL;
        names = power_tables_list(&offline.paths);
        list = g_strjoinv(", ", names);
        known = *list ? g_strdup(list)
                      : g_strdup_printf("those in %s/power and %s/power (there are none)",
                                        offline.admin, offline.vendor);
        if (power_asked)
                complain("--power: found no table \"%s\", expected one of %s, or a path with a "
                         "slash",
                         power_asked, known);
        else
                complain("this machine has no power table of its own (%s/power/machine.conf); "
                         "expected --power with one of %s, or --fit --output to make it",
                         offline.admin, known);
        return NULL;
}

double estimate_package_watts(const PowerTable *table, const Watch *watch, int package)
{
        const char *names[WATCH_STATES_MAX + 1] = { "C0" };
        double shares[WATCH_STATES_MAX + 1];
        CpuSet cpus = watch_package(watch, package);
        double watts, unknown;

        for (int s = 0; s < watch->n_states; s++)
                names[s + 1] = watch->states[s];
        if (watch_shares(watch, &cpus, shares, NULL) == 0)
                return NAN;
        watts = power_table_price(table, names, shares, (size_t)watch->n_states + 1, &unknown);
        return unknown > POWER_TABLE_UNKNOWN_MAX ? NAN : watts;
}

double estimate_watts(const PowerTable *table, const Watch *watch)
{
        double sum = 0;

        for (int p = 0; p < watch->topology->n_packages; p++)
                sum += estimate_package_watts(table, watch, p);
        return sum;
}

const VerbOption price_option[] = {
        { "power", "NAME", "the power table, to estimate watts", .text = &power_asked },
        { 0 },
};

int prices_new(const Ctl *ctl, Prices **ret_prices)
{
        PowerTable *table = estimate_table(ctl, false);
        g_autoptr(Prices) prices = NULL;
        int r;

        *ret_prices = NULL;
        if (!table)
                return power_asked ? EXIT_FAILED : EXIT_FINE;
        prices = g_new0(Prices, 1);
        prices->table = table;
        r = topology_read(ctl->root, &prices->topology);
        if (r < 0)
                return complain_cpus(ctl, r);
        prices->n_online = g_new0(int, (gsize)prices->topology->n_packages);
        CPUSET_FOREACH(cpu, &prices->topology->online)
                prices->n_online[prices->topology->cpus[cpu].package]++;
        *ret_prices = g_steal_pointer(&prices);
        return EXIT_FINE;
}

void prices_free(Prices *prices)
{
        if (!prices)
                return;
        power_table_free(prices->table);
        topology_free(prices->topology);
        g_free(prices->n_online);
        g_free(prices);
}

const char *prices_name(const Prices *prices)
{
        return prices ? prices->table->name : NULL;
}

const Topology *prices_topology(const Prices *prices)
{
        return prices->topology;
}

static double share_out(const Prices *prices, int cpu, double watts)
{
        int package = cpu < prices->topology->n_cpus ? prices->topology->cpus[cpu].package : -1;

        return package < 0 ? NAN : watts / prices->n_online[package];
}

double price_find(const Prices *prices, int cpu, const char *state)
{
        return share_out(prices, cpu, power_table_find(prices->table, state));
}

double price_lowest(const Prices *prices, int cpu)
{
        double lowest = NAN;

        for (guint i = 0; i < prices->table->states->len; i++)
                lowest = fmin(lowest, g_array_index(prices->table->states, PowerState, i).watts);
        return share_out(prices, cpu, lowest);
}

char *prices_unknown(const Prices *prices, const IdleTable *tables, int n_cpus)
{
        return prices ? power_table_unknown(prices->table, tables, n_cpus) : NULL;
}

void price_show_unknown(const Screen *screen, const char *table, const char *unknown)
{
        if (*unknown)
                screen_sentencef(screen, STYLE_WARN, "The power table %s has no figure for %s.",
                                 table, unknown);
}

bool price_can_fit(int root)
{
        static const char *const zones[] = { "sys/class/powercap/intel-rapl:0",
                                             "sys/class/powercap/intel-rapl-mmio:0" };
        IdleState states[IDLE_STATES_MAX];

        for (size_t i = 0; i < G_N_ELEMENTS(zones); i++)
                if (faccessat(root, zones[i], F_OK, 0) == 0)
                        return idle_states_read(root, 0, states) > 0;
        return false;
}

void price_show_missing(const Screen *screen, const char *what, bool can_fit)
{
        screen_sentencef(
                screen, STYLE_DIM, "%s: %s.", what,
                can_fit ? "run sudo idlelab estimate --fit --output /etc/idled/power/machine.conf, "
                          "or name a table with --power"
                        : "name a table with --power; idlelab estimate --fit cannot make one here, "
                          "because it needs RAPL and idle states");
}
