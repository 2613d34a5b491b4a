/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl bill: how long the tasks of each unit wait from being woken until they run, and for what.
 *
 * idled counts with BPF programs. Where it cannot, the kernel's own counters show how long tasks
 * waited on average.
 *
 * With a limit of the wake-up latency, the p99 is estimated by making the delays of CPUs that left
 * a deeper state shorter by the difference of the exit latencies (wakeups_merge_shorter()). What it
 * costs is the difference in power of these states, for as long as CPUs were in them, by a power
 * table.
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

/* What a task has waited so far, by the kernel's counters. */
typedef struct Task {
        const char *unit, *cgroup; /* interned */
        uint64_t wait_ns, slices;
} Task;

static void read_process(int proc, int pid, GHashTable *tasks)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        g_autofree char *cgroup = NULL, *name = NULL;
        char path[64], text[96];
        Task task;
        _dir_ DIR *threads = NULL;
        int tid;

        process_facts_init(facts, pid);
        if (process_facts_read(proc, PROCESS_FACT_CGROUPS, facts) < 0)
                return; /* it is gone */
        cgroup = cgroup_unit_path(*facts->unit_cgroup ? facts->unit_cgroup : "/");
        name = cgroup_unit_name(cgroup);
        task.cgroup = g_intern_string(cgroup);
        task.unit = g_intern_string(name);
        snprintf(path, sizeof(path), "%d/task", pid);
        threads = dir_open(proc, path);
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

/* Adds to `rows` what tasks waited from one reading to the next: sums without bins. */
static void waits_between(GHashTable *before, GHashTable *after, GHashTable *rows)
{
        GHashTableIter iter;
        gpointer tid, value;

        g_hash_table_iter_init(&iter, after);
        while (g_hash_table_iter_next(&iter, &tid, &value)) {
                const Task *task = value, *old = g_hash_table_lookup(before, tid);
                Task none = { 0 };

                if (!old || old->slices > task->slices || old->wait_ns > task->wait_ns)
                        old = &none; /* it is new */
                if (task->slices > old->slices)
                        unit_wakeups_add(rows, task->cgroup, "", WAKEUPS_WAITING,
                                         &(WakeupDelays){ .count = task->slices - old->slices,
                                                          .sum_ns = task->wait_ns - old->wait_ns });
        }
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
        if (power_asked && !asked.limit_us)
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

static bool is_named(const char *arg, const char *unit, const char *cgroup)
{
        size_t length = strlen(arg);

        return g_str_equal(arg, unit) || (*arg == '/' && g_str_has_prefix(cgroup, arg) &&
                                          (arg[length - 1] == '/' || strchr("/", cgroup[length])));
}

static bool is_asked(const Ctl *ctl, const UnitWakeups *row)
{
        bool found = ctl->n_args == 0;

        for (int i = 0; i < ctl->n_args; i++)
                found |= is_named(ctl->args[i], row->unit, row->cgroup);
        return found;
}

/* EXIT_FAILED after a message if an argument is none of the tasks' units. */
static int check_units(const Ctl *ctl, GHashTable *tasks)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new(); /* of units and their cgroups */
        GHashTableIter iter;
        gpointer task;

        g_hash_table_iter_init(&iter, tasks);
        while (g_hash_table_iter_next(&iter, NULL, &task)) {
                g_ptr_array_add(names, (gpointer)((Task *)task)->unit);
                g_ptr_array_add(names, (gpointer)((Task *)task)->cgroup);
        }
        g_ptr_array_add(names, NULL);
        for (char **arg = ctl->args; *arg; arg++) {
                g_autofree char *hint = NULL;
                bool found = false;

                for (unsigned i = 0; names->pdata[i] && !found; i += 2)
                        found = is_named(*arg, names->pdata[i], names->pdata[i + 1]);
                hint = text_suggest(word_nearest(*arg, (const char **)names->pdata));
                if (!found)
                        return complain("%s: no process belongs to it%s; expected the name of a "
                                        "unit, or a cgroup such as /system.slice",
                                        *arg, hint);
        }
        return EXIT_FINE;
}

static const char *const kinds[] = { "waiting", "parked", "other" };

