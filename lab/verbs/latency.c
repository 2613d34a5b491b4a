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
#include <string.h>
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

/* The names of the numbers of a histogram in answers, in the order of CSV. */
#define NUMBERS 7
static const char *const keys[NUMBERS] = { "min_us", "mean_us",  "p50_us", "p90_us",
                                           "p99_us", "p99_9_us", "max_us" };

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
} asked = { .policy = -1 };

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
        { "power", "NAME", "the power table where there is no RAPL",
          .member = offsetof(Ctl, power_table) },
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

                if ((asked.for_usec ?: FOR_USEC) < least)
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
        CyclicOptions options;
        CpuSet cpus;
        int signals;     /* descriptor */
        int interrupted; /* by which signal */
        int status;      /* the exit status */
} Session;

/* Sums over a run, each weighted with its time. */
typedef struct PowerSum {
        double rapl, estimate, shares[WATCH_STATES_MAX + 1];
        double usec, rapl_usec;
} PowerSum;

static void add_chunk(const Session *session, PowerSum *sum, uint64_t energy_before)
{
        const Watch *watch = session->watch;
        double usec = (double)watch->seen->interval_usec, shares[WATCH_STATES_MAX + 1], rapl = 0;

        watch_shares(watch, &session->cpus, shares, NULL);
        for (int i = 0; i <= watch->n_states; i++)
                sum->shares[i] += shares[i] * usec;
        sum->usec += usec;
        if (session->table)
                sum->estimate += estimate_watts(session->table, watch) * usec;
        for (int p = 0; p < watch->topology->n_packages; p++)
                rapl += watch->package_watts[p];
        if (watch->energy_usec != energy_before && isfinite(rapl)) {
                sum->rapl += rapl * usec;
                sum->rapl_usec += usec;
        }
}

/* Measures power and residencies while the threads run. */
static void follow(Session *session, PowerSum *sum)
{
        uint64_t left = asked.for_usec, most = CHUNK_USEC;

        most = MIN(most, sensors_energy_deadline(session->watch->sensors));
        watch_begin(session->watch, SENSE_RESIDENCY, true);
        while (left > 0 && !session->interrupted) {
                uint64_t before = session->watch->energy_usec, chunk = MIN(left, most);

                session->interrupted = signals_wait(session->signals,
                                                    clock_usec(CLOCK_MONOTONIC) + chunk);
                if (watch_sample(session->watch, SENSE_RESIDENCY, true) == 0)
                        add_chunk(session, sum, before);
                left -= chunk;
        }
}

static json_object *describe_power(const Session *session, const PowerSum *sum)
{
        json_object *object = json_object_new_object(), *states = json_object_new_array();
        bool rapl = sum->rapl_usec > 0, estimate = session->table && sum->usec > 0;

        json_put_real(object, "watts",
                      rapl       ? sum->rapl / sum->rapl_usec
                      : estimate ? sum->estimate / sum->usec
                                 : NAN,
                      2);
        json_put_text(object, "source", rapl ? "RAPL" : estimate ? "estimate" : NULL);
        json_put_text(object, "table", !rapl && estimate ? session->table->name : NULL);
        for (int i = 0; i <= session->watch->n_states && sum->usec > 0; i++) {
                json_object *state = json_add(states);

                json_put_text(state, "state", i ? session->watch->states[i - 1] : "C0");
                json_put_real(state, "percent", sum->shares[i] / sum->usec * 100, 2);
        }
        json_put(object, "residency", states);
        return object;
}

static json_object *describe_latency(const Histogram *histogram)
{
        json_object *object = json_object_new_object();
        const double numbers[NUMBERS] = {
                histogram_min(histogram),
                histogram_mean(histogram),
                histogram_quantile(histogram, 0.5),
                histogram_quantile(histogram, 0.9),
                histogram_quantile(histogram, 0.99),
                histogram_quantile(histogram, 0.999),
                histogram_max(histogram),
        };

        json_put_int(object, "samples", (int64_t)histogram->count);
        for (int i = 0; i < NUMBERS; i++)
                json_put_real(object, keys[i], numbers[i], 2);
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
                                 const GArray *results, const PowerSum *sum)
{
        json_object *run = json_object_new_object(), *cpus = json_object_new_array();
        g_autoptr(Histogram) all = histogram_new(), corrected = NULL;
        uint64_t overruns = 0, due;

        json_put_int(run, "interval_usec", (int64_t)interval_usec);
        for (guint i = 0; i < results->len; i++) {
                const CyclicCpu *result = &g_array_index(results, CyclicCpu, i);
                json_object *cpu = describe_latency(result->histogram);

                json_put_int(cpu, "cpu", result->cpu);
                json_put_int(cpu, "overruns", (int64_t)result->overruns);
                json_put_text(cpu, "problem", result->error ? g_strerror(-result->error) : NULL);
                json_object_array_add(cpus, cpu);
                histogram_merge(all, result->histogram);
                overruns += result->overruns;
        }
        json_put(run, "all", describe_latency(all));
        json_put_int(json_get(run, "all"), "overruns", (int64_t)overruns);
        corrected = histogram_correct(all, interval_usec * 1000);
        due = all->count + overruns;
        json_put(run, "all_due", describe_latency(corrected));
        json_put_int(json_get(run, "all_due"), "overruns",
                     due > corrected->count ? (int64_t)(due - corrected->count) : 0);
        json_put(run, "cpus", cpus);
        json_put(run, "power", describe_power(session, sum));
        json_put_int(run, "bucket_nsec", HISTOGRAM_BUCKET_NSEC);
        json_put(run, "histogram", describe_buckets(all));
        json_put_int(run, "above_histogram", (int64_t)all->above);
        return run;
}

