/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl holds: the holds and their owners; with --measure also the wake-up latency that their
 * CPUs really have, and what they cost.
 *
 * Delivered latency is from when a timer was due, or another CPU woke a task up, until the sleeping
 * CPU ran, as the sleep ledger counts it on the CPUs of each hold. The kernel counts exactly how
 * often a CPU was later than the strictest limit on it. How often it was later than another hold's,
 * looser limit follows from the histogram, in steps of at most 25 %.
 *
 * What a hold costs follows from the same sleeps and a power table (hold-cost.h). It is an
 * estimate: measuring it would mean to break the hold.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/cpuset.h"
#include "cli/client.h"
#include "cli/facts.h"
#include "cli/observe.h"
#include "cli/price.h"
#include "cli/sleeps-read.h"
#include "cli/verb.h"
#include "cli/watch.h"
#include "hold-cost.h"
#include "sleeps.h"
#include "verbs.h"

static bool holds_measured; /* --measure */

static const VerbOption holds_options[] = {
        { "measure", NULL, "measure the latency that holds deliver, and what they cost",
          .flag = &holds_measured },
        { 0 },
};

static int holds_check(const Ctl *ctl, const Verb *verb)
{
        if ((sleeps_asked > 0 || power_asked) && !holds_measured)
                return complain_usage(verb, "holds: --%s is for --measure",
                                      sleeps_asked > 0 ? "seconds" : "power");
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

static json_object *describe_measured(const Measurement *measurement, json_object *hold)
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

/* Measures for --seconds and adds a member "measured" to each of `holds` (as holds_ask() describes
 * them), and "power" to the answer. Returns the exit status, after a message if nothing could be
 * measured. */
static int holds_measure(Ctl *ctl, json_object *holds, json_object *answer)
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
                         json_get(hold, "latency_us") ? describe_measured(&measurement, hold)
                                                      : NULL);
        return status;
}

static const struct {
        const char *title, *key;
} columns[] = {
        { "p50", "p50_us" }, { "p99", "p99_us" }, { "p99.9", "p99_9_us" }, { "Max", "max_us" }
};

/* The columns of that, and a hold's cells. */
static void holds_measured_columns(Table *table)
{
        table_column(table, "Wakes", true);
        for (size_t i = 0; i < G_N_ELEMENTS(columns); i++)
                table_column(table, columns[i].title, true);
        table_columns(table, ">Late|>Costs");
}

static void holds_measured_cells(Table *table, json_object *hold)
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

/* Lines below the table: the power that was measured, and where the estimates come from. */
static void holds_measured_power(const Ctl *ctl, json_object *answer)
{
        json_object *power = json_get(answer, "power");
        const char *table = json_text(power, "power_table"),
                   *unknown = json_text(power, "states_without_figure");

        if (json_get(power, "package_watts"))
                screen_line(&ctl->screen, STYLE_PLAIN, "Power  %.2f W, all packages (RAPL)",
                            json_number(power, "package_watts", 0));
        if (!*table && !power_asked) /* one that was named and not found was reported */
                price_show_missing(&ctl->screen,
                                   "What holds cost is not known, because this machine has no "
                                   "power table",
                                   price_can_fit(ctl->root));
        price_show_unknown(&ctl->screen, table, unknown);
}

#define HOLD_PREFIX    "/org/idled1/hold/"
#define HOLD_INTERFACE "org.idled1.Hold"

/* The name of the process. Any process can choose its own, so it proves nothing. */
static void put_process(const Ctl *ctl, json_object *answer, json_object *hold)
{
        char path[64], name[64];

        snprintf(path, sizeof(path), "proc/%d/comm", (int)json_int(hold, "Pid", 0));
        json_put_text(answer, "process",
                      file_read_value(ctl->root, path, name, sizeof(name)) >= 0 ? name : NULL);
}

static json_object *describe(const Ctl *ctl, json_object *hold)
{
        json_object *answer = json_object_new_object(), *request = json_get(hold, "Request");

        json_put_members(answer, hold, "hold=Id owner=Owner user=User");
        json_put_int_from(answer, "pid", json_int(hold, "Pid", -1), 1);
        put_process(ctl, answer, hold);
        json_put_members(answer, hold,
                         "ends_with_process=Bound since_usec=SinceUSec reason=Reason");
        json_put_members(answer, request, "latency_us wakeup_p99_us");
        json_put_bool(answer, "global", json_true(request, "global"));
        json_put_members(answer, request, "min_cores min_frequency_khz");
        json_put_texts(answer, request, "kind profile");
        json_put_members(answer, hold, "cpus=CPUs");
        json_put_text_any(answer, "obstacle", json_text(hold, "Obstacle"));
        return answer;
}

