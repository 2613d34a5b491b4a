/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl top: how CPUs spend their time, again and again.
 *
 * On a terminal it is a live view; elsewhere, or with --count, tables follow each other, or lines
 * of comma-separated values or JSON. With a command there is one sample, of as long as that runs:
 * the command gets the terminal's signals, and this process waits for its end, as time(1) does.
 * Energy is read now and then meanwhile, because its counters wrap.
 */
#include "top.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "base/file.h"
#include "cli/facts.h"
#include "cli/observe.h"
#include "cli/output.h"
#include "verbs.h"

#define INTERVAL_USEC (1000 * 1000)
#define SLACK_NSEC    (20ul * 1000 * 1000)
#define ENERGY_USEC   (30 * G_USEC_PER_SEC)

static struct {
        const char *columns, *sort;
        CpuSet cpus;
        bool csv;
        int by; /* TopBy */
        uint64_t count;
} asked;

static const char *const by_names[] = {
        [TOP_BY_CPU] = "cpu", [TOP_BY_CORE] = "core", [TOP_BY_PACKAGE] = "package", NULL
};

static const VerbOption top_options[] = {
        { "json", NULL, "print a line of JSON for each sample", .member = offsetof(Ctl, json) },
        { "csv", NULL, "print comma-separated values", .flag = &asked.csv },
        { "columns", "LIST", "CPU,Busy%,states,statistics,Wake/s,...", .text = &asked.columns },
        { "sort", "COLUMN", "sort by this column, largest first", .text = &asked.sort },
        { "cpus", "LIST", "rows of these CPUs", .cpus = &asked.cpus },
        { "by", "WHAT", "a row for each cpu, core or package", .choice = &asked.by,
          .choices = by_names, .expected = "cpu, core or package" },
        { "count", "NUMBER", "exit after this many samples", .number = &asked.count, .least = 1,
          .expected = "a number of samples" },
        { "power", "NAME", "the power table where there is no RAPL", .text = &power_asked },
        { 0 },
};

static int top_check(const Ctl *ctl, const Verb *verb)
{
        if (asked.csv && ctl->json)
                return complain_usage(verb, "--csv and --json: expected one of them");
        if (ctl->n_args > 0 && (interval_asked_usec || asked.count))
                return complain_usage(verb, "%s: expected no COMMAND with it",
                                      asked.count ? "--count" : "--interval");
        return EXIT_FINE;
}

static void print_csv_head(const GPtrArray *columns)
{
        printf("Time,Interval");
        for (guint i = 0; i < columns->len; i++)
                printf(",%s", ((const TopColumn *)columns->pdata[i])->title);
        puts(",Estimated");
}

/* Columns that are estimated in the row stand in its last field. */
static void print_csv_row(const Top *top, const TopRow *row, const GPtrArray *columns)
{
        bool first = true;

        printf("%.6f,%.6f", (double)top->watch->seen->time_usec / 1e6,
               (double)top->watch->seen->interval_usec / 1e6);
        for (guint i = 0; i < columns->len; i++) {
                double value = top_value(row, columns->pdata[i]);

                putchar(',');
                if (!isnan(value))
                        printf("%.10g", round(value * 1000) / 1000);
        }
        putchar(',');
        for (guint i = 0; i < columns->len; i++) {
                const TopColumn *column = columns->pdata[i];

                if (!top_is_estimate(row, column) || isnan(top_value(row, column)))
                        continue;
                printf("%s%s", first ? "" : " ", column->title);
                first = false;
        }
        putchar('\n');
}

/* Below the first table: why there is no power, where root could read it. */
static void print_power_obstacle(const Top *top)
{
        if (top_needs_root(top) && !top->table)
                screen_sentence(&top->ctl->screen, STYLE_WARN,
                                "Power is not shown: only root may read the energy counters");
}

static void print_table(const Top *top)
{
        g_autoptr(GPtrArray) columns = top_columns(top);

        top_print(top, columns, &(TopView){ .sort = top->sort });
}

