/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab latency: how late a sleeping task runs, under one setting of the machine or many, and
 * what the machine draws meanwhile.
 *
 * Each run is one setting and one interval: threads start, the main thread waits, threads end. Only
 * the main thread takes signals: one ends the run, the setting is restored, and what was measured
 * until then is the answer.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpuset-text.h"
#include "base/number.h"
#include "cyclic.h"
#include "cli/command.h"
#include "cli/observe.h"
#include "cli/price.h"
#include "sweep.h"
#include "cli/watch.h"
#include "page/page.h"
#include "verbs.h"

#define FOR_USEC          (5 * 1000 * 1000ull)
#define FOR_MIN_USEC      (100 * 1000ull)
#define INTERVAL_MIN_USEC 10
#define INTERVAL_MAX_USEC (1000 * 1000)
#define INTERVALS_MAX     8
#define PRIORITY          80

/* Energy counters wrap: no longer than this between two readings, unless they say sooner. */
#define CHUNK_USEC (30 * 1000 * 1000ull)

/* From this share of wake-ups that were left out, the others' latencies say little. */
#define OVERRUNS_MOST 0.01

/* The latencies that so large a share of the samples does not exceed, as answers name them. */
static const struct {
        const char *key;
        double share;
} quantiles[] = {
        { "p50_us", 0.5 },     { "p90_us", 0.9 }, { "p99_us", 0.99 },
        { "p99_9_us", 0.999 }, { "max_us", 1 },
};

static struct {
        uint64_t intervals_usec[INTERVALS_MAX];
        int n_intervals;
        uint64_t for_usec;
        int policy;        /* -1: not given */
        uint64_t priority; /* 0: not given */
        CpuSet cpus;
        bool csv;
        const char *plot;
        GPtrArray *sweep; /* of char *; NULL: none */
} asked = {
        .intervals_usec = { 1000, 100, 10 }, .n_intervals = 3, .for_usec = FOR_USEC, .policy = -1
};

static int take_interval(Ctl *ctl, const VerbOption *row, const char *text)
{
        g_auto(GStrv) words = g_strsplit(text, ",", -1);

        asked.n_intervals = 0;
        for (char **word = words; *word; word++) {
                uint64_t usec;

                if (duration_parse(*word, &usec) < 0 || usec < INTERVAL_MIN_USEC ||
                    usec > INTERVAL_MAX_USEC || asked.n_intervals == INTERVALS_MAX)
                        return complain_usage(NULL,
                                              "--interval: found \"%s\", expected up to %d "
                                              "durations from 10us to 1s, such as 1ms,100us",
                                              text, INTERVALS_MAX);
                asked.intervals_usec[asked.n_intervals++] = usec;
        }
        return EXIT_FINE;
}

static const char *const policies[] = {
        [SCHED_OTHER] = "other", [SCHED_FIFO] = "fifo", [SCHED_RR] = "rr", NULL
};

static int take_sweep(Ctl *ctl, const VerbOption *row, const char *text)
{
        if (!asked.sweep)
                asked.sweep = g_ptr_array_new_with_free_func(g_free);
        return sweep_parse("--sweep", text, asked.sweep);
}

static const VerbOption latency_options[] = {
        { "interval", "TIME", "from wake-up to wake-up; several: 1ms,100us,10us",
          .take = take_interval },
        { "for", "TIME", "how long each setting is measured (5s)", .number = &asked.for_usec,
          .least = FOR_MIN_USEC, .expected = "a duration of at least 100ms, such as 10s" },
        { "policy", "NAME", "of scheduling: fifo (if permitted), rr, other",
          .choice = &asked.policy, .choices = policies, .expected = "fifo, rr or other" },
        { "priority", "NUMBER", "of fifo and rr (80)", .number = &asked.priority, .least = 1,
          .most = 99, .expected = "a number from 1 to 99" },
        { "cpus", "LIST", "CPUs to measure (all)", .cpus = &asked.cpus },
        { "sweep", "WHAT", "under several settings; may be repeated", .take = take_sweep },
        { "power", "NAME", "the power table where there is no RAPL", .text = &power_asked },
        { "csv", NULL, "print comma-separated values", .flag = &asked.csv },
        { "plot", "FILE", "write a page with plots, FILE.html", .text = &asked.plot },
        { 0 },
};

