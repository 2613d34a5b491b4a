/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab estimate: power from residencies and a power table; and such a table from residencies and
 * power.
 *
 * Residencies come from a file of turbostat's or from this machine's counters. Where energy is
 * measured as well, it is printed next to the estimate.
 */
#include "estimate.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "cli/facts.h"
#include "cli/price.h"
#include "verbs.h"

#define MEASURE_USEC (1000u * 1000)
#define FIT_USEC     (80u * 1000 * 1000)

/* Below it is what turbostat rounds. */
#define MISSING_PERCENT_MIN 0.1

static struct {
        const char *turbostat, *save;
        double work; /* per second; 0: not given */
        bool fit;
        uint64_t for_usec;
} asked;

static const VerbOption estimate_options[] = {
        { "power", "NAME", "the power table: power/NAME.conf, or a path", .text = &power_asked },
        { "turbostat", "FILE", "residencies that turbostat printed; - is standard input",
          .text = &asked.turbostat },
        { "work", "NUMBER", "work done in MB/s, to print MB/W", .real = &asked.work,
          .expected = "megabytes per second above 0, such as 225.55" },
        { "fit", NULL, "find the table from measured power", .flag = &asked.fit },
        { "for", "TIME", "with --fit: measure for this time (80s)", .number = &asked.for_usec,
          .least = MEASURE_USEC, .expected = "a duration of at least 1s, such as 2min" },
        { "output", "FILE", "with --fit: write the table", .text = &asked.save },
        { 0 },
};

static int estimate_check(const Ctl *ctl, const Verb *verb)
{
        if (asked.fit && (power_asked || asked.work > 0))
                return complain_usage(verb, "--fit: expected no --power or --work with it");
        if (!asked.fit && (asked.save || asked.for_usec))
                return complain_usage(verb, "%s: expected --fit with it",
                                      asked.save ? "--output" : "--for");
        if (asked.turbostat && (asked.for_usec || interval_asked_usec))
                return complain_usage(verb, "--turbostat: expected no --for or --interval with "
                                            "it");
        if (asked.fit && interval_asked_usec && interval_asked_usec < MEASURE_USEC)
                return complain_usage(verb, "--interval: with --fit expected at least 1s, because "
                                            "energy is read once a second");
        return EXIT_FINE;
}

/* Reads all of a file, standard input or a pipe, until its end. NULL after a message. */
static char *read_whole(const char *path)
{
        bool input = g_str_equal(path, "-");
        _fd_ int opened = input ? -1 : open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
        g_autofree char *text = g_malloc(FILE_SIZE_MAX + 1);
        ssize_t n = !input && opened < 0
                            ? -errno
                            : fd_read_full(input ? STDIN_FILENO : opened, text, FILE_SIZE_MAX + 1);

        if (n < 0)
                complain("%s: %s", path, g_strerror((int)-n));
        else if (n > (ssize_t)FILE_SIZE_MAX)
                complain("%s: found more than %u MB, expected what turbostat prints", path,
                         FILE_SIZE_MAX >> 20);
        else if (memchr(text, '\0', (size_t)n))
                complain("%s: found a NUL byte, expected what turbostat prints", path);
        else {
                text[n] = '\0';
                return g_steal_pointer(&text);
        }
        return NULL;
}

/* Reads what turbostat printed. NULL after a message. */
static Turbostat *read_turbostat(const char *path)
{
        g_autofree char *text = read_whole(path), *why = NULL;
        Turbostat *found = NULL;

        if (!text)
                return NULL;
        path = g_str_equal(path, "-") ? "standard input" : path;
        if (turbostat_parse(text, &found, &why) < 0)
                complain("%s: %s", path, why);
        return found;
}

static double mean_share(const Turbostat *seen, guint package, int state)
{
        double sum = 0;

        for (guint i = 0; i < seen->n_samples; i++)
                sum += turbostat_shares(seen, i, package)[state];
        return sum / seen->n_samples;
}

/* The measured watts, NaN unless all samples have them. */
static double mean_watts(const Turbostat *seen, guint package)
{
        double sum = 0;

        for (guint i = 0; i < seen->n_samples; i++)
                sum += turbostat_watts(seen, i, package);
        return sum / seen->n_samples;
}

