/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl sleeps: how long CPUs sleep, and what ends their sleeps.
 *
 * A row per CPU: samples, mean, standard deviation, max and min, as "Let idle CPUs sleep" has them,
 * and percentiles. Then the causes, those first that cost most: a sleep that ends before the target
 * residency of D, the deepest state that its CPU may enter, has lost what it lacks. With a power
 * table that residency has a price: the difference between D and the state of the sleep. A sleep in
 * D itself that is too short would have been cheaper in the next shallower state, because the
 * target residency is where both cost the same; its price is the difference to that one.
 */
#include "sleeps.h"

#include <math.h>
#include <stdio.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "sense/sensor.h"
#include "cli/observe.h"
#include "cli/output.h"
#include "cli/price.h"
#include "cli/sleeps-read.h"
#include "verbs.h"

#define CAUSES_SHOWN 40

const VerbOption sleeps_seconds_option[] = {
        { "seconds", "N", "measure for this many seconds (10)", SLEEPS_SECONDS },
        { 0 },
};

static CpuSet asked_cpus;
static const char *asked_text;

static const VerbOption sleeps_options[] = {
        { "cpus", "LIST", "only these CPUs", .cpus = &asked_cpus, .text = &asked_text },
        { 0 },
};

static void put_us(json_object *object, const char *key, double ns)
{
        json_put_real(object, key, ns / 1e3, 3);
}

/* Only what the source knows. */
static void put_stats(json_object *object, const struct sleep_stats *stats, bool counted)
{
        json_put_int(object, "sleeps", (int64_t)stats->count);
        put_us(object, "mean_us", sleep_mean_ns(stats));
        put_us(object, "deviation_us", counted ? sleep_deviation_ns(stats) : NAN);
        put_us(object, "max_us", counted && stats->count ? (double)stats->max_ns : NAN);
        put_us(object, "min_us", counted && stats->count ? (double)stats->min_ns : NAN);
        put_us(object, "p50_us", counted ? sleep_percentile_ns(stats, 0.5) : NAN);
        put_us(object, "p90_us", counted ? sleep_percentile_ns(stats, 0.9) : NAN);
        put_us(object, "p99_us", counted ? sleep_percentile_ns(stats, 0.99) : NAN);
}

/* By powers of 2, from the first to the last that has any. */
static json_object *histogram(const struct sleep_stats *stats)
{
        json_object *array = json_object_new_array();

        for (unsigned i = 0; i < SLEEPS_BUCKETS; i += i ? 1u << SLEEPS_SUB : 1) {
                json_object *row;
                uint64_t n = 0;

                for (unsigned k = i; k < i + (i ? 1u << SLEEPS_SUB : 1) && k < SLEEPS_BUCKETS; k++)
                        n += stats->hist[k];
                if (!n)
                        continue;
                row = json_add(array);
                put_us(row, "from_us", (double)sleep_bucket_begin(i));
                json_put_int(row, "sleeps", (int64_t)n);
        }
        return array;
}

static const char *state_name(const Sleeps *sleeps, int cpu, int state, char buffer[24])
{
        const IdleTable *table = &sleeps->tables[cpu];

        if (state < table->n_states)
                return table->states[state].name;
        snprintf(buffer, 24, "state%d", state);
        return buffer;
}

static json_object *describe_cpu(const Sleeps *sleeps, int cpu)
{
        const struct sleeper *now = &sleeps->totals.current[cpu];
        json_object *object = json_object_new_object(), *states = json_object_new_array();
        bool counted = sleeps->source != SLEEPS_SYSFS;
        struct sleep_stats all = { 0 };
        char buffer[24];

        for (int state = 0; state < SLEEPS_STATES; state++) {
                const struct sleep_stats *stats =
                        &sleeps->totals.sleeps[cpu * SLEEPS_STATES + state];
                json_object *row;

                sleep_stats_merge(&all, stats);
                if (!stats->count)
                        continue;
                row = json_add(states);
                json_put_text(row, "state", state_name(sleeps, cpu, state, buffer));
                put_stats(row, stats, counted);
        }
        json_put_int(object, "cpu", cpu);
        put_stats(object, &all, counted);
        json_put(object, "histogram", counted ? histogram(&all) : NULL);
        put_us(object, "asleep_us",
               sleep_goes_on(now) && sleeps->totals.now_ns > now->entered_ns
                       ? (double)(sleeps->totals.now_ns - now->entered_ns)
                       : NAN);
        json_put_text(object, "asleep_state",
                      sleep_goes_on(now) ? state_name(sleeps, cpu, (int)now->state, buffer) : NULL);
        json_put(object, "states", states);
        return object;
}