static int latency_check(const Ctl *ctl, const Verb *verb)
{
        if (asked.plot && !g_str_has_suffix(asked.plot, ".html"))
                return complain_usage(verb,
                                      "--plot: found \"%s\", expected a name that ends in .html",
                                      asked.plot);
        if (asked.csv && ctl->json)
                return complain_usage(verb, "--csv and --json: expected one of them");
        for (int i = 0; i < asked.n_intervals; i++) {
                uint64_t least = asked.intervals_usec[i] * (CYCLIC_WARM_UPS + 1);
                g_autofree char *interval = duration_format(asked.intervals_usec[i]);
                g_autofree char *text = duration_format(least);

                if (asked.for_usec < least)
                        return complain_usage(verb,
                                              "--for: expected at least %s with --interval %s: the "
                                              "first %d wake-ups do not count",
                                              text, interval, CYCLIC_WARM_UPS);
        }
        if (asked.policy == SCHED_OTHER && asked.priority)
                return complain_usage(verb, "--priority: expected --policy fifo or rr with it");
        return EXIT_FINE;
}

/* All of one measurement. */
typedef struct Session {
        Ctl *ctl;
        Watch *watch;
        PowerTable *table; /* NULL: none */
        bool seen;         /* the CPUs could be read at the end of the last run */
        CyclicOptions options;
        CpuSet cpus;
        int signals;     /* descriptor */
        int interrupted; /* by which signal */
        int status;      /* the exit status */
} Session;

/* Waits while the threads run. Returns the watts of all packages, NaN if they were not measured;
 * residencies are those of the last sample then. */
static double follow(Session *session)
{
        Watch *watch = session->watch;
        uint64_t left = asked.for_usec;
        uint64_t most = MIN(CHUNK_USEC, sensors_energy_deadline(watch->sensors));
        double joules = 0, usec = 0;

        watch_begin(watch, SENSE_RESIDENCY, true);
        while (left > 0 && !session->interrupted) {
                uint64_t before = watch->energy_usec, chunk = MIN(left, most);
                double watts = 0;

                session->interrupted = signals_wait(session->signals,
                                                    clock_usec(CLOCK_MONOTONIC) + chunk);
                watch_energy(watch);
                for (int p = 0; p < watch->topology->n_packages; p++)
                        watts += watch->package_watts[p];
                if (watch->energy_usec != before && isfinite(watts)) {
                        joules += watts * (double)chunk;
                        usec += (double)chunk;
                }
                left -= chunk;
        }
        session->seen = watch_sample(watch, SENSE_RESIDENCY, false) == 0;
        return usec > 0 ? joules / usec : NAN;
}

static json_object *describe_power(const Session *session, double watts)
{
        json_object *object = json_object_new_object(), *states = json_object_new_array();
        const Watch *watch = session->watch;
        bool rapl = isfinite(watts), estimate = !rapl && session->table && session->seen;
        double shares[WATCH_STATES_MAX + 1];

        if (estimate)
                watts = estimate_watts(session->table, watch);
        json_put_real(object, "watts", watts, 2);
        json_put_text(object, "source", rapl ? "RAPL" : estimate ? "estimate" : NULL);
        json_put_text(object, "table", estimate ? session->table->name : NULL);
        watch_shares(watch, &session->cpus, shares, NULL);
        for (int i = 0; i <= watch->n_states && session->seen; i++) {
                json_object *state = json_add(states);

                json_put_text(state, "state", i ? watch->states[i - 1] : "C0");
                json_put_real(state, "percent", shares[i] * 100, 2);
        }
        json_put(object, "residency", states);
        return object;
}

static json_object *describe_latency(const Histogram *histogram, uint64_t overruns)
{
        json_object *object = json_object_new_object();

        json_put_int(object, "samples", (int64_t)histogram->count);
        json_put_real(object, "min_us", histogram_min(histogram), 2);
        json_put_real(object, "mean_us", histogram_mean(histogram), 2);
        for (size_t i = 0; i < G_N_ELEMENTS(quantiles); i++)
                json_put_real(object, quantiles[i].key,
                              histogram_quantile(histogram, quantiles[i].share), 2);
        json_put_int(object, "overruns", (int64_t)overruns);
        return object;
}