/* The percentage of the time that no column has, over all packages. */
static double missing_percent(const Turbostat *seen)
{
        double sum = 0;

        for (guint p = 0; p < seen->packages->len; p++)
                for (int s = 0; s < seen->n_states; s++)
                        sum += mean_share(seen, p, s);
        return fmax(1 - sum / seen->packages->len, 0) * 100;
}

/* One package's object. Its watts, and the share of its time that no figure is for, are added to
 * the sums. */
static json_object *describe_package(const Turbostat *seen, const PowerTable *table, guint package,
                                     double *watts, double *unknown)
{
        json_object *object = json_object_new_object(), *states = json_object_new_array();
        double sum = 0, without = 0;

        for (int s = 0; s < seen->n_states; s++) {
                double share = mean_share(seen, package, s);
                double price = power_table_find(table, seen->states[s]);
                double drawn = isnan(price) ? 0 : share * price;
                json_object *state = json_add(states);

                json_put_text(state, "state", seen->states[s]);
                json_put_real(state, "percent", share * 100, 2);
                json_put_real(state, "table_watts", price, 3);
                json_put_real(state, "watts", drawn, 3);
                sum += drawn;
                without += isnan(price) ? share : 0;
        }
        json_put_int(object, "package", g_array_index(seen->packages, int, package));
        json_put_real(object, "watts", without > POWER_TABLE_UNKNOWN_MAX ? NAN : sum, 2);
        json_put_real(object, "measured_watts", mean_watts(seen, package), 2);
        json_put(object, "states", states);
        *watts += sum;
        *unknown += without;
        return object;
}

static json_object *describe_table(const PowerTable *table)
{
        json_object *object = json_object_new_object(), *states = json_object_new_array();

        for (guint i = 0; i < table->states->len; i++) {
                const PowerState *state = &g_array_index(table->states, PowerState, i);
                json_object *row = json_add(states);

                json_put_text(row, "state", state->name);
                json_put_real(row, "watts", state->watts, 3);
                json_put_real(row, "error_watts", state->error, 3);
        }
        json_put_text(object, "name", table->name);
        json_put_text(object, "file", table->path);
        json_put_text_any(object, "description", table->description);
        json_put(object, "states", states);
        return object;
}

static void describe_power(const Turbostat *seen, const PowerTable *table, json_object *answer)
{
        json_object *packages = json_object_new_array();
        double watts = 0, unknown = 0, measured = 0;

        for (guint p = 0; p < seen->packages->len; p++) {
                json_object_array_add(packages, describe_package(seen, table, p, &watts, &unknown));
                measured += mean_watts(seen, p);
        }
        unknown /= seen->packages->len;
        if (unknown > POWER_TABLE_UNKNOWN_MAX)
                watts = NAN;
        json_put_real(answer, "watts", watts, 2);
        json_put_real(answer, "measured_watts", measured, 2);
        json_put_real(answer, "without_figure_percent", unknown * 100, 2);
        json_put_real(answer, "in_no_column_percent", missing_percent(seen), 2);
        json_put_bool(answer, "residency_estimated", seen->estimated);
        json_put_real(answer, "work_mb_per_second", asked.work > 0 ? asked.work : NAN, 2);
        json_put_real(answer, "work_mb_per_watt",
                      asked.work > 0 && watts > 0 ? asked.work / watts : NAN, 2);
        json_put(answer, "packages", packages);
}

static json_object *answer_begin(const Turbostat *seen)
{
        json_object *answer = json_object_new_object();

        json_put_text(answer, "source", asked.turbostat ? "turbostat" : "this machine");
        json_put_text(answer, "turbostat", asked.turbostat);
        json_put_int(answer, "samples", seen->n_samples);
        json_put_bool(answer, "packages_known", !seen->summary);
        return answer;
}

static int save_table(const PowerTable *table, const char *path)
{
        g_autofree char *text = power_table_format(table);
        int r = file_save(path, text, 0644);

        return r < 0 ? complain("--output: %s: %s", path, g_strerror(-r)) : EXIT_FINE;
}