/* Causes of the chosen CPUs that differ in nothing but CPU and state. */
typedef struct Group {
        LedgerCause cause;
        CpuSet cpus;
        double joules; /* lost; NaN: not known */
} Group;

/* The watts that the residency lost by sleeps of a CPU in `state` costs. NaN: not known. */
static double lost_watts(const Ctl *ctl, const Sleeps *sleeps, const Prices *prices, int cpu,
                         int state)
{
        const IdleTable *table = &sleeps->tables[cpu];
        uint16_t permitted = idle_states_permitted(ctl->root, cpu, table);
        int deepest = -1, shallower = -1, from;

        for (int s = 0; s < table->n_states; s++)
                if (permitted >> s & 1) {
                        shallower = deepest;
                        deepest = s;
                }
        from = state < deepest ? state : shallower;
        if (deepest < 0 || from < 0) /* nothing to lose */
                return 0;
        return MAX(price_find(prices, cpu, table->states[from].name) -
                           price_find(prices, cpu, table->states[deepest].name),
                   0);
}

static double lost_joules(const Ctl *ctl, const Sleeps *sleeps, const Prices *prices,
                          const LedgerCause *cause)
{
        if (!prices)
                return NAN;
        if (cause->value.short_ns == 0)
                return 0;
        return lost_watts(ctl, sleeps, prices, cause->cpu, cause->state) *
               (double)cause->value.short_ns / 1e9;
}

static int compare_groups(const void *a, const void *b)
{
        const Group *first = *(Group *const *)a, *second = *(Group *const *)b;
        const struct cause_value *x = &first->cause.value, *y = &second->cause.value;
        double p = isnan(first->joules) ? -1 : first->joules;
        double q = isnan(second->joules) ? -1 : second->joules;

        if (p != q)
                return p < q ? 1 : -1;
        if (x->short_ns != y->short_ns)
                return x->short_ns < y->short_ns ? 1 : -1;
        return (x->count < y->count) - (x->count > y->count);
}

static GPtrArray *group_causes(const Ctl *ctl, const Sleeps *sleeps, const Prices *prices,
                               const CpuSet *cpus)
{
        g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        GPtrArray *groups = g_ptr_array_new_with_free_func(g_free);

        for (size_t i = 0; i < sleeps->totals.n_causes; i++) {
                const LedgerCause *cause = &sleeps->totals.causes[i];
                g_autofree char *key = g_strdup_printf("%d %d %s|%s|%s", cause->kind, cause->irq,
                                                       cause->function ?: "", cause->name ?: "",
                                                       cause->unit ?: "");
                Group *group;

                if (!cpuset_has(cpus, cause->cpu))
                        continue;
                group = g_hash_table_lookup(known, key);
                if (!group) {
                        group = g_new0(Group, 1);
                        group->cause = *cause;
                        group->cause.value = (struct cause_value){ 0 };
                        group->joules = 0;
                        g_ptr_array_add(groups, group);
                        g_hash_table_insert(known, g_steal_pointer(&key), group);
                }
                group->cause.value.count += cause->value.count;
                group->cause.value.slept_ns += cause->value.slept_ns;
                group->cause.value.short_ns += cause->value.short_ns;
                group->joules += lost_joules(ctl, sleeps, prices, cause);
                cpuset_add(&group->cpus, cause->cpu);
        }
        g_ptr_array_sort(groups, compare_groups);
        return groups;
}

static json_object *describe_cause(const Group *group, double all)
{
        const LedgerCause *cause = &group->cause;
        g_autofree char *text = ledger_cause_text(cause), *cpus = cpuset_format(&group->cpus);
        json_object *object = json_object_new_object();
        double count = (double)cause->value.count;

        json_put_text(object, "cause", text);
        json_put_text(object, "kind", ledger_kind_text(cause->kind));
        json_put_int_from(object, "irq", cause->irq, 0);
        json_put_text(object, "function", cause->function);
        json_put_text(object, "task", cause->kind == CAUSE_IRQ ? NULL : cause->name);
        json_put_text(object, "unit", cause->unit);
        json_put_text(object, "cpus", cpus);
        json_put_int(object, "sleeps", (int64_t)cause->value.count);
        json_put_real(object, "share_percent", all > 0 ? count * 100 / all : NAN, 2);
        put_us(object, "mean_us",
               cause->kind == CAUSE_UNSTORED ? NAN : (double)cause->value.slept_ns / count);
        put_us(object, "residency_lost_us",
               cause->kind == CAUSE_UNSTORED ? NAN : (double)cause->value.short_ns);
        json_put_real(object, "joules_lost_estimate",
                      cause->kind == CAUSE_UNSTORED ? NAN : group->joules, 6);
        return object;
}