/* Pairs of lower edge in microseconds and count, those with a count. */
static json_object *describe_buckets(const Histogram *histogram)
{
        json_object *array = json_object_new_array();

        for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
                json_object *pair;

                if (!histogram->buckets[i])
                        continue;
                pair = json_object_new_array();
                json_object_array_add(pair, json_real(i * HISTOGRAM_BUCKET_NSEC / 1000.0, 1));
                json_object_array_add(pair, json_object_new_int64(histogram->buckets[i]));
                json_object_array_add(array, pair);
        }
        return array;
}

static json_object *describe_run(const Session *session, uint64_t interval_usec,
                                 const GArray *results, double watts)
{
        json_object *run = json_object_new_object(), *cpus = json_object_new_array();
        g_autoptr(Histogram) all = histogram_new(), corrected = NULL;
        uint64_t overruns = 0, due;

        json_put_int(run, "interval_usec", (int64_t)interval_usec);
        for (guint i = 0; i < results->len; i++) {
                const CyclicCpu *result = &g_array_index(results, CyclicCpu, i);
                json_object *cpu = describe_latency(result->histogram, result->overruns);

                json_put_int(cpu, "cpu", result->cpu);
                json_put_text(cpu, "problem", result->error ? g_strerror(-result->error) : NULL);
                json_object_array_add(cpus, cpu);
                histogram_merge(all, result->histogram);
                overruns += result->overruns;
        }
        json_put(run, "all", describe_latency(all, overruns));
        corrected = histogram_correct(all, interval_usec * 1000);
        due = all->count + overruns;
        json_put(run, "all_due", describe_latency(corrected, due - MIN(due, corrected->count)));
        json_put(run, "cpus", cpus);
        json_put(run, "power", describe_power(session, watts));
        json_put_int(run, "bucket_nsec", HISTOGRAM_BUCKET_NSEC);
        json_put(run, "histogram", describe_buckets(all));
        json_put_int(run, "above_histogram", (int64_t)all->above);
        return run;
}

static json_object *measure(Session *session, uint64_t interval_usec)
{
        g_autoptr(GArray) results = NULL;
        Cyclic *cyclic;
        double watts;

        session->options.interval_nsec = interval_usec * 1000;
        session->options.for_nsec = asked.for_usec * 1000;
        cyclic = cyclic_start(&session->cpus, &session->options);
        watts = follow(session);
        results = session->interrupted ? cyclic_stop(cyclic) : cyclic_finish(cyclic);
        return describe_run(session, interval_usec, results, watts);
}

/* One setting: its object. */
static json_object *measure_point(Session *session, Sweep *sweep, const SweepPoint *point)
{
        json_object *object = json_object_new_object(), *runs = json_object_new_array();
        g_autofree char *error = NULL;

        json_put_text(object, "setting", point->label);
        if (sweep_enter(sweep, point, &error) < 0)
                session->status = complain("%s: %s", point->label, error);
        json_put_text(object, "problem", error);
        for (int i = 0; i < asked.n_intervals && !error && !session->interrupted; i++)
                json_object_array_add(runs, measure(session, asked.intervals_usec[i]));
        if (sweep_leave(sweep) < 0)
                session->status = EXIT_FAILED;
        json_put(object, "runs", runs);
        return object;
}

/* True if threads may have the policy. */
static bool policy_works(int policy, int priority)
{
        const struct sched_param usual = { 0 }, param = { .sched_priority = priority };
        bool works = sched_setscheduler(0, policy, &param) == 0;

        if (works)
                sched_setscheduler(0, SCHED_OTHER, &usual);
        return works;
}

/* What was not asked for. EXIT_FAILED after a message. */
static int choose(Session *session)
{
        int policy = asked.policy >= 0 ? asked.policy : SCHED_FIFO;
        int priority = asked.priority ? (int)asked.priority : PRIORITY;
        CpuSet absent = asked.cpus;

        if (asked.policy < 0 && !asked.priority && !policy_works(policy, priority))
                policy = SCHED_OTHER;
        session->options = (CyclicOptions){ 0, policy, policy == SCHED_OTHER ? 0 : priority };
        if (policy != SCHED_OTHER && !policy_works(policy, priority))
                return complain("--policy %s --priority %d: %s; --policy other needs no permission",
                                policies[policy], priority, g_strerror(errno));
        session->cpus = cpuset_is_empty(&asked.cpus) ? session->watch->topology->online
                                                     : asked.cpus;
        cpuset_subtract(&absent, &session->watch->topology->online);
        if (!cpuset_is_empty(&absent)) {
                g_autofree char *text = cpuset_format(&absent);

                return complain("--cpus: %s: not online", text);
        }
        return EXIT_FINE;
}