static int fit(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(Turbostat) seen = NULL;
        g_autoptr(PowerTable) table = NULL;
        json_object *answer;
        bool complete;
        int samples;

        seen = asked.turbostat ? read_turbostat(asked.turbostat)
                               : estimate_measure(ctl, asked.for_usec ?: FIT_USEC,
                                                  interval_asked_usec ?: MEASURE_USEC, true);
        if (!seen)
                return EXIT_FAILED;
        answer = answer_begin(seen);
        table = estimate_fit(seen, asked.turbostat ? asked.turbostat : "--fit", answer);
        if (!table) {
                json_object_put(answer);
                return EXIT_FAILED;
        }
        samples = (int)json_int(json_get(answer, "fit"), "samples", 0);
        g_free(table->description);
        table->description = g_strdup_printf("Fitted to %d sample%s of %s", samples,
                                             samples == 1 ? "" : "s",
                                             asked.turbostat ? asked.turbostat : g_get_host_name());
        json_put(answer, "table", describe_table(table));
        describe_power(seen, table, answer);
        complete = json_true(json_get(answer, "fit"), "complete");
        if (!complete)
                complain("--fit: found no figure for C0 or %s, expected one for both ends; no "
                         "table is written",
                         seen->states[seen->n_states - 1]);
        complete = complete && (!asked.save || save_table(table, asked.save) == EXIT_FINE);
        json_put_text(answer, "saved", complete ? asked.save : NULL);
        *ret_answer = answer;
        return !complete ? EXIT_FAILED : EXIT_FINE;
}

static int estimate_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(Turbostat) seen = NULL;
        g_autoptr(PowerTable) table = NULL;
        json_object *answer;

        if (asked.fit)
                return fit(ctl, ret_answer);
        table = estimate_table(ctl, true);
        if (!table)
                return EXIT_FAILED;
        seen = asked.turbostat ? read_turbostat(asked.turbostat)
                               : estimate_measure(ctl, interval_asked_usec ?: MEASURE_USEC,
                                                  interval_asked_usec ?: MEASURE_USEC, false);
        if (!seen)
                return EXIT_FAILED;
        answer = answer_begin(seen);
        json_put(answer, "table", describe_table(table));
        describe_power(seen, table, answer);
        *ret_answer = answer;
        return json_get(answer, "watts") ? EXIT_FINE : EXIT_FAILED;
}

static void show_states(const Ctl *ctl, json_object *answer)
{
        json_object *packages = json_get(answer, "packages"), *package, *states, *state;
        bool many = json_length(packages) > 1;
        const char *mark = json_true(answer, "residency_estimated") ? "~" : "";
        g_autoptr(Table) table = table_new();

        if (many)
                table_column(table, "Package", true);
        table_columns(table, "State|>Time%|>TableW|>Watts");
        JSON_FOREACH(package, packages) {
                states = json_get(package, "states");
                JSON_FOREACH(state, states) {
                        if (many)
                                table_member(table, package, "package", 1, 0, "");
                        table_cell(table, STYLE_PLAIN, json_text(state, "state"));
                        table_cellf(table, STYLE_PLAIN, "%s%.2f", mark,
                                    json_number(state, "percent", 0));
                        table_member(table, state, "table_watts", 1, 2, "");
                        table_cellf(table, STYLE_PLAIN, "%.2f", json_number(state, "watts", 0));
                }
        }
        table_print(table, &ctl->screen);
}

/* States that were measured and have no figure: why, and how long to measure. */
static void show_rejected(const Ctl *ctl, json_object *fit_info)
{
        double usec = (double)(asked.for_usec ?: FIT_USEC), step = 10 * G_USEC_PER_SEC;
        double samples = json_number(fit_info, "samples", 0);
        json_object *state;

        JSON_FOREACH(state, json_get(fit_info, "rejected")) {
                double times = json_number(state, "times_needed", 1);
                g_autofree char *time = duration_format(
                        (uint64_t)(ceil(usec * times / step) * step));
                g_autofree char *more = g_strdup_printf("%.0f samples", ceil(samples * times));

                screen_sentencef(&ctl->screen, STYLE_WARN,
                                 "State %s has no figure: %.2f W is %s; measure for about %s",
                                 json_text(state, "state"), json_number(state, "watts", 0),
                                 json_text(state, "reason"), asked.turbostat ? more : time);
        }
}