/* A row of WakeupBill(). */
static void take_row(GHashTable *rows, json_object *row)
{
        json_object *part, *bin;

        JSON_FOREACH(part, json_element(row, 3)) {
                WakeupDelays delays = { 0 };
                json_object *bins = json_element(part, 5);
                double kind = json_element_number(part, 1);

                for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
                        if (g_str_equal(json_element_text(part, 0), kinds[i]))
                                kind = (double)(WAKEUPS_WAITING + i);
                delays.count = (uint64_t)json_element_number(part, 2);
                delays.sum_ns = (uint64_t)json_element_number(part, 3);
                delays.max_ns = (uint64_t)json_element_number(part, 4);
                JSON_FOREACH(bin, bins)
                        delays.bins[wakeups_bin((uint64_t)json_element_number(bin, 0))] = (uint32_t)
                                json_element_number(bin, 1);
                if (kind >= 0 && kind < WAKEUPS_KINDS)
                        unit_wakeups_add(rows, json_element_text(row, 1), json_element_text(row, 2),
                                         (enum wakeup_kind)kind, &delays);
        }
}

/* Where the kernel's counters have only the sum of the delays, the rest is null. */
static bool has_bins(const WakeupDelays *delays)
{
        return wakeups_binned(delays) > 0;
}

static void put_delays(json_object *object, const WakeupDelays *delays)
{
        json_put_int_from(object, "wakeups", has_bins(delays) ? (int64_t)delays->count : -1, 0);
        json_put_real(object, "mean_us", (double)delays->sum_ns / 1e3 / (double)delays->count, 1);
        json_put_real(object, "p50_us", wakeups_quantile_us(delays, 0.5), 1);
        json_put_real(object, "p99_us", wakeups_quantile_us(delays, 0.99), 1);
        json_put_real(object, "longest_us", has_bins(delays) ? (double)delays->max_ns / 1e3 : NAN,
                      1);
}

/* The p99 if no CPU had entered a state that takes longer than the limit to leave. */
static double limited_p99_us(const Machine *machine, const UnitWakeups *unit)
{
        const IdleTable *table = machine->names;
        int to = MAX(idle_table_deepest(table, (uint32_t)asked.limit_us), 0);
        WakeupDelays stay, sum = { 0 };
        double least_us;

        unit_wakeups_sum(unit, 0, (unsigned)to, &stay); /* CPUs left states that stay */
        least_us = fmax(wakeups_quantile_us(&stay, 0.5), table->states[to].exit_latency_us);
        for (int kind = 0; kind < WAKEUPS_KINDS; kind++) {
                uint64_t less_us = 0;

                if (kind > to && kind < table->n_states)
                        less_us = table->states[kind].exit_latency_us -
                                  table->states[to].exit_latency_us;
                if (unit->kinds[kind])
                        wakeups_merge_shorter(&sum, unit->kinds[kind], less_us * 1000,
                                              (uint64_t)(least_us * 1000));
        }
        return wakeups_quantile_us(&sum, 0.99);
}

