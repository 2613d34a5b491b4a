/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Delivered latency: from when a timer was due, or another CPU woke a task up, until the sleeping
 * CPU ran, as the sleep ledger counts it on the CPUs of each hold.
 *
 * The kernel counts exactly how often a CPU was later than the strictest limit on it. How often it
 * was later than another hold's, looser limit follows from the histogram, in steps of at most 25 %.
 */
#include "holds-measure.h"

#include <inttypes.h>
#include <math.h>

#include "base/cpuset-text.h"
#include "observe.h"
#include "sleeps.h"
#include "sleeps-read.h"

static int take_measure(Ctl *ctl, const char *text)
{
        ctl->sleeps.measure = true;
        return EXIT_FINE;
}

const VerbOption holds_options[] = {
        { "measure", NULL, "measure the wake-up latency that holds deliver", take_measure },
        { 0 },
};

int holds_check(const Ctl *ctl, const Verb *verb)
{
        if (ctl->sleeps.usec && !ctl->sleeps.measure)
                return complain_usage(verb, "holds: --seconds is for --measure");
        return EXIT_FINE;
}

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

static void put_us(json_object *object, const char *key, double ns)
{
        json_put_real(object, key, ns / 1e3, 1);
}

static json_object *describe(const Sleeps *sleeps, json_object *hold, const uint64_t *limits)
{
        const LedgerTotals *totals = &sleeps->totals;
        CpuSet cpus = limited_cpus(hold, totals->n_cpus);
        json_object *object = json_object_new_object();
        struct sleep_stats all = { 0 };
        double violations = 0;
        bool exact = sleeps->source == SLEEPS_LEDGER;

        CPUSET_FOREACH(cpu, &cpus) {
                const struct sleep_stats *stats = &totals->latencies[cpu];
                bool counted = sleeps->source == SLEEPS_LEDGER &&
                               limits[cpu] == MAX(limit_ns(hold), 1);

                if (cpu >= totals->n_cpus || !stats->count)
                        continue;
                sleep_stats_merge(&all, stats);
                violations += counted ? (double)stats->violations
                                      : sleep_longer_than(stats, limit_ns(hold));
                exact &= counted;
        }
        json_put_real(object, "seconds", (double)totals->duration_ns / 1e9, 3);
        json_put_int(object, "wakeups", (int64_t)all.count);
        put_us(object, "p50_us", sleep_percentile_ns(&all, 0.5));
        put_us(object, "p99_us", sleep_percentile_ns(&all, 0.99));
        put_us(object, "p99_9_us", sleep_percentile_ns(&all, 0.999));
        put_us(object, "max_us", all.count ? (double)all.max_ns : NAN);
        json_put(object, "violations",
                 all.count ? json_object_new_int64((int64_t)(violations + 0.5)) : NULL);
        json_put_bool(object, "violations_estimated", all.count && !exact);
        return object;
}

int holds_measure(Ctl *ctl, json_object *holds)
{
        int n = sleeps_possible_cpus(ctl->root), status;
        g_autofree uint64_t *limits = find_limits(holds, n);
        g_autoptr(SleepsReader) reader = NULL;
        const Sleeps *sleeps;
        json_object *hold;

        reader = sleeps_begin(ctl, limits, n);
        if (sleeps_source(reader) == SLEEPS_SYSFS)
                return complain("latencies cannot be measured: %s", sleeps_end(reader)->why);
        status = observe(sleeps_usec(ctl), NULL, 0, NULL, NULL);
        sleeps = sleeps_end(reader);
        JSON_FOREACH(hold, holds)
                json_put(hold, "measured",
                         json_get(hold, "latency_us") ? describe(sleeps, hold, limits) : NULL);
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
        table_column(table, "Late", true);
}

void holds_measured_cells(Table *table, json_object *hold)
{
        json_object *measured = json_get(hold, "measured");
        int64_t wakeups = json_int(measured, "wakeups", 0);

        if (!measured) {
                for (size_t i = 0; i < G_N_ELEMENTS(columns) + 2; i++)
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
}