static json_object *describe_causes(const Ctl *ctl, const Sleeps *sleeps, const Prices *prices,
                                    const CpuSet *cpus)
{
        g_autoptr(GPtrArray) groups = group_causes(ctl, sleeps, prices, cpus);
        json_object *array = json_object_new_array();
        double all = 0;

        for (unsigned i = 0; i < groups->len; i++)
                all += (double)((const Group *)groups->pdata[i])->cause.value.count;
        for (unsigned i = 0; i < groups->len; i++)
                json_object_array_add(array, describe_cause(groups->pdata[i], all));
        return array;
}

/* The CPUs to show: those asked for that exist and are online. */
static CpuSet chosen_cpus(const Ctl *ctl, int n_cpus)
{
        CpuSet cpus = { 0 };
        g_autofree char *text = NULL;

        if (file_read(ctl->root, "sys/devices/system/cpu/online", &text) < 0 ||
            cpuset_parse(g_strchomp(text), &cpus) < 0)
                cpuset_add_range(&cpus, 0, n_cpus - 1);
        if (!cpuset_is_empty(&asked_cpus))
                cpuset_and(&cpus, &asked_cpus);
        return cpus;
}

static json_object *describe(Ctl *ctl, const Sleeps *sleeps, const Prices *prices,
                             const CpuSet *cpus)
{
        static const char *const sources[] = { "bpf", "idled", "sysfs" };
        json_object *answer = json_object_new_object(), *rows = json_object_new_array();
        bool counted = sleeps->source != SLEEPS_SYSFS;
        g_autofree char *unknown = prices_unknown(prices, sleeps->tables, sleeps->totals.n_cpus);

        json_put_text(answer, "source", sources[sleeps->source]);
        json_put_text(answer, "source_error", sleeps->why);
        json_put_text(answer, "missing", sleeps->missing);
        json_put_real(answer, "seconds", (double)sleeps->totals.duration_ns / 1e9, 3);
        json_put_int_from(answer, "began_before", counted ? (int64_t)sleeps->totals.unpaired : -1,
                          0);
        CPUSET_FOREACH(cpu, cpus)
                if (cpu < sleeps->totals.n_cpus)
                        json_object_array_add(rows, describe_cpu(sleeps, cpu));
        json_put(answer, "cpus", rows);
        json_put_text(answer, "power_table", prices_name(prices));
        json_put_text(answer, "states_without_figure", unknown);
        json_put(answer, "causes", counted ? describe_causes(ctl, sleeps, prices, cpus) : NULL);
        return answer;
}

static int sleeps_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(SleepsReader) reader = NULL;
        g_autoptr(Prices) prices = NULL;
        int n = sleeps_possible_cpus(ctl->root);
        CpuSet cpus = chosen_cpus(ctl, n);
        _fd_ int output = -1;
        int status;

        if (cpuset_is_empty(&cpus))
                return complain("--cpus: none of the CPUs %s is online", asked_text);
        if (prices_new(ctl, &prices) != EXIT_FINE || output_open(ctl, &output) != EXIT_FINE)
                return EXIT_FAILED;
        reader = sleeps_begin(ctl, NULL, 0);
        if (!observe(NULL, sleeps_usec(), ctl->args, 0, NULL, NULL, &status))
                return status;
        output_use(ctl, output);
        *ret_answer = describe(ctl, sleeps_end(reader), prices, &cpus);
        return status;
}

void sleeps_cell(Table *table, json_object *object, const char *key, Style style)
{
        double us = json_number(object, key, NAN);
        g_autofree char *text = us_text(us);

        table_cell(table, isnan(us) ? STYLE_DIM : style, isnan(us) ? "-" : text);
}