static json_object *run_sweep(Session *session, Sweep *sweep)
{
        const GPtrArray *points = sweep_points(sweep);
        json_object *answer = json_object_new_object(), *settings = json_object_new_array();
        g_autofree char *cpus = cpuset_format(&session->cpus);

        json_put_text(answer, "policy", policies[session->options.policy]);
        json_put_int(answer, "priority", session->options.priority);
        json_put_text(answer, "cpus", cpus);
        json_put_text(answer, "root", session->ctl->root_path);
        json_put_int(answer, "duration_usec", (int64_t)asked.for_usec);
        for (guint i = 0; i < points->len && !session->interrupted; i++) {
                if (points->len > 1 && isatty(STDERR_FILENO))
                        fprintf(stderr, "%s (%u of %u)\n", ((SweepPoint *)points->pdata[i])->label,
                                i + 1, points->len);
                json_object_array_add(settings, measure_point(session, sweep, points->pdata[i]));
        }
        json_put_text(answer, "energy_problem",
                      session->watch->energy_error < 0 ? watch_energy_problem(session->watch)
                                                       : NULL);
        json_put_bool(answer, "interrupted", session->interrupted != 0);
        json_put(answer, "settings", settings);
        if (session->interrupted)
                session->status = EXIT_BY_SIGNAL + session->interrupted;
        return answer;
}

/* Before anything is measured: that the file can be written. EXIT_FAILED after a message. */
static int check_plot(const char *path)
{
        g_autofree char *directory = g_path_get_dirname(path);
        bool there = g_file_test(path, G_FILE_TEST_EXISTS);

        if (there && g_file_test(path, G_FILE_TEST_IS_DIR))
                return complain("--plot: %s: %s", path, g_strerror(EISDIR));
        if (access(there ? path : directory, W_OK) < 0)
                return complain("--plot: %s: %s", path, g_strerror(errno));
        return EXIT_FINE;
}

static int write_plot(json_object *answer)
{
        if (json_length(json_get(json_element(json_get(answer, "settings"), 0), "runs")) == 0)
                return complain("--plot: nothing was measured");
        return page_write("latency", answer, asked.plot);
}

static int latency_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(Watch) watch = NULL;
        g_autoptr(PowerTable) table = NULL;
        g_autoptr(Sweep) sweep = NULL;
        static const int ends[] = { SIGINT, SIGTERM, SIGHUP, 0 };
        Session session = { .ctl = ctl, .status = EXIT_FINE };
        int r;

        if (asked.plot && check_plot(asked.plot) != EXIT_FINE)
                return EXIT_FAILED;
        r = watch_new(ctl->root, &watch);
        if (r < 0)
                return complain_cpus(ctl, r);
        session.watch = watch;
        if (choose(&session) != EXIT_FINE)
                return EXIT_FAILED;
        table = estimate_table(ctl, false);
        if (power_asked && !table)
                return EXIT_FAILED;
        session.table = table;
        session.signals = signals_open(ends,
                                       NULL); /* before anything is changed, and for all threads */
        sweep = sweep_new(ctl, "--sweep", asked.sweep, watch->topology, &session.cpus);
        if (!sweep)
                return EXIT_FAILED;
        *ret_answer = run_sweep(&session, sweep);
        return asked.plot && write_plot(*ret_answer) != EXIT_FINE ? EXIT_FAILED : session.status;
}

/* Which share of the wake-ups of a run, or of one of its CPUs, was left out; 0 .. 1. */
static double overrun_share(json_object *numbers)
{
        double overruns = json_number(numbers, "overruns", 0);
        double due = overruns + json_number(numbers, "samples", 0);

        return due > 0 ? overruns / due : 0;
}