static int compare(const void *a, const void *b)
{
        int64_t x = json_int(*(json_object *const *)a, "hold", 0);
        int64_t y = json_int(*(json_object *const *)b, "hold", 0);

        return (x > y) - (x < y);
}

static int holds_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(json_object) objects = client_objects(ctl->client);
        json_object *answer, *holds;
        int status = EXIT_FINE;

        if (!objects)
                return complain("%s", client_problem(ctl->client));
        holds = json_object_new_array();
        json_object_object_foreach(objects, path, interfaces)
        {
                json_object *hold = json_get(interfaces, HOLD_INTERFACE);

                if (g_str_has_prefix(path, HOLD_PREFIX) && hold)
                        json_object_array_add(holds, describe(ctl, hold));
        }
        json_object_array_sort(holds, compare);
        answer = answer_new(ctl);
        if (holds_measured)
                status = holds_measure(ctl, holds, answer);
        json_put(answer, "holds", holds);
        *ret_answer = answer;
        return status;
}

static void add_row(Table *table, json_object *hold, bool measured)
{
        double since = json_number(hold, "since_usec", 0) / 1e6;
        g_autofree char *age = text_duration(MAX((double)time(NULL) - since, 0));

        table_member(table, hold, "hold", 1, -1, "");
        table_member(table, hold, "user", 1, -1, "");
        table_member(table, hold, "pid", 1, -1, "");
        table_text(table, hold, "process");
        table_member(table, hold, "latency_us", 1, -1, json_true(hold, "global") ? "us all" : "us");
        table_text(table, hold, "cpus");
        if (json_int(hold, "min_cores", 0) >= CPUSET_MAX)
                table_cell(table, STYLE_PLAIN, "all");
        else
                table_member(table, hold, "min_cores", 1, -1, "");
        table_member(table, hold, "min_frequency_khz", 1e3, -1, "");
        table_text(table, hold, "profile");
        table_cell(table, STYLE_PLAIN, age);
        if (measured)
                holds_measured_cells(table, hold);
        table_note(table, STYLE_PLAIN, json_text(hold, "reason"));
        if (json_get(hold, "kind"))
                table_notef(table, STYLE_PLAIN, "On cores of kind %s.", json_text(hold, "kind"));
        if (json_get(hold, "wakeup_p99_us")) {
                g_autofree char *limit = us_text(json_number(hold, "wakeup_p99_us", 0));

                table_notef(table, STYLE_PLAIN,
                            "Contract of its unit: 99 %% of wake-ups run within %s.", limit);
        }
        if (json_get(hold, "obstacle"))
                table_notef(table, STYLE_WARN, "Not fully in effect: %s.",
                            json_text(hold, "obstacle"));
}

static void holds_show(const Ctl *ctl, json_object *answer)
{
        json_object *holds = json_get(answer, "holds"), *hold;
        g_autoptr(Table) table = table_new();

        answer_show_daemon(ctl, answer);
        if (json_length(holds) == 0) {
                screen_line(&ctl->screen, STYLE_PLAIN, "There are no holds.");
                return;
        }
        table_columns(table, ">Hold|>User|>PID|Process|>Latency|CPUs|>Cores|>MHz|Profile|>Age");
        if (holds_measured)
                holds_measured_columns(table);
        JSON_FOREACH(hold, holds)
                add_row(table, hold, holds_measured);
        table_print(table, &ctl->screen);
        if (holds_measured)
                holds_measured_power(ctl, answer);
}

const Verb verb_holds = {
        .name = "holds",
        .summary = "Show the holds and their owners",
        .help = "With --measure, idlectl also measures the wake-up latency of the CPUs of each\n"
                "hold for 10 s. Late is how often it exceeded the limit of the hold. Costs is "
                "the\n"
                "power that these CPUs would save without the hold, estimated by a power table.\n"
                "This requires root or authorization by polkit.",
        .options = { holds_options, sleeps_seconds_option, price_option },
        .check = holds_check,
        .ask = holds_ask,
        .show = holds_show,
};
