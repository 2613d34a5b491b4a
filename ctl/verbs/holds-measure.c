/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Delivered latency: from when a timer was due, or another CPU woke a task up, until the sleeping
 * CPU ran, as the sleep ledger counts it on the CPUs of each hold.
 *
 * The kernel counts exactly how often a CPU was later than the strictest limit on it. How often it
 * was later than another hold's, looser limit follows from the histogram, in steps of at most 25 %.
 *
 * What a hold costs follows from the same sleeps and a power table (hold-cost.h). It is an
 * estimate: measuring it would mean to break the hold.
 */
#include "holds-measure.h"

#include <inttypes.h>
#include <math.h>

#include "base/cpuset-text.h"
#include "hold-cost.h"
#include "cli/observe.h"
#include "cli/price.h"
#include "sleeps.h"
#include "cli/sleeps-read.h"
#include "cli/watch.h"

bool holds_measured;

const VerbOption holds_options[] = {
        { "measure", NULL, "measure the latency that holds deliver, and what they cost",
          .flag = &holds_measured },
        { 0 },
};

int holds_check(const Ctl *ctl, const Verb *verb)
{
        if ((sleeps_asked_usec || ctl->power_table) && !holds_measured)
                return complain_usage(verb, "holds: --%s is for --measure",
                                      sleeps_asked_usec ? "seconds" : "power");
        return EXIT_FINE;
}

/* Energy is read at least this often, and sooner if its counters wrap. */
#define ENERGY_USEC (UINT64_C(3600) * G_USEC_PER_SEC)

/* The CPUs whose latency the hold limits; none if it limits none. */
static CpuSet limited_cpus(json_object *hold, int n_cpus)
{
        CpuSet cpus = { 0 };

        if (!json_get(hold, "latency_us"))
                return cpus;
        if (json_true(hold, "global") || cpuset_parse(json_text(hold, "cpus"), &cpus) < 0)
                cpuset_add_range(&cpus, 0, n_cpus - 1);
        return cpus;
}

static uint64_t limit_ns(json_object *hold)
{
        return (uint64_t)json_int(hold, "latency_us", 0) * 1000;
}

/* By CPU, the strictest; 0: none. A limit of 0 is less than any latency, so 1 ns does as well. */
static uint64_t *find_limits(json_object *holds, int n_cpus)
{
        uint64_t *limits = g_new0(uint64_t, (size_t)n_cpus);
        json_object *hold;

        JSON_FOREACH(hold, holds) {
                CpuSet cpus = limited_cpus(hold, n_cpus);

                CPUSET_FOREACH(cpu, &cpus)
                        if (cpu < n_cpus && (!limits[cpu] || limit_ns(hold) < limits[cpu]))
                                limits[cpu] = MAX(limit_ns(hold), 1);
        }
        return limits;
}

/* By CPU, the strictest limit of the other holds. */
static uint32_t other_limit_us(json_object *holds, json_object *hold, int cpu, int n_cpus)
{
        uint32_t limit = HOLD_COST_UNLIMITED;
        json_object *other;

        JSON_FOREACH(other, holds) {
                CpuSet cpus = limited_cpus(other, n_cpus);

                if (other != hold && cpuset_has(&cpus, cpu))
                        limit = MIN(limit, (uint32_t)(limit_ns(other) / 1000));
        }
        return limit;
}

typedef struct Measurement {
        json_object *holds;
        int root;
        const Sleeps *sleeps;
        const uint64_t *limits; /* by CPU, ns */
        const Prices *prices;   /* NULL: none */
} Measurement;

/* How many of a CPU's sleeps in each state only the tick or the end of polling ended. */
static void count_resumed(const LedgerTotals *totals, int cpu, uint64_t resumed[SLEEPS_STATES])
{
        for (size_t i = 0; i < totals->n_causes; i++) {
                const LedgerCause *cause = &totals->causes[i];

                if (cause->cpu == cpu && cause->state < SLEEPS_STATES &&
                    (cause->kind == CAUSE_TICK || cause->kind == CAUSE_POLL))
                        resumed[cause->state] += cause->value.count;
        }
}