static json_object *describe_split(const Machine *machine, const UnitWakeups *unit, double all_ns)
{
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
        json_put_text(object, "process", unit->process);
        put_delays(object, &all);
        json_put_real(object, "per_second", (double)all.count / seconds, 1);
        json_put_real(object, "limited_p99_us_estimate",
                      asked.limit_us ? limited_p99_us(machine, unit) : NAN, 1);
        json_put(object, "split",
                 has_bins(&all) ? describe_split(machine, unit, (double)all.sum_ns) : NULL);
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

static json_object *describe_units(const Ctl *ctl, const Machine *machine, GHashTable *rows,
                                   double seconds)
{
        json_object *units = json_object_new_array();
        GHashTableIter iter;
        gpointer row;

        g_hash_table_iter_init(&iter, rows);
        while (g_hash_table_iter_next(&iter, NULL, &row))
                if (is_asked(ctl, row))
                        json_object_array_add(units, describe_unit(machine, row, seconds));
        json_object_array_sort(units, compare);
        return units;
}

static int bill_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(GHashTable) tasks = waits_read(ctl->root), after = NULL;
        g_autoptr(GHashTable) rows = unit_wakeups_new();
        g_auto(Machine) machine = { 0 };
        g_autoptr(json_object) bill = NULL;
        g_autofree char *error = NULL;
        json_object *answer, *row;
        double seconds = (double)sleeps_usec() / 1e6;
        int r, status = EXIT_FINE;

        if (check_units(ctl, tasks) != EXIT_FINE || machine_begin(ctl, &machine) != EXIT_FINE)
                return EXIT_FAILED;
        r = client_bill(ctl->client, seconds, asked.by_process, asked.all || geteuid() == 0, &bill,
                        &error);
        if (r == -EREMOTEIO)
                return complain("%s", error);
        if (r < 0) {
                observe("the time that tasks wait", sleeps_usec(), NULL, 0, NULL, NULL, &status);
                after = waits_read(ctl->root);
                waits_between(tasks, after, rows);
        }
        answer = answer_new(ctl);
        json_put_text(answer, "source", r < 0 ? "schedstat" : "idled");
        json_put_text(answer, "source_error", error);
        put_limit(&machine, answer);
        seconds = json_number(bill, "DurationNSec", seconds * 1e9) / 1e9;
        json_put_real(answer, "seconds", seconds, 1);
        json_put_members(answer, bill, "sampled=Sampled lost=Lost unstored=Unstored");
        JSON_FOREACH(row, json_get(bill, "Units"))
                take_row(rows, row);
        json_put(answer, "units", describe_units(ctl, &machine, rows, seconds));
        *ret_answer = answer;
        return status;
}

/* The share of the delays of an idle state, or of a kind. */
static double find_share(json_object *unit, const char *key, const char *name)
{
        json_object *part = json_find(json_get(unit, "split"), key, name);

        return json_number(part, "share_percent", 0);
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
        table_columns(table, !counted  ? ">Runs/s|>Mean"
                             : limited ? ">Wake/s|>p50|>p99|>Longest|>~p99"
                                       : ">Wake/s|>p50|>p99|>Longest");
        for (int i = 0; i < WAKEUPS_STATES; i++) {
                g_autofree char *title = states[i] ? g_strconcat(states[i], "%", NULL) : NULL;

                if (title)
                        table_column(table, title, true);
        }
        if (counted)
                table_columns(table, ">Wait%|>Park%|>Other%");
        table_columns(table, counted && asked.by_process ? "Process|Unit" : "Unit");
}

static void add_row(Table *table, json_object *unit, const char *const *states, bool counted,
                    bool limited)
{
        static const char *const times[] = { "p50_us", "p99_us", "longest_us",
                                             "limited_p99_us_estimate" };
        double parked = find_share(unit, "kind", "parked");

        table_number(table, json_number(unit, "per_second", NAN), 1);
        for (int i = 0; counted && i < (limited ? 4 : 3); i++)
                sleeps_cell(table, unit, times[i], STYLE_PLAIN);
        for (int i = 0; i < WAKEUPS_STATES; i++)
                if (states[i])
                        table_number(table, find_share(unit, "state", states[i]), 1);
        if (counted) {
                table_number(table, find_share(unit, "kind", "waiting") + parked, 1);
                table_number(table, parked, 1);
                table_number(table, find_share(unit, "kind", "other"), 1);
        } else {
                sleeps_cell(table, unit, "mean_us", STYLE_PLAIN);
        }
        if (counted && asked.by_process)
                table_cell(table, STYLE_PLAIN, json_text(unit, "process"));
        table_cell(table, STYLE_PLAIN, json_text(unit, "unit"));
}

static void show_units(const Screen *screen, json_object *units, bool counted, bool limited)
{
        static const char *const dispensable[] = { "Other%", "Longest", NULL };
        g_autoptr(Table) table = table_new();
        const char *states[WAKEUPS_STATES] = { 0 };
        json_object *unit;

        find_states(units, states);
        add_columns(table, states, counted, limited);
        JSON_FOREACH(unit, units)
                if (unit_i < UNITS_SHOWN)
                        add_row(table, unit, states, counted, limited);
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