static void add_row(json_object *rows, json_object *setting, json_object *run, json_object *numbers,
                    const char *cpu)
{
        json_object *row = json_add(rows);

        json_put_members(row, setting, "setting");
        json_put_members(row, run, "interval_usec");
        json_put_text(row, "cpu", cpu);
        json_put_members(row, numbers,
                         "samples overruns problem min_us mean_us p50_us p90_us p99_us p99_9_us "
                         "max_us");
        json_put_members(row, json_get(run, "power"), "watts power_source=source table");
}

/* What a line is about, for each setting and interval: the CPUs, "all", and "due" if wake-ups were
 * due while a thread was late. For people the CPUs are left out where there are many settings. */
static json_object *make_rows(json_object *settings)
{
        json_object *rows = json_object_new_array(), *setting, *run, *cpu;

        JSON_FOREACH(setting, settings) {
                JSON_FOREACH(run, json_get(setting, "runs")) {
                        json_object *all = json_get(run, "all"), *due = json_get(run, "all_due");

                        JSON_FOREACH(cpu, json_get(run, "cpus")) {
                                g_autofree char *number = g_strdup_printf(
                                        "%d", (int)json_int(cpu, "cpu", 0));

                                if (asked.csv || json_length(settings) == 1)
                                        add_row(rows, setting, run, cpu, number);
                        }
                        add_row(rows, setting, run, all, "all");
                        if (asked.csv || json_int(due, "samples", 0) > json_int(all, "samples", 0))
                                add_row(rows, setting, run, due, "due");
                }
        }
        return rows;
}

/* What the columns of a table depend on. */
typedef struct Shown {
        bool watts, overruns; /* some run has them */
        const char *table;    /* of power, that estimated some run; NULL: none */
} Shown;

static Shown look_through(json_object *rows)
{
        Shown shown = { 0 };
        json_object *row;

        JSON_FOREACH(row, rows) {
                shown.watts |= json_get(row, "watts") != NULL;
                shown.overruns |= json_int(row, "overruns", 0) > 0;
                if (json_get(row, "table"))
                        shown.table = json_text(row, "table");
        }
        return shown;
}

static void show_row(Table *table, const Shown *shown, json_object *row)
{
        g_autofree char *interval = duration_format((uint64_t)json_int(row, "interval_usec", 0));
        bool estimate = g_str_equal(json_text(row, "power_source"), "estimate");

        table_cell(table, STYLE_PLAIN, json_text(row, "setting"));
        table_cell(table, STYLE_PLAIN, interval);
        table_cell(table, STYLE_PLAIN, json_text(row, "cpu"));
        table_cellf(table, STYLE_PLAIN, "%" G_GINT64_FORMAT, json_int(row, "samples", 0));
        if (shown->overruns)
                table_cellf(table, STYLE_PLAIN, "%.1f", overrun_share(row) * 100);
        table_number(table, json_number(row, "min_us", NAN), 1);
        for (size_t i = 0; i < G_N_ELEMENTS(quantiles); i++)
                table_number(table, json_number(row, quantiles[i].key, NAN), 1);
        if (shown->watts && json_get(row, "watts"))
                table_cellf(table, STYLE_PLAIN, "%s%.2f", estimate ? "~" : "",
                            json_number(row, "watts", 0));
        else if (shown->watts)
                table_cell(table, STYLE_DIM, "-");
        if (json_get(row, "problem"))
                table_note(table, STYLE_BAD, json_text(row, "problem"));
}

static void add_columns(Table *table, const Shown *shown)
{
        table_columns(table, "Setting|>Interval|>CPU|>Samples");
        if (shown->overruns)
                table_column(table, "Overrun%", true);
        table_columns(table, ">Min|>p50|>p90|>p99|>p99.9|>Max");
        if (shown->watts)
                table_column(table, "PkgWatt", true);
}

/* A terminal without room for all does without these, first the first. What rows differ in stays,
 * and so do the 99th percentile and the power. */
static void fit_columns(Table *table, const Screen *screen, bool many_settings)
{
        static const char *const always[] = { "Min", "p99.9", "Overrun%", "p90", "Samples", NULL };
        static const char *const one_row[] = { "p50", "Max", NULL };
        const char *const interval[] = { "Interval", NULL };
        const char *const same[] = { many_settings ? "CPU" : "Setting", NULL };

        table_fit(table, screen, always);
        if (asked.n_intervals == 1)
                table_fit(table, screen, interval);
        table_fit(table, screen, same);
        table_fit(table, screen, one_row);
}

