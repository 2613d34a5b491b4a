/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl bill: how long the tasks of each unit wait from being woken until they run, and for what.
 *
 * idled counts with BPF programs. Where it cannot, the kernel's own counters show how long tasks
 * waited on average.
 *
 * With a limit of the wake-up latency, the p99 is estimated by making the delays of CPUs that left
 * a deeper state shorter by the difference of the exit latencies. What it costs is the difference
 * in power of these states, for as long as CPUs were in them, by a power table.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/nearest.h"
#include "base/number.h"
#include "cli/client.h"
#include "cli/facts.h"
#include "cli/observe.h"
#include "cli/price.h"
#include "cli/sleeps-read.h"
#include "model/cgroup-unit.h"
#include "model/hold.h"
#include "model/unit-wakeups.h"
#include "sense/process-facts.h"
#include "sense/sensor.h"
#include "sleeps.h"
#include "verbs.h"

typedef struct UnitWaits {
        const char *unit, *cgroup; /* interned */
        uint64_t wait_ns, slices;
} UnitWaits;

/* The unit and the cgroup of a process. False if it is gone. */
static bool read_unit(int proc, int pid, UnitWaits *unit)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        g_autofree char *cgroup = NULL, *name = NULL;

        process_facts_init(facts, pid);
        if (process_facts_read(proc, PROCESS_FACT_CGROUPS, facts) < 0)
                return false;
        cgroup = cgroup_unit_path(*facts->unit_cgroup ? facts->unit_cgroup : "/");
        name = cgroup_unit_name(cgroup);
        unit->cgroup = g_intern_string(cgroup);
        unit->unit = g_intern_string(name);
        return true;
}

static void read_process(int proc, int pid, GHashTable *tasks)
{
        char path[64], text[96];
        UnitWaits task;
        _dir_ DIR *threads = NULL;
        int tid;

        snprintf(path, sizeof(path), "%d/task", pid);
        threads = read_unit(proc, pid, &task) ? dir_open(proc, path) : NULL;
        while (threads && (tid = dir_next_number(threads)) > 0) {
                snprintf(path, sizeof(path), "%d/task/%d/schedstat", pid, tid);
                if (file_read_value(proc, path, text, sizeof(text)) >= 0 &&
                    sscanf(text, "%*u %" SCNu64 " %" SCNu64, &task.wait_ns, &task.slices) == 2)
                        g_hash_table_insert(tasks, GINT_TO_POINTER(tid),
                                            g_memdup2(&task, sizeof(task)));
        }
}