/* The watts that a CPU draws more because of the hold. NaN: not known. */
static double cost_watts(const Measurement *measurement, json_object *hold, int cpu)
{
        const LedgerTotals *totals = &measurement->sleeps->totals;
        const struct sleeper *now = &totals->current[cpu];
        HoldCostCpu of = { .table = &measurement->sleeps->tables[cpu],
                           .sleeps = &totals->sleeps[(size_t)cpu * SLEEPS_STATES],
                           .limit_us = (uint32_t)(limit_ns(hold) / 1000),
                           .current = -1 };

        of.others_us = other_limit_us(measurement->holds, hold, cpu, totals->n_cpus);
        for (int s = 0; s < of.table->n_states; s++) {
                if (idle_state_enabled(measurement->root, cpu, s))
                        of.enabled |= (uint16_t)(1u << s);
                of.watts[s] = price_find(measurement->prices, cpu, of.table->states[s].name);
        }
        count_resumed(totals, cpu, of.resumed);
        if (sleep_goes_on(now) && totals->now_ns > now->entered_ns) {
                of.current = (int)now->state;
                of.current_ns = MIN(totals->now_ns - now->entered_ns, totals->duration_ns);
        }
        return hold_cost_joules(&of) * 1e9 / (double)totals->duration_ns;
}

static void put_us(json_object *object, const char *key, double ns)
{
        json_put_real(object, key, ns / 1e3, 1);
}

/* NaN without prices, and where a price is not known. */
static double hold_watts(const Measurement *measurement, json_object *hold)
{
        CpuSet cpus = limited_cpus(hold, measurement->sleeps->totals.n_cpus);
        double watts = 0;

        CPUSET_FOREACH(cpu, &cpus)
                if (cpu < measurement->sleeps->totals.n_cpus && measurement->prices &&
                    cpuset_has(&prices_topology(measurement->prices)->online, cpu))
                        watts += cost_watts(measurement, hold, cpu);
        return measurement->prices && measurement->sleeps->totals.duration_ns ? watts : NAN;
}

static void describe_latency(const Measurement *measurement, json_object *hold, json_object *object)
{
        const Sleeps *sleeps = measurement->sleeps;
        const LedgerTotals *totals = &sleeps->totals;
        CpuSet cpus = limited_cpus(hold, totals->n_cpus);
        struct sleep_stats all = { 0 };
        double violations = 0;
        bool exact = sleeps->source == SLEEPS_LEDGER;

        CPUSET_FOREACH(cpu, &cpus) {
                const struct sleep_stats *stats = &totals->latencies[cpu];
                bool counted;

                if (cpu >= totals->n_cpus || !stats->count)
                        continue;
                counted = sleeps->source == SLEEPS_LEDGER &&
                          measurement->limits[cpu] == MAX(limit_ns(hold), 1);
                sleep_stats_merge(&all, stats);
                violations += counted ? (double)stats->violations
                                      : sleep_longer_than(stats, limit_ns(hold));
                exact &= counted;
        }
        json_put_int(object, "wakeups", (int64_t)all.count);
        put_us(object, "p50_us", sleep_percentile_ns(&all, 0.5));
        put_us(object, "p99_us", sleep_percentile_ns(&all, 0.99));
        put_us(object, "p99_9_us", sleep_percentile_ns(&all, 0.999));
        put_us(object, "max_us", all.count ? (double)all.max_ns : NAN);
        json_put(object, "violations",
                 all.count ? json_object_new_int64((int64_t)(violations + 0.5)) : NULL);
        json_put_bool(object, "violations_estimated", all.count && !exact);
}

static json_object *describe(const Measurement *measurement, json_object *hold)
{
        json_object *object = json_object_new_object();

        json_put_real(object, "seconds", (double)measurement->sleeps->totals.duration_ns / 1e9, 3);
        describe_latency(measurement, hold, object);
        json_put_real(object, "cost_watts_estimate", hold_watts(measurement, hold), 3);
        return object;
}

static bool read_energy(void *watch)
{
        watch_energy(watch);
        return true;
}

/* Waits, and reads the energy of the packages if it is measured. Their mean power; NaN: it is not.
 */
static double wait_and_meter(const Ctl *ctl, int *ret_status)
{
        g_autoptr(Watch) watch = NULL;
        bool measured = watch_new(ctl->root, &watch) >= 0 && watch->energy_error == 0 &&
                        watch_begin(watch, 0, true) >= 0;
        uint64_t period = measured ? MIN(sensors_energy_deadline(watch->sensors), ENERGY_USEC) : 0;
        int64_t began = g_get_monotonic_time();

        observe(NULL, sleeps_usec(), NULL, period, read_energy, watch, ret_status);
        if (!measured)
                return NAN;
        watch_energy(watch);
        if (!watch->energy_usec)
                return NAN;
        return watch->package_joules * G_USEC_PER_SEC /
               (double)((int64_t)watch->energy_usec - began);
}