/* Wake-ups that were left out had no latency, and those left are not all. */
static void show_overruns(const Ctl *ctl, json_object *rows, bool many_settings)
{
        for (int i = 0; i < asked.n_intervals; i++) {
                g_autofree char *interval = duration_format(asked.intervals_usec[i]);
                bool late = false;
                json_object *row;
                double most = 0;

                JSON_FOREACH(row, rows) {
                        if (json_int(row, "interval_usec", 0) != (int64_t)asked.intervals_usec[i])
                                continue;
                        late |= g_str_equal(json_text(row, "cpu"), "due");
                        if (g_str_equal(json_text(row, "cpu"), "all"))
                                most = fmax(most, overrun_share(row));
                }
                if (most >= OVERRUNS_MOST)
                        screen_sentencef(
                                &ctl->screen, STYLE_WARN,
                                "Interval %s: %s%.0f %% of the wake-ups were left out, because "
                                "they were due while the thread was late or still awake. The "
                                "latencies are those of the others%s",
                                interval, many_settings ? "up to " : "", most * 100,
                                late ? "; in the row \"due\", what was due while the thread was "
                                       "late counts as well"
                                     : "");
        }
}

static void show_energy(const Ctl *ctl, json_object *answer, const Shown *shown)
{
        if (!shown->watts && shown->table)
                screen_line(&ctl->screen, STYLE_WARN,
                            "Energy: not known: the power table %s is of another machine",
                            shown->table);
        else if (!shown->watts && json_get(answer, "energy_problem"))
                screen_line(&ctl->screen, STYLE_WARN, "Energy: not measured: %s",
                            json_text(answer, "energy_problem"));
}

static void latency_show(const Ctl *ctl, json_object *answer)
{
        bool many_settings = json_length(json_get(answer, "settings")) > 1;
        g_autoptr(json_object) rows = make_rows(json_get(answer, "settings"));
        g_autoptr(Table) table = table_new();
        const Shown shown = look_through(rows);
        json_object *row;
        int priority = (int)json_int(answer, "priority", 0);
        g_autofree char *rank = priority ? g_strdup_printf(", priority %d", priority)
                                         : g_strdup("");

        if (asked.csv) {
                csv_print(rows, "setting,interval_usec,cpu,samples,overruns,min_us,mean_us,p50_us,"
                                "p90_us,p99_us,p99_9_us,max_us,watts,power_source");
                return;
        }
        screen_line(&ctl->screen, STYLE_PLAIN,
                    "Wake-up latency in microseconds, policy %s%s, CPUs %s",
                    json_text(answer, "policy"), rank, json_text(answer, "cpus"));
        if (json_get(answer, "root") && !g_str_equal(json_text(answer, "root"), "/"))
                screen_line(
                        &ctl->screen, STYLE_WARN,
                        "Latencies are those of the running machine; settings and power are those "
                        "below %s",
                        json_text(answer, "root"));
        add_columns(table, &shown);
        JSON_FOREACH(row, rows)
                show_row(table, &shown, row);
        fit_columns(table, &ctl->screen, many_settings);
        table_print(table, &ctl->screen);
        show_overruns(ctl, rows, many_settings);
        show_energy(ctl, answer, &shown);
        if (json_true(answer, "interrupted"))
                screen_line(&ctl->screen, STYLE_WARN, "Interrupted: all settings are restored");
}

const Verb verb_latency = {
        .name = "latency",
        .summary = "Measure wake-up latency, and power next to it",
        .help = "Threads on all CPUs (--cpus) repeatedly sleep for 1ms, 100us and 10us\n"
                "(--interval). Latency is how much later they run. Overrun% is the share of\n"
                "wake-ups that were left out, because the thread was still awake. --sweep\n"
                "measures under several settings: governor, epp, latency, dma-latency, states "
                "or\n"
                "profile, each with all values of this machine or those listed. idlelab "
                "restores\n"
                "all of them, also after a signal. ~ marks power that is estimated.\n"
                "  idlelab latency --sweep governor --sweep latency=0,50us --plot page.html",
        .options = { latency_options },
        .check = latency_check,
        .ask = latency_ask,
        .show = latency_show,
};