static void print_sample(Top *top, uint64_t n)
{
        top_sort(top->rows, top->sort, false);
        if (top->ctl->json) {
                g_autoptr(json_object) answer = top_describe(top);

                json_print(answer, JSON_C_TO_STRING_PLAIN);
                return;
        }
        if (asked.csv) {
                if (n == 0)
                        print_csv_head(top->columns);
                for (guint i = 0; i < top->rows->len; i++)
                        print_csv_row(top, &g_array_index(top->rows, TopRow, i), top->columns);
                return;
        }
        if (n > 0)
                putchar('\n');
        print_table(top);
        if (n == 0 && !asked.columns)
                print_power_obstacle(top);
}

/* One sample after the other, until a signal arrives or the output is closed. */
static int print_samples(Top *top, uint64_t interval_usec)
{
        Pace *pace = &top->pace;
        static const int ends[] = { SIGINT, SIGTERM, 0 };
        _fd_ int signals = signals_open(ends, NULL);

        pace_begin(pace, interval_usec, interval_usec, SLACK_NSEC);
        prctl(PR_SET_TIMERSLACK, SLACK_NSEC, 0, 0, 0);
        for (uint64_t n = 0; asked.count == 0 || n < asked.count; n++) {
                int r;

                if (signals_wait(signals, pace->next_usec))
                        return EXIT_FINE;
                r = top_sample(top);
                if (r < 0)
                        return complain("failed to read the CPUs again: %s", g_strerror(-r));
                print_sample(top, n);
                if (fflush(stdout) != 0)
                        return EXIT_FAILED;
                pace_done(pace);
        }
        return EXIT_FINE;
}

static json_object *describe_command(const Top *top, int status, double seconds, double cpu_seconds)
{
        json_object *answer = top_describe(top);
        const Watch *watch = top->watch;
        bool energy = watch->energy_error == 0 && watch->package_joules > 0;
        double estimate = g_array_index(top->rows, TopRow, 0).sensors.package_watts;

        json_put_int(answer, "exit_status", status);
        json_put_real(answer, "seconds", seconds, 6);
        json_put_real(answer, "cpu_seconds", cpu_seconds, 6);
        json_put_real(answer, "package_joules",
                      energy       ? watch->package_joules
                      : top->table ? estimate * seconds
                                   : NAN,
                      3);
        json_put_text(answer, "package_joules_source",
                      energy       ? energy_source_title(watch->energy_source)
                      : top->table ? "estimate"
                                   : NULL);
        json_put_real(answer, "core_joules", energy ? watch->core_joules : NAN, 3);
        json_put_real(answer, "dram_joules", energy ? watch->dram_joules : NAN, 3);
        return answer;
}

static void show_command(const Top *top, json_object *answer)
{
        bool estimate = g_str_equal(json_text(answer, "package_joules_source"), "estimate");
        double seconds = json_number(answer, "seconds", 0);
        double joules = json_number(answer, "package_joules", NAN);

        print_table(top);
        screen_line(&top->ctl->screen, STYLE_TITLE, "%s: %.3f s, %.3f s of CPU, exit status %d",
                    top->ctl->args[0], seconds, json_number(answer, "cpu_seconds", 0),
                    (int)json_int(answer, "exit_status", 0));
        if (isfinite(joules))
                screen_line(&top->ctl->screen, STYLE_TITLE, "Energy: %s%.2f J, %s%.2f W",
                            estimate ? "~" : "", joules, estimate ? "~" : "", joules / seconds);
        else
                screen_line(&top->ctl->screen, STYLE_WARN, "Energy: not measured: %s",
                            watch_energy_problem(top->watch));
}

static bool read_energy(void *data)
{
        watch_energy(((Top *)data)->watch);
        return true;
}