static json_object *describe_power(const Measurement *measurement, double watts)
{
        const Sleeps *sleeps = measurement->sleeps;
        json_object *power = json_object_new_object();
        g_autofree char *unknown = prices_unknown(measurement->prices, sleeps->tables,
                                                  sleeps->totals.n_cpus);

        json_put_real(power, "package_watts", watts, 2);
        json_put_text(power, "power_table", prices_name(measurement->prices));
        json_put_text(power, "states_without_figure", unknown);
        return power;
}

int holds_measure(Ctl *ctl, json_object *holds, json_object *answer)
{
        int n = sleeps_possible_cpus(ctl->root), status;
        g_autofree uint64_t *limits = find_limits(holds, n);
        g_autoptr(SleepsReader) reader = NULL;
        g_autoptr(Prices) prices = NULL;
        Measurement measurement = { holds, ctl->root, NULL, limits, NULL };
        json_object *hold;
        double watts;

        status = prices_new(ctl, &prices);
        if (status != EXIT_FINE)
                return status;
        reader = sleeps_begin(ctl, limits, n);
        if (sleeps_source(reader) == SLEEPS_SYSFS)
                return complain("latencies cannot be measured: %s", sleeps_end(reader)->why);
        watts = wait_and_meter(ctl, &status);
        measurement.sleeps = sleeps_end(reader);
        measurement.prices = prices;
        json_put(answer, "power", describe_power(&measurement, watts));
        JSON_FOREACH(hold, holds)
                json_put(hold, "measured",
                         json_get(hold, "latency_us") ? describe(&measurement, hold) : NULL);
        return status;
}

static const struct {
        const char *title, *key;
} columns[] = {
        { "p50", "p50_us" }, { "p99", "p99_us" }, { "p99.9", "p99_9_us" }, { "Max", "max_us" }
};

void holds_measured_columns(Table *table)
{
        table_column(table, "Wakes", true);
        for (size_t i = 0; i < G_N_ELEMENTS(columns); i++)
                table_column(table, columns[i].title, true);
        table_columns(table, ">Late|>Costs");
}

void holds_measured_cells(Table *table, json_object *hold)
{
        json_object *measured = json_get(hold, "measured");
        int64_t wakeups = json_int(measured, "wakeups", 0);

        if (!measured) {
                for (size_t i = 0; i < G_N_ELEMENTS(columns) + 3; i++)
                        table_cell(table, STYLE_DIM, "-");
                return;
        }
        table_cellf(table, STYLE_PLAIN, "%" PRId64, wakeups);
        for (size_t i = 0; i < G_N_ELEMENTS(columns); i++)
                sleeps_cell(table, measured, columns[i].key, STYLE_PLAIN);
        if (json_get(measured, "violations"))
                table_cellf(table, json_int(measured, "violations", 0) ? STYLE_BAD : STYLE_GOOD,
                            "%s%" PRId64, json_true(measured, "violations_estimated") ? "~" : "",
                            json_int(measured, "violations", 0));
        else
                table_cell(table, STYLE_DIM, "-");
        if (json_get(measured, "cost_watts_estimate"))
                table_cellf(table, STYLE_PLAIN, "~%.2f W",
                            json_number(measured, "cost_watts_estimate", 0));
        else
                table_cell(table, STYLE_DIM, "-");
}

void holds_measured_power(const Ctl *ctl, json_object *answer)
{
        json_object *power = json_get(answer, "power");
        const char *table = json_text(power, "power_table"),
                   *unknown = json_text(power, "states_without_figure");

        if (json_get(power, "package_watts"))
                screen_line(&ctl->screen, STYLE_PLAIN, "Power  %.2f W, all packages (RAPL)",
                            json_number(power, "package_watts", 0));
        if (!*table && !ctl->power_table) /* one that was named and not found was reported */
                price_show_missing(&ctl->screen,
                                   "What holds cost is not known, because this machine has no "
                                   "power table",
                                   price_can_fit(ctl->root));
        price_show_unknown(&ctl->screen, table, unknown);
}