static json_object *measure(Session *session, uint64_t interval_usec)
{
        g_autoptr(GArray) results = NULL;
        PowerSum sum = { 0 };
        Cyclic *cyclic;

        session->options.interval_nsec = interval_usec * 1000;
        session->options.for_nsec = asked.for_usec * 1000;
        cyclic = cyclic_start(&session->cpus, &session->options);
        follow(session, &sum);
        results = session->interrupted ? cyclic_stop(cyclic) : cyclic_finish(cyclic);
        return describe_run(session, interval_usec, results, &sum);
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
        static const uint64_t usual[] = { 1000, 100, 10 };
        int policy = asked.policy >= 0 ? asked.policy : SCHED_FIFO;
        int priority = asked.priority ? (int)asked.priority : PRIORITY;
        CpuSet absent = asked.cpus;

        if (asked.n_intervals == 0) {
                memcpy(asked.intervals_usec, usual, sizeof(usual));
                asked.n_intervals = G_N_ELEMENTS(usual);
        }
        asked.for_usec = asked.for_usec ?: FOR_USEC;
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
        g_autoptr(GPtrArray) none = g_ptr_array_new();
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
        table = estimate_table(ctl, ctl->power_table, ctl->power_table != NULL);
        if (ctl->power_table && !table)
                return EXIT_FAILED;
        session.table = table;
        session.signals = signals_open(ends,
                                       NULL); /* before anything is changed, and for all threads */
        sweep = sweep_new(ctl, "--sweep", asked.sweep ? asked.sweep : none, watch->topology,
                          &session.cpus);
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

/* True if wake-ups of the run were due while a thread was late, so that "all_due" is more than
 * "all". */
static bool was_late(json_object *run)
{
        return json_int(json_get(run, "all_due"), "samples", 0) >
               json_int(json_get(run, "all"), "samples", 0);
}

/* What the columns of a table depend on. */
typedef struct Shown {
        bool watts, overruns; /* some run has them */
        const char *table;    /* of power, that estimated some run; NULL: none */
} Shown;

static void add_row(Table *table, const Shown *shown, const char *setting, json_object *run,
                    json_object *numbers, const char *cpu)
{
        json_object *power = json_get(run, "power");
        g_autofree char *interval = duration_format((uint64_t)json_int(run, "interval_usec", 0));
        bool estimate = g_str_equal(json_text(power, "source"), "estimate");

        table_cell(table, STYLE_PLAIN, setting);
        table_cell(table, STYLE_PLAIN, interval);
        table_cell(table, STYLE_PLAIN, cpu);
        table_cellf(table, STYLE_PLAIN, "%" G_GINT64_FORMAT, json_int(numbers, "samples", 0));
        if (shown->overruns)
                table_cellf(table, STYLE_PLAIN, "%.1f", overrun_share(numbers) * 100);
        for (int i = 0; i < NUMBERS; i++)
                if (!g_str_equal(keys[i], "mean_us"))
                        table_number(table, json_number(numbers, keys[i], NAN), 1);
        if (shown->watts && json_get(power, "watts"))
                table_cellf(table, STYLE_PLAIN, "%s%.2f", estimate ? "~" : "",
                            json_number(power, "watts", 0));
        else if (shown->watts)
                table_cell(table, STYLE_DIM, "-");
}

static void add_cpus(Table *table, const Shown *shown, const char *setting, json_object *run)
{
        json_object *cpus = json_get(run, "cpus"), *cpu;

        JSON_FOREACH(cpu, cpus) {
                g_autofree char *number = g_strdup_printf("%d", (int)json_int(cpu, "cpu", 0));

                add_row(table, shown, setting, run, cpu, number);
                if (json_get(cpu, "problem"))
                        table_note(table, STYLE_BAD, json_text(cpu, "problem"));
        }
}

static Shown look_through(json_object *settings)
{
        json_object *setting, *runs, *run;
        Shown shown = { 0 };

        JSON_FOREACH(setting, settings) {
                runs = json_get(setting, "runs");
                JSON_FOREACH(run, runs) {
                        json_object *power = json_get(run, "power");

                        shown.watts |= json_get(power, "watts") != NULL;
                        if (json_get(power, "table"))
                                shown.table = json_text(power, "table");
                        shown.overruns |= json_int(json_get(run, "all"), "overruns", 0) > 0;
                }
        }
        return shown;
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

/* The run of a setting with the interval; NULL if it has none. */
static json_object *run_of(json_object *setting, int64_t interval_usec)
{
        json_object *runs = json_get(setting, "runs"), *run;

        JSON_FOREACH(run, runs)
                if (json_int(run, "interval_usec", 0) == interval_usec)
                        return run;
        return NULL;
}

/* Wake-ups that were left out had no latency, and those left are not all. */
static void show_overruns(const Ctl *ctl, json_object *settings)
{
        for (int i = 0; i < asked.n_intervals; i++) {
                g_autofree char *interval = duration_format(asked.intervals_usec[i]);
                double most = 0;
                bool late = false;

                for (size_t k = 0; k < json_length(settings); k++) {
                        json_object *run = run_of(json_element(settings, k),
                                                  (int64_t)asked.intervals_usec[i]);

                        most = fmax(most, overrun_share(json_get(run, "all")));
                        late |= was_late(run);
                }
                if (most >= OVERRUNS_MOST)
                        screen_sentencef(
                                &ctl->screen, STYLE_WARN,
                                "Interval %s: %s%.0f %% of the wake-ups were left out, because "
                                "they were due while the thread was late or still awake. The "
                                "latencies are those of the others%s",
                                interval, json_length(settings) > 1 ? "up to " : "", most * 100,
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

static void print_row(const char *setting, json_object *run, json_object *numbers, const char *cpu)
{
        json_object *power = json_get(run, "power");

        csv_field_print(setting);
        printf(",%" G_GINT64_FORMAT ",%s,%" G_GINT64_FORMAT, json_int(run, "interval_usec", 0), cpu,
               json_int(numbers, "samples", 0));
        printf(",%" G_GINT64_FORMAT, json_int(numbers, "overruns", 0));
        for (int i = 0; i < NUMBERS; i++) {
                putchar(',');
                if (json_get(numbers, keys[i]))
                        printf("%.2f", json_number(numbers, keys[i], 0));
        }
        putchar(',');
        if (json_get(power, "watts"))
                printf("%.2f", json_number(power, "watts", 0));
        printf(",%s\n", json_text(power, "source"));
}

/* Rows for each setting and interval, one per CPU, "all" and "due". */
static void print_csv(json_object *answer)
{
        json_object *settings = json_get(answer, "settings"), *setting, *runs, *run, *cpus, *cpu;

        puts("setting,interval_usec,cpu,samples,overruns,min_us,mean_us,p50_us,p90_us,p99_us,"
             "p99_9_us,max_us,watts,power_source");
        JSON_FOREACH(setting, settings) {
                const char *label = json_text(setting, "setting");

                runs = json_get(setting, "runs");
                JSON_FOREACH(run, runs) {
                        cpus = json_get(run, "cpus");
                        JSON_FOREACH(cpu, cpus) {
                                g_autofree char *number = g_strdup_printf(
                                        "%d", (int)json_int(cpu, "cpu", 0));

                                print_row(label, run, cpu, number);
                        }
                        print_row(label, run, json_get(run, "all"), "all");
                        print_row(label, run, json_get(run, "all_due"), "due");
                }
        }
}

static void latency_show(const Ctl *ctl, json_object *answer)
{
        json_object *settings = json_get(answer, "settings"), *setting, *run;
        g_autoptr(Table) table = table_new();
        const Shown shown = look_through(settings);
        int priority = (int)json_int(answer, "priority", 0);
        g_autofree char *rank = priority ? g_strdup_printf(", priority %d", priority)
                                         : g_strdup("");

        if (asked.csv) {
                print_csv(answer);
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
        JSON_FOREACH(setting, settings) {
                json_object *runs = json_get(setting, "runs");

                JSON_FOREACH(run, runs) {
                        if (json_length(settings) == 1)
                                add_cpus(table, &shown, json_text(setting, "setting"), run);
                        add_row(table, &shown, json_text(setting, "setting"), run,
                                json_get(run, "all"), "all");
                        if (was_late(run))
                                add_row(table, &shown, json_text(setting, "setting"), run,
                                        json_get(run, "all_due"), "due");
                }
        }
        fit_columns(table, &ctl->screen, json_length(settings) > 1);
        table_print(table, &ctl->screen);
        show_overruns(ctl, settings);
        show_energy(ctl, answer, &shown);
        if (json_true(answer, "interrupted"))
                screen_line(&ctl->screen, STYLE_WARN, "Interrupted: all settings are restored");
}

const Verb verb_latency = {
        .name = "latency",
        .arguments = "",
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