/* The tasks of the machine below `root` now, by their numbers. */
static GHashTable *waits_read(int root)
{
        GHashTable *tasks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        _fd_ int proc = openat(root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        _dir_ DIR *processes = dir_open(proc, ".");
        int pid;

        while (processes && (pid = dir_next_number(processes)) > 0)
                read_process(proc, pid, tasks);
        return tasks;
}

/* Units that tasks belong to, as names and cgroups: interned strings, with repetitions, NULL at the
 * end. */
static const char **waits_units(GHashTable *tasks)
{
        GPtrArray *names = g_ptr_array_new();
        GHashTableIter iter;
        gpointer task;

        g_hash_table_iter_init(&iter, tasks);
        while (g_hash_table_iter_next(&iter, NULL, &task)) {
                g_ptr_array_add(names, (gpointer)((UnitWaits *)task)->unit);
                g_ptr_array_add(names, (gpointer)((UnitWaits *)task)->cgroup);
        }
        g_ptr_array_add(names, NULL);
        return (const char **)g_ptr_array_free(names, FALSE);
}

/* Adds to the row of the task's unit. */
static void add(GArray *units, const UnitWaits *task, uint64_t wait_ns, uint64_t slices)
{
        UnitWaits row = { task->unit, task->cgroup, wait_ns, slices };

        for (unsigned i = 0; i < units->len; i++) {
                UnitWaits *known = &g_array_index(units, UnitWaits, i);

                if (known->cgroup == task->cgroup) {
                        known->wait_ns += wait_ns;
                        known->slices += slices;
                        return;
                }
        }
        g_array_append_val(units, row);
}

/* What the tasks of each unit waited from one reading to the next, as an array of UnitWaits without
 * those that did not run. */
static GArray *waits_between(GHashTable *before, GHashTable *after)
{
        GArray *units = g_array_new(FALSE, FALSE, sizeof(UnitWaits));
        GHashTableIter iter;
        gpointer tid, value;

        g_hash_table_iter_init(&iter, after);
        while (g_hash_table_iter_next(&iter, &tid, &value)) {
                const UnitWaits *task = value, *old = g_hash_table_lookup(before, tid);
                UnitWaits none = { 0 };

                if (!old || old->slices > task->slices || old->wait_ns > task->wait_ns)
                        old = &none; /* it is new */
                if (task->slices > old->slices)
                        add(units, task, task->wait_ns - old->wait_ns, task->slices - old->slices);
        }
        return units;
}

#define SECONDS_MOST 600 /* of WakeupBill() */
#define UNITS_SHOWN  40

static struct {
        bool by_process, all;
        uint64_t limit_us; /* 0: none */
} asked;

/* The machine's part in the bill. */
typedef struct Machine {
        int n_cpus;
        IdleTable *tables;      /* by CPU */
        const IdleTable *names; /* of the CPU with the most states */
        Watch *watch;           /* NULL: not needed, or the CPUs cannot be read */
        Prices *prices;         /* NULL: no power table */
} Machine;

static int take_by(Ctl *ctl, const VerbOption *row, const char *text)
{
        asked.by_process = g_str_equal(text, "process");
        return asked.by_process
                       ? EXIT_FINE
                       : complain_usage(NULL, "--by: found \"%s\", expected process", text);
}

static const VerbOption bill_options[] = {
        { "by", "WHAT", "process: a row for each executable of a unit", .take = take_by },
        { "all", NULL, "units of all users (root: always)", .flag = &asked.all },
        { "limit", "TIME", "estimate this limit of the latency, such as 50us",
          .number = &asked.limit_us, .least = 1, .most = HOLD_LATENCY_MAX_US,
          .expected = "a duration from 1us to 1s, such as 50us" },
        { 0 },
};

static int bill_check(const Ctl *ctl, const Verb *verb)
{
        if (sleeps_usec() > SECONDS_MOST * G_USEC_PER_SEC)
                return complain_usage(verb, "--seconds: expected at most %d", SECONDS_MOST);
        if (ctl->power_table && !asked.limit_us)
                return complain_usage(verb, "bill: --power is for --limit");
        return EXIT_FINE;
}

static void machine_done(Machine *machine)
{
        g_free(machine->tables);
        g_clear_pointer(&machine->watch, watch_free);
        g_clear_pointer(&machine->prices, prices_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Machine, machine_done)

/* EXIT_FAILED after a message. */
static int machine_begin(const Ctl *ctl, Machine *machine)
{
        machine->n_cpus = sleeps_possible_cpus(ctl->root);
        machine->tables = idle_tables_read(ctl->root, machine->n_cpus);
        machine->names = machine->tables;
        for (int cpu = 1; cpu < machine->n_cpus; cpu++)
                if (machine->tables[cpu].n_states > machine->names->n_states)
                        machine->names = &machine->tables[cpu];
        if (!asked.limit_us)
                return EXIT_FINE;
        if (watch_new(ctl->root, &machine->watch) >= 0)
                watch_begin(machine->watch, SENSE_RESIDENCY, false);
        return prices_new(ctl, &machine->prices);
}

/* The watts that a CPU would have drawn more in `limit_us`; NaN: not known. */
static double cpu_cost(const Machine *machine, int cpu)
{
        const IdleTable *table = &machine->tables[cpu];
        const Snapshot *seen = machine->watch->seen;
        const Residency *row = seen->residency ? &seen->residency[cpu] : NULL;
        int to = idle_table_deepest(table, (uint32_t)asked.limit_us);
        double watts = 0;

        if (!row || row->n_states != table->n_states || to < 0)
                return NAN;
        for (int s = to + 1; s < table->n_states; s++) {
                double more = price_find(machine->prices, cpu, table->states[to].name) -
                              price_find(machine->prices, cpu, table->states[s].name);

                if (row->share[s] > 0 && !(more < 0))
                        watts += (double)row->share[s] * more;
        }
        return watts;
}

/* The same of all CPUs since machine_begin(). */
static double limit_cost(const Machine *machine)
{
        double watts = 0;

        if (!machine->prices || !machine->watch ||
            watch_sample(machine->watch, SENSE_RESIDENCY, false) < 0)
                return NAN;
        CPUSET_FOREACH(cpu, &machine->watch->seen->cpus)
                if (cpu < machine->n_cpus)
                        watts += cpu_cost(machine, cpu);
        return watts;
}

static void put_limit(const Machine *machine, json_object *answer)
{
        g_autofree char *unknown = prices_unknown(machine->prices, machine->tables,
                                                  machine->n_cpus);

        json_put_int_from(answer, "limit_us", (int64_t)asked.limit_us, 1);
        json_put_real(answer, "limit_watts_estimate", limit_cost(machine), 2);
        json_put_text(answer, "power_table", prices_name(machine->prices));
        json_put_text(answer, "states_without_figure", unknown);
}

static bool is_asked(const Ctl *ctl, const char *unit, const char *cgroup)
{
        for (int i = 0; i < ctl->n_args; i++) {
                size_t length = strlen(ctl->args[i]);

                if (g_str_equal(ctl->args[i], unit))
                        return true;
                if (*ctl->args[i] == '/' && g_str_has_prefix(cgroup, ctl->args[i]) &&
                    (ctl->args[i][length - 1] == '/' || strchr("/", cgroup[length])))
                        return true;
        }
        return ctl->n_args == 0;
}

/* EXIT_FAILED after a message if an argument is none of the units (names and cgroups). */
static int check_units(const Ctl *ctl, const char **units)
{
        for (char **arg = ctl->args; *arg; arg++) {
                Ctl one = { .args = arg, .n_args = 1 };
                g_autofree char *hint = NULL;
                bool found = false;

                for (const char **unit = units; *unit && !found; unit += 2)
                        found = is_asked(&one, unit[0], unit[1]);
                hint = text_suggest(word_nearest(*arg, units));
                if (!found)
                        return complain("%s: no process belongs to it%s; expected the name of a "
                                        "unit, or a cgroup such as /system.slice",
                                        *arg, hint);
        }
        return EXIT_FINE;
}

/* A row of WakeupBill(). */
static UnitWakeups *take_row(json_object *row)
{
        static const char *const kinds[] = { "waiting", "parked", "other", NULL };
        UnitWakeups *unit = g_new0(UnitWakeups, 1);
        json_object *part, *bin;

        unit->unit = g_strdup(json_element_text(row, 0));
        unit->cgroup = g_strdup(json_element_text(row, 1));
        unit->process = g_strdup(json_element_text(row, 2));
        JSON_FOREACH(part, json_element(row, 3)) {
                WakeupDelays delays = { 0 };
                json_object *bins = json_element(part, 5);
                double kind = json_element_number(part, 1);

                for (int i = 0; kinds[i]; i++)
                        if (g_str_equal(json_element_text(part, 0), kinds[i]))
                                kind = WAKEUPS_WAITING + i;
                delays.count = (uint64_t)json_element_number(part, 2);
                delays.sum_ns = (uint64_t)json_element_number(part, 3);
                delays.max_ns = (uint64_t)json_element_number(part, 4);
                JSON_FOREACH(bin, bins)
                        delays.bins[wakeups_bin((uint64_t)json_element_number(bin, 0))] = (uint32_t)
                                json_element_number(bin, 1);
                if (kind >= 0 && kind < WAKEUPS_KINDS)
                        unit_wakeups_add(unit, (enum wakeup_kind)kind, &delays);
        }
        return unit;
}

static void put_delays(json_object *object, const WakeupDelays *delays)
{
        json_put_int(object, "wakeups", (int64_t)delays->count);
        json_put_real(object, "mean_us", (double)delays->sum_ns / 1e3 / (double)delays->count, 1);
        json_put_real(object, "p50_us", wakeups_quantile_us(delays, 0.5), 1);
        json_put_real(object, "p99_us", wakeups_quantile_us(delays, 0.99), 1);
        json_put_real(object, "longest_us", (double)delays->max_ns / 1e3, 1);
}

/* The p99 if no CPU had entered a state that takes longer than the limit to leave. */
static double limited_p99_us(const Machine *machine, const UnitWakeups *unit)
{
        const IdleTable *table = machine->names;
        int to = idle_table_deepest(table, (uint32_t)asked.limit_us);
        WakeupDelays sum = { 0 };

        for (int kind = 0; kind < WAKEUPS_KINDS; kind++) {
                uint64_t less_us = 0;

                if (to >= 0 && kind > to && kind < table->n_states)
                        less_us = table->states[kind].exit_latency_us -
                                  table->states[to].exit_latency_us;
                if (unit->kinds[kind])
                        wakeups_merge_shorter(&sum, unit->kinds[kind], less_us * 1000);
        }
        return wakeups_quantile_us(&sum, 0.99);
}

static json_object *describe_split(const Machine *machine, const UnitWakeups *unit, double all_ns)
{
        static const char *const kinds[] = { "waiting", "parked", "other" };
        json_object *split = json_object_new_array();

        for (int kind = 0; kind < WAKEUPS_KINDS; kind++) {
                const WakeupDelays *delays = unit->kinds[kind];
                bool idle = kind < WAKEUPS_STATES;
                g_autofree char *number = g_strdup_printf("state%d", kind);
                json_object *row;

                if (!delays)
                        continue;
                row = json_add(split);
                json_put_text(row, "kind", idle ? "idle" : kinds[kind - WAKEUPS_WAITING]);
                json_put_text(row, "state",
                              !idle                             ? NULL
                              : kind < machine->names->n_states ? machine->names->states[kind].name
                                                                : number);
                json_put_int_from(row, "state_index", idle ? kind : -1, 0);
                put_delays(row, delays);
                json_put_real(row, "share_percent",
                              all_ns > 0 ? (double)delays->sum_ns * 100 / all_ns : NAN, 1);
        }
        return split;
}

static json_object *describe_unit(const Machine *machine, const UnitWakeups *unit, double seconds)
{
        json_object *object = json_object_new_object();
        WakeupDelays all;

        unit_wakeups_sum(unit, 0, WAKEUPS_KINDS - 1, &all);
        json_put_text(object, "unit", unit->unit);
        json_put_text(object, "cgroup", unit->cgroup);
        json_put_text_any(object, "process", unit->process);
        put_delays(object, &all);
        json_put_real(object, "per_second", (double)all.count / seconds, 1);
        json_put_real(object, "limited_p99_us_estimate",
                      asked.limit_us ? limited_p99_us(machine, unit) : NAN, 1);
        json_put(object, "split", describe_split(machine, unit, (double)all.sum_ns));
        return object;
}

/* Those first that waited longest in sum. */
static int compare(const void *a, const void *b)
{
        double sums[2];

        for (int i = 0; i < 2; i++) {
                json_object *unit = *(json_object *const *)(i ? b : a);

                sums[i] = json_number(unit, "per_second", 0) * json_number(unit, "mean_us", 0);
        }
        return (sums[0] < sums[1]) - (sums[0] > sums[1]);
}

static void describe_bill(const Ctl *ctl, const Machine *machine, json_object *bill,
                          json_object *answer)
{
        json_object *rows = json_get(bill, "Units"), *units = json_object_new_array(), *row;
        double seconds = json_number(bill, "DurationNSec", NAN) / 1e9;

        json_put_real(answer, "seconds", seconds, 1);
        json_put_members(answer, bill, "sampled=Sampled lost=Lost unstored=Unstored");
        JSON_FOREACH(row, rows) {
                g_autoptr(UnitWakeups) unit = take_row(row);

                if (is_asked(ctl, unit->unit, unit->cgroup))
                        json_object_array_add(units, describe_unit(machine, unit, seconds));
        }
        json_object_array_sort(units, compare);
        json_put(answer, "units", units);
}

/* Without idled's programs: means of the kernel's counters, the rest is null. */
static void describe_waits(const Ctl *ctl, GHashTable *before, double seconds, json_object *answer)
{
        g_autoptr(GHashTable) after = waits_read(ctl->root);
        g_autoptr(GArray) waits = waits_between(before, after);
        json_object *units = json_object_new_array();

        json_put_real(answer, "seconds", seconds, 1);
        json_put_members(answer, NULL, "sampled lost unstored");
        for (unsigned i = 0; i < waits->len; i++) {
                const UnitWaits *wait = &g_array_index(waits, UnitWaits, i);
                json_object *object;

                if (!is_asked(ctl, wait->unit, wait->cgroup))
                        continue;
                object = json_add(units);
                json_put_text(object, "unit", wait->unit);
                json_put_text(object, "cgroup", wait->cgroup);
                json_put_real(object, "mean_us", (double)wait->wait_ns / 1e3 / (double)wait->slices,
                              1);
                json_put_real(object, "per_second", (double)wait->slices / seconds, 1);
                json_put_members(object, NULL,
                                 "process wakeups p50_us p99_us longest_us split "
                                 "limited_p99_us_estimate");
        }
        json_object_array_sort(units, compare);
        json_put(answer, "units", units);
}

static int bill_ask(Ctl *ctl, json_object **ret_answer)
{
        BillRequest request = { .seconds = (double)sleeps_usec() / 1e6,
                                .by_process = asked.by_process,
                                .all = asked.all || geteuid() == 0 };
        g_autoptr(GHashTable) tasks = waits_read(ctl->root);
        g_autofree const char **units = waits_units(tasks);
        g_auto(Machine) machine = { 0 };
        g_autoptr(json_object) bill = NULL;
        g_autofree char *error = NULL;
        json_object *answer;
        int r, status = EXIT_FINE;

        if (check_units(ctl, units) != EXIT_FINE || machine_begin(ctl, &machine) != EXIT_FINE)
                return EXIT_FAILED;
        r = client_bill(ctl->client, &request, &bill, &error);
        if (r == -EREMOTEIO)
                return complain("%s", error);
        if (r < 0)
                observe("the time that tasks wait", sleeps_usec(), NULL, 0, NULL, NULL, &status);
        answer = answer_new(ctl);
        json_put_text(answer, "source", r < 0 ? "schedstat" : "idled");
        json_put_text(answer, "source_error", error);
        put_limit(&machine, answer);
        if (r < 0)
                describe_waits(ctl, tasks, request.seconds, answer);
        else
                describe_bill(ctl, &machine, bill, answer);
        *ret_answer = answer;
        return status;
}

static const struct {
        const char *title, *key;
        bool counted; /* idled counts it, else the kernel does */
} times[] = { { "p50", "p50_us", true },
              { "p99", "p99_us", true },
              { "Longest", "longest_us", true },
              { "~p99", "limited_p99_us_estimate", true },
              { "Mean", "mean_us", false } };

static const struct {
        const char *title, *kind, *more;
} shares[] = { { "Wait%", "waiting", "parked" },
               { "Park%", "parked", NULL },
               { "Other%", "other", NULL } };

/* The share of the delays that a column has: of an idle state, or of a kind; with `more` also of
 * that one. */
static double find_share(json_object *unit, const char *key, const char *name, const char *more)
{
        json_object *part, *split = json_get(unit, "split");
        double share = 0;

        JSON_FOREACH(part, split) {
                const char *text = json_text(part, key);

                if (g_str_equal(text, name) || (more && g_str_equal(text, more)))
                        share += json_number(part, "share_percent", 0);
        }
        return share;
}

/* The names of the idle states that were left, by their indexes; NULL: not left. */
static void find_states(json_object *units, const char *states[WAKEUPS_STATES])
{
        json_object *unit, *part;

        JSON_FOREACH(unit, units) {
                json_object *split = json_get(unit, "split");

                JSON_FOREACH(part, split) {
                        int64_t state = json_int(part, "state_index", -1);

                        if (state >= 0 && state < WAKEUPS_STATES)
                                states[state] = json_text(part, "state");
                }
        }
}

static void add_columns(Table *table, const char *const *states, bool counted, bool limited)
{
        table_column(table, counted ? "Wake/s" : "Runs/s", true);
        for (size_t i = 0; i < G_N_ELEMENTS(times); i++)
                if (times[i].counted == counted && (limited || times[i].title[0] != '~'))
                        table_column(table, times[i].title, true);
        for (int i = 0; i < WAKEUPS_STATES; i++) {
                g_autofree char *title = g_strconcat(states[i] ? states[i] : "", "%", NULL);

                if (states[i])
                        table_column(table, title, true);
        }
        for (size_t i = 0; counted && i < G_N_ELEMENTS(shares); i++)
                table_column(table, shares[i].title, true);
        if (counted && asked.by_process)
                table_column(table, "Process", false);
        table_column(table, "Unit", false);
}

static void show_units(const Screen *screen, json_object *units, bool counted, bool limited)
{
        static const char *const dispensable[] = { "Other%", "Longest", NULL };
        g_autoptr(Table) table = table_new();
        const char *states[WAKEUPS_STATES] = { 0 };
        json_object *unit;

        find_states(units, states);
        add_columns(table, states, counted, limited);
        JSON_FOREACH(unit, units) {
                if (unit_i == UNITS_SHOWN)
                        break;
                table_number(table, json_number(unit, "per_second", NAN), 1);
                for (size_t i = 0; i < G_N_ELEMENTS(times); i++)
                        if (times[i].counted == counted && (limited || times[i].title[0] != '~'))
                                sleeps_cell(table, unit, times[i].key, STYLE_PLAIN);
                for (int i = 0; i < WAKEUPS_STATES; i++)
                        if (states[i])
                                table_number(table, find_share(unit, "state", states[i], NULL), 1);
                for (size_t i = 0; counted && i < G_N_ELEMENTS(shares); i++)
                        table_number(table,
                                     find_share(unit, "kind", shares[i].kind, shares[i].more), 1);
                if (counted && asked.by_process)
                        table_cell(table, STYLE_PLAIN, json_text(unit, "process"));
                table_cell(table, STYLE_PLAIN, json_text(unit, "unit"));
        }
        table_fit(table, screen, dispensable);
        table_print(table, screen);
}

static void show_limit(const Screen *screen, int root, json_object *answer)
{
        double watts = json_number(answer, "limit_watts_estimate", NAN);
        g_autofree char *limit = duration_format((uint64_t)json_int(answer, "limit_us", 0));

        if (!isnan(watts))
                screen_sentencef(screen, STYLE_PLAIN,
                                 "With a limit of %s the p99 would be that in column ~p99, and the "
                                 "CPUs would draw ~%.2f W more (estimates).",
                                 limit, watts);
        else if (!*json_text(answer, "power_table"))
                price_show_missing(screen, "To show what the limit costs", price_can_fit(root));
        price_show_unknown(screen, json_text(answer, "power_table"),
                           json_text(answer, "states_without_figure"));
}

/* What the numbers do not contain. */
static void show_gaps(const Screen *screen, json_object *answer)
{
        int64_t sampled = json_int(answer, "sampled", 0);
        int64_t lost = json_int(answer, "lost", 0) + json_int(answer, "unstored", 0);

        if (sampled)
                screen_line(screen, STYLE_DIM,
                            "Delays of %" PRId64 " wake-ups are estimated from "
                            "a sample; all are counted.",
                            sampled);
        if (lost)
                screen_line(screen, STYLE_WARN, "%" PRId64 " wake-ups are missing.", lost);
}

static void bill_show(const Ctl *ctl, json_object *answer)
{
        const Screen *screen = &ctl->screen;
        json_object *units = json_get(answer, "units");
        bool counted = g_str_equal(json_text(answer, "source"), "idled");

        if (!counted)
                screen_sentencef(screen, STYLE_WARN,
                                 "No bill of wake-ups: %s. This is the mean time that tasks waited "
                                 "before each run, by the kernel's counters.",
                                 json_text(answer, "source_error"));
        if (!json_length(units) && counted && geteuid() != 0 && !asked.all)
                screen_sentence(screen, STYLE_PLAIN,
                                "There were no wake-ups in your own units. --all shows all units.");
        else if (!json_length(units))
                screen_line(screen, STYLE_PLAIN, "There were no wake-ups.");
        else
                show_units(screen, units, counted, json_get(answer, "limit_us"));
        if (json_length(units) > UNITS_SHOWN)
                screen_line(screen, STYLE_DIM, "%zu more: --json has them",
                            json_length(units) - UNITS_SHOWN);
        show_gaps(screen, answer);
        if (counted && json_get(answer, "limit_us"))
                show_limit(screen, ctl->root, answer);
}

const Verb verb_bill = {
        .name = "bill",
        .arguments = "[UNIT...]",
        .summary = "Show how long woken tasks wait until they run",
        .help = "Counts wake-ups for 10 s. UNIT is the name of a unit, or the beginning of a "
                "cgroup "
                "such\n"
                "as /system.slice. p50 and p99 are percentiles of the delay from waking to "
                "running. The\n"
                "columns behind are what the time was spent on, in percent: leaving an idle state; "
                "Wait:\n"
                "the CPU ran another task; Park: of that, while a parked CPU could have run it; "
                "Other.\n"
                "Without idled or BPF it shows the mean wait by the kernel's counters.\n"
                "  idlectl bill --by process nginx.service\n"
                "  idlectl bill --limit 50us",
        .options = { sleeps_seconds_option, bill_options, price_option },
        .max_args = INT_MAX,
        .ask = bill_ask,
        .show = bill_show,
        .check = bill_check,
};