/* The CPU time of the commands that have ended. */
static double children_seconds(void)
{
        struct rusage usage;

        getrusage(RUSAGE_CHILDREN, &usage);
        return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int measure_command(Top *top, int output)
{
        g_autoptr(json_object) answer = NULL;
        uint64_t most = ENERGY_USEC, energy_usec = sensors_energy_deadline(top->watch->sensors);
        gint64 begin = g_get_monotonic_time();
        double seconds;
        int status;

        if (!observe(NULL, OBSERVE_FOREVER, top->ctl->args, MIN(energy_usec, most), read_energy,
                     top, &status))
                return status;
        seconds = (double)(g_get_monotonic_time() - begin) / G_USEC_PER_SEC;
        top_sample(top);
        output_use(top->ctl, output);
        answer = describe_command(top, status, seconds, children_seconds());
        if (top->ctl->json)
                json_print(answer, JSON_C_TO_STRING_PLAIN);
        else if (asked.csv)
                print_sample(top, 0);
        else
                show_command(top, answer);
        return status;
}

/* The columns of the list; NULL after a message. */
static GPtrArray *find_columns(const Top *top, const char *option, const char *list,
                               const char *groups)
{
        g_autofree char *unknown = NULL;
        g_autoptr(GPtrArray) found = top_columns_parse(top->all, list, &unknown);
        g_autoptr(GString) names = g_string_new(NULL);

        if (found && (*groups || found->len == 1))
                return g_steal_pointer(&found);
        for (guint i = 0; i < top->all->len; i++)
                g_string_append_printf(names, "%s%s", i ? ", " : "",
                                       g_array_index(top->all, TopColumn, i).title);
        complain("%s: found \"%s\", expected %s%s%s", option, unknown ?: list,
                 *groups ? "some of " : "one of ", groups, names->str);
        return NULL;
}

/* Takes --columns and --sort. False after a message. */
static bool take_lists(Top *top)
{
        g_autoptr(GPtrArray) sort = NULL;

        if (asked.columns)
                top->columns = find_columns(top, "--columns", asked.columns,
                                            "states, statistics, ");
        else if (asked.csv)
                top->columns = top_columns_usual(top, true);
        if (asked.sort)
                sort = find_columns(top, "--sort", asked.sort, "");
        top->sort = sort ? sort->pdata[0] : NULL;
        return (top->columns || !asked.columns) && (sort || !asked.sort);
}

/* Loads the power table, which is used only where energy is not measured. False after a message. */
static bool take_table(Top *top)
{
        bool measured = top->watch->energy_error == 0;
        PowerTable *table = power_asked || !measured ? estimate_table(top->ctl, false) : NULL;

        if (measured)
                power_table_free(table);
        else
                top->table = table;
        return table || !power_asked;
}

/* Shows what was asked for. Returns the exit status. */
static int show(Top *top)
{
        Ctl *ctl = top->ctl;
        uint64_t interval_usec = interval_asked_usec ?: INTERVAL_USEC;
        _fd_ int output = -1;
        int r, status = output_open(ctl, &output);

        if (status != EXIT_FINE)
                return status;
        r = top_restart(top);
        if (r < 0)
                return complain("failed to read the load of the CPUs from %s/proc/stat: %s",
                                ctl->root_path ?: "", g_strerror(-r));
        if (ctl->n_args > 0)
                return measure_command(top, output);
        output_use(ctl, output);
        if (top_can_live(ctl) && !asked.csv && !ctl->json && !asked.count)
                return top_live(top, interval_usec);
        return print_samples(top, interval_usec);
}

static int top_ask(Ctl *ctl, json_object **ret_answer)
{
        Top top;
        int r = top_init(&top, ctl), status = EXIT_FAILED;

        if (r < 0)
                return complain_cpus(ctl, r);
        top.by = (TopBy)asked.by;
        top.only = cpuset_is_empty(&asked.cpus) ? NULL : &asked.cpus;
        if (top.only && !cpuset_intersects(top.only, &top.watch->topology->online))
                complain("--cpus: none of these CPUs is online");
        else if (!take_lists(&top))
                status = EXIT_USAGE;
        else if (take_table(&top))
                status = show(&top);
        top_done(&top);
        return status;
}

const Verb verb_top = {
        .name = "top",
        .arguments = "[COMMAND...]",
        .summary = "Show how CPUs spend their time, and the power",
        .help = "The shares of a row, Busy% and one for each idle state, add up to 100. NAME+ "
                "and\n"
                "NAME- count sleeps for which a state was too deep, or too shallow. ~ marks an\n"
                "estimate, - a value that is not known. Longest is a lower bound. On a "
                "terminal:\n"
                "q quits, arrows scroll, s selects the column to sort by, r reverses the order.\n"
                "With a COMMAND, idlectl measures while COMMAND runs, prints the result to\n"
                "standard error, and exits with the status of COMMAND.\n"
                "  idlectl top make -j8",
        .options = { interval_option, top_options, output_option },
        .check = top_check,
        .max_args = INT_MAX,
        .ask = top_ask,
        .command = true,
        .mute = true,
};