static void show_cpus(const Screen *screen, json_object *cpus)
{
        static const struct {
                const char *title, *key;
        } times[] = { { "Mean", "mean_us" }, { "StdDev", "deviation_us" }, { "Max", "max_us" },
                      { "Min", "min_us" },   { "p50", "p50_us" },          { "p90", "p90_us" },
                      { "p99", "p99_us" },   { "Asleep", "asleep_us" } };
        g_autoptr(Table) table = table_new();
        json_object *cpu;

        table_columns(table, ">CPU|>Samples");
        for (size_t i = 0; i < G_N_ELEMENTS(times); i++)
                table_column(table, times[i].title, true);
        JSON_FOREACH(cpu, cpus) {
                table_cellf(table, STYLE_PLAIN, "%d", (int)json_int(cpu, "cpu", -1));
                table_cellf(table, STYLE_PLAIN, "%" PRId64, json_int(cpu, "sleeps", 0));
                for (size_t i = 0; i < G_N_ELEMENTS(times); i++)
                        sleeps_cell(table, cpu, times[i].key, STYLE_PLAIN);
        }
        table_print(table, screen);
}

static void add_joules(Table *table, json_object *cause)
{
        double joules = json_number(cause, "joules_lost_estimate", NAN);

        if (isnan(joules))
                table_cell(table, STYLE_DIM, "-");
        else
                table_cellf(table, STYLE_WARN, joules == 0 ? "0 J" : "~%.3g J", joules);
}

static void show_causes(const Screen *screen, json_object *causes, bool priced)
{
        g_autoptr(Table) table = table_new();
        json_object *cause;
        size_t shown = 0;

        table_columns(table, ">Sleeps|>Share|>Mean|>Lost");
        if (priced)
                table_column(table, "Energy", true);
        table_columns(table, "CPUs|Ended by|Unit");
        JSON_FOREACH(cause, causes) {
                if (shown++ == CAUSES_SHOWN)
                        break;
                table_cellf(table, STYLE_PLAIN, "%" PRId64, json_int(cause, "sleeps", 0));
                table_cellf(table, STYLE_PLAIN, "%.1f%%", json_number(cause, "share_percent", 0));
                sleeps_cell(table, cause, "mean_us", STYLE_PLAIN);
                sleeps_cell(table, cause, "residency_lost_us", STYLE_WARN);
                if (priced)
                        add_joules(table, cause);
                table_text(table, cause, "cpus");
                table_text(table, cause, "cause");
                table_text(table, cause, "unit");
        }
        puts("");
        table_print(table, screen);
        if (json_length(causes) > CAUSES_SHOWN)
                screen_line(screen, STYLE_DIM, "%zu more causes: --json has them",
                            json_length(causes) - CAUSES_SHOWN);
}

static void sleeps_show(const Ctl *ctl, json_object *answer)
{
        const Screen *screen = &ctl->screen;
        const char *error = json_text(answer, "source_error"),
                   *missing = json_text(answer, "missing");

        if (*error) {
                screen_sentencef(screen, STYLE_WARN, "No sleep ledger: %s.", error);
                screen_sentence(screen, STYLE_WARN,
                                "These are the kernel's counters, which have neither spread nor "
                                "causes and omit sleeps that have not ended.");
        }
        if (*missing)
                screen_sentencef(screen, STYLE_DIM, "This kernel does not offer: %s", missing);
        show_cpus(screen, json_get(answer, "cpus"));
        if (!json_length(json_get(answer, "causes")))
                return;
        show_causes(screen, json_get(answer, "causes"), json_get(answer, "power_table"));
        price_show_unknown(screen, json_text(answer, "power_table"),
                           json_text(answer, "states_without_figure"));
}

const Verb verb_sleeps = {
        .name = "sleeps",
        .arguments = "[-- COMMAND...]",
        .summary = "Show how long CPUs sleep, and what ends their sleeps",
        .help = "Measures for 10 s. With a COMMAND, measures while COMMAND runs, prints the "
                "result\n"
                "to standard error, and exits with the status of COMMAND. Ctrl-C ends the\n"
                "measurement and prints the result. Lost is by how much the sleeps were shorter\n"
                "than the target residency of the deepest state that is permitted. Energy is "
                "the\n"
                "cost of that, by a power table. Asleep: a CPU sleeps now, and has for this "
                "long.\n"
                "Needs root or idled; otherwise it shows the kernel's counters.\n"
                "  idlectl sleeps --cpus 2-3 --seconds 60",
        .options = { sleeps_seconds_option, sleeps_options, price_option, output_option },
        .max_args = INT_MAX,
        .ask = sleeps_ask,
        .show = sleeps_show,
        .command = true,
};