static void show_fit(const Ctl *ctl, json_object *answer)
{
        json_object *fit_info = json_get(answer, "fit"), *name;
        json_object *states = json_get(json_get(answer, "table"), "states"), *state;
        g_autoptr(Table) table = table_new();

        table_columns(table, "State|>TableW|>+-");
        JSON_FOREACH(state, states) {
                table_cell(table, STYLE_PLAIN, json_text(state, "state"));
                table_cellf(table, STYLE_PLAIN, "%.2f", json_number(state, "watts", 0));
                table_number(table, json_number(state, "error_watts", NAN), 2);
        }
        JSON_FOREACH(name, json_get(fit_info, "undetermined")) {
                table_cell(table, STYLE_DIM, json_object_get_string(name));
                table_cell(table, STYLE_DIM, "-");
                table_cell(table, STYLE_DIM, "-");
        }
        table_print(table, &ctl->screen);
        screen_line(&ctl->screen, STYLE_PLAIN,
                    "Fit of %d sample%s: %.2f W left unexplained, R^2 %.4f",
                    (int)json_int(fit_info, "samples", 0),
                    json_int(fit_info, "samples", 0) == 1 ? "" : "s",
                    json_number(fit_info, "residual_watts", 0),
                    json_number(fit_info, "explained", NAN));
        show_rejected(ctl, fit_info);
        if (json_get(answer, "saved"))
                screen_line(&ctl->screen, STYLE_GOOD, "Written to %s", json_text(answer, "saved"));
}

static void show_summary(const Ctl *ctl, json_object *answer)
{
        if (!json_true(answer, "packages_known"))
                screen_sentence(&ctl->screen, STYLE_WARN,
                                "The file has no rows of CPUs, so the number of packages is not "
                                "known. Measured watts are those of all packages, and tables are "
                                "for one");
}

static void estimate_show(const Ctl *ctl, json_object *answer)
{
        json_object *table = json_get(answer, "table");
        double unknown = json_number(answer, "without_figure_percent", 0);
        double missing = json_number(answer, "in_no_column_percent", 0);

        if (json_get(answer, "fit")) {
                show_fit(ctl, answer);
                show_summary(ctl, answer);
                return;
        }
        show_states(ctl, answer);
        if (json_get(answer, "watts"))
                screen_line(&ctl->screen, STYLE_TITLE, "Power       ~%.2f W%s by the table %s",
                            json_number(answer, "watts", 0),
                            json_true(answer, "packages_known") ? "" : " for each package",
                            json_text(table, "name"));
        else
                screen_line(&ctl->screen, STYLE_BAD,
                            "Power       not known: the table %s is of another machine",
                            json_text(table, "name"));
        if (json_get(answer, "measured_watts"))
                screen_line(&ctl->screen, STYLE_PLAIN, "Measured    %.2f W",
                            json_number(answer, "measured_watts", 0));
        if (json_get(answer, "measured_watts"))
                show_summary(ctl, answer);
        if (json_get(answer, "work_mb_per_watt"))
                screen_line(&ctl->screen, STYLE_PLAIN, "Work        %.2f MB/s, %.2f MB/W",
                            json_number(answer, "work_mb_per_second", 0),
                            json_number(answer, "work_mb_per_watt", 0));
        if (unknown >= 0.01)
                screen_line(&ctl->screen, STYLE_WARN, "No figure   for %.2f %% of the time%s",
                            unknown, json_get(answer, "watts") ? ", which counts as 0 W" : "");
        if (missing >= MISSING_PERCENT_MIN)
                screen_line(&ctl->screen, STYLE_WARN, "No column   for %.2f %% of the time%s",
                            missing, json_get(answer, "watts") ? ", which counts as 0 W" : "");
}

const Verb verb_estimate = {
        .name = "estimate",
        .summary = "Estimate power from idle states and a power table",
        .help = "The idle states are those of this machine during --interval (1s), or those in\n"
                "the output of turbostat. NAME is a table such as coreidle. The default is the\n"
                "table of this machine. --fit --output /etc/idled/power/machine.conf makes that\n"
                "table: it runs a load and requires RAPL.\n"
                "  idlelab estimate --turbostat table.txt --power coreidle",
        .options = { interval_option, estimate_options },
        .check = estimate_check,
        .ask = estimate_ask,
        .show = estimate_show,
};
