/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab replay: how idle governors would have done with recorded idle periods.
 */
#include "replay.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/setting-value.h"
#include "cli/price.h"
#include "page/page.h"
#include "sense/sensor.h"
#include "verbs.h"

ReplayArguments replay_arguments;

static int take_option(Ctl *ctl, const VerbOption *row, const char *text)
{
        const char *sign = strchr(text, '=');

        if (!sign || sign == text)
                return complain_usage(NULL, "--option: found \"%s\", expected NAME=VALUE", text);
        if (replay_arguments.n_options == G_N_ELEMENTS(replay_arguments.options))
                return complain_usage(NULL, "--option: expected at most %zu of them",
                                      G_N_ELEMENTS(replay_arguments.options));
        replay_arguments.options[replay_arguments.n_options++] = text;
        return EXIT_FINE;
}

static const VerbOption replay_options[] = {
        { "table", "FILE", "the idle states; this: those of this machine",
          .text = &replay_arguments.table },
        { "power", "NAME", "the power table, for the states of this machine",
          .text = &power_asked },
        { "governor", "LIST", "the governors, separated by commas",
          .text = &replay_arguments.governors },
        { "option", "NAME=VALUE", "an option of the governors that have it", .take = take_option },
        { "decisions", NULL, "only RECORD CPU STATE of each period",
          .flag = &replay_arguments.decisions },
        { "csv", NULL, "a line of CSV for each trace and governor", .flag = &replay_arguments.csv },
        { "html", "FILE", "also write a page with plots", .text = &replay_arguments.html },
        { 0 },
};

int replay_check_table(const Ctl *ctl, const Verb *verb)
{
        const char *table = replay_arguments.table;

        if (power_asked && table && !g_str_equal(table, "this"))
                return complain_usage(
                        verb, "--table: %s has powers of its own: expected no --power", table);
        return EXIT_FINE;
}

static int replay_check(const Ctl *ctl, const Verb *verb)
{
        const ReplayArguments *arguments = &replay_arguments;

        if (replay_check_table(ctl, verb) != EXIT_FINE)
                return EXIT_USAGE;
        if (ctl->json + arguments->csv + arguments->decisions > 1)
                return complain_usage(verb, "--json, --csv and --decisions: expected one of them");
        if (arguments->decisions && arguments->html)
                return complain_usage(verb, "--decisions makes no page: expected no --html");
        if (arguments->html && g_str_has_suffix(arguments->html, ".svg"))
                return complain_usage(verb, "--html: found %s, expected the name of a page",
                                      arguments->html);
        if (arguments->decisions && ctl->n_args != 1)
                return complain_usage(verb, "--decisions: found %d traces, expected one",
                                      ctl->n_args);
        return EXIT_FINE;
}

/* Warns if there is a CPU with other states than those of `cpu`. */
static void warn_of_others(int root, int cpu, const IdleState *states, int n)
{
        IdleState others[IDLE_STATES_MAX];

        for (int other = cpu + 1; other < TRACE_CPUS_MAX; other++) {
                int n_others = idle_states_read(root, other, others);

                if (n_others > 0 &&
                    (n_others != n || memcmp(states, others, (size_t)n * sizeof(*states)) != 0)) {
                        complain("warning: the idle states are those of CPU %d; CPU %d, and maybe "
                                 "others, have other states",
                                 cpu, other);
                        return;
                }
        }
}

/* Warns if the power table lacks states, because then none has a power. */
static void warn_of_unknown(const Prices *prices, int cpu, const IdleState *states, int n)
{
        IdleTable table = { .n_states = n };
        g_autofree char *unknown = NULL;

        memcpy(table.states, states, (size_t)n * sizeof(*states));
        unknown = prices_unknown(prices, &table, 1);
        if (unknown)
                complain("warning: the power table %s has no figure for %s, expected figures for "
                         "all states of CPU %d; powers are not known",
                         prices_name(prices), unknown, cpu);
}

static int table_of_machine(const Ctl *ctl, StateTable *ret_table)
{
        IdleState states[IDLE_STATES_MAX] = { 0 };
        g_autoptr(Prices) prices = NULL;
        StateTable table = { 0 };
        int cpu = 0;

        while (cpu < TRACE_CPUS_MAX && (table.n = idle_states_read(ctl->root, cpu, states)) <= 0)
                cpu++;
        if (table.n <= 0)
                return complain("replay: this machine has no idle states, expected --table FILE");
        if (prices_new(ctl, &prices) != EXIT_FINE)
                return EXIT_FAILED;
        for (int i = 0; i < table.n; i++) {
                ReplayState *state = &table.states[i];

                g_strlcpy(state->name, states[i].name, sizeof(state->name));
                state->latency_ns = states[i].exit_latency_us * INT64_C(1000);
                state->residency_ns = states[i].target_residency_us * INT64_C(1000);
                state->power_mw = prices ? 1000 * price_find(prices, cpu, state->name) : NAN;
                state->polling = idle_state_polls(state->name);
                state->off = !idle_state_enabled(ctl->root, cpu, i);
        }
        warn_of_others(ctl->root, cpu, states, table.n);
        state_table_price(&table);
        if (!table.has_power)
                warn_of_unknown(prices, cpu, states, table.n);
        *ret_table = table;
        return EXIT_FINE;
}

/* Depth is by position, and the right state is the deepest that fits. */
static void warn_of_powers(const char *name, const StateTable *table)
{
        for (int i = 1; i < table->n; i++)
                if (table->states[i].power_mw > table->states[i - 1].power_mw)
                        complain("warning: %s: %s draws more than %s, so the right state may not "
                                 "be the one that needs the least energy",
                                 name, table->states[i].name, table->states[i - 1].name);
}

int replay_table(const Ctl *ctl, const char *name, StateTable *ret_table)
{
        g_autofree char *text = NULL, *message = NULL;
        g_autoptr(GError) error = NULL;

        if (!name || g_str_equal(name, "this"))
                return table_of_machine(ctl, ret_table);
        if (!g_file_get_contents(name, &text, NULL, &error))
                return complain("replay: %s", error->message);
        if (state_table_parse(text, name, ret_table, &message) < 0)
                return complain("%s", message);
        warn_of_powers(name, ret_table);
        return EXIT_FINE;
}

static void choice_free(void *data)
{
        Choice *choice = data;

        settings_free(choice->governor->settings, choice->options);
        g_free(choice->name);
        g_free(choice);
}

static const char **governor_names(void)
{
        GPtrArray *names = g_ptr_array_new();

        for (int i = 0; governors[i]; i++)
                g_ptr_array_add(names, (gpointer)governors[i]->name);
        g_ptr_array_add(names, NULL);
        return (const char **)(void *)g_ptr_array_free(names, FALSE);
}

static int complain_governor(const char *name)
{
        g_autofree const char **names = governor_names();
        g_autofree char *known = g_strjoinv(", ", (char **)names);
        g_autofree char *hint = text_suggest(word_nearest(name, names));

        return complain_usage(NULL, "replay: found governor \"%s\"%s, expected %s", name, hint,
                              known);
}

/* Sets one option; true if the governor has it. `*ret_error` says if the value is wrong. */
static bool set_option(Choice *choice, const char *key, const char *value, char **ret_error)
{
        const Setting *row = choice->governor->settings;

        while (row && row->key && g_ascii_strcasecmp(row->key, key) != 0)
                row++;
        if (!row || !row->key)
                return false;
        setting_parse(row, value, choice->options, ret_error);
        return true;
}

/* "NAME" or "NAME:VALUE", of which the value is that of the governor's first option. */
static Choice *choice_new(const char *name)
{
        const Governor *governor = governor_find(name);
        const char *colon = strchr(name, ':');
        g_autofree char *error = NULL;
        Choice *choice;

        if (!governor || (colon && !governor->settings)) {
                complain_governor(name);
                return NULL;
        }
        choice = g_new0(Choice, 1);
        choice->name = g_strdup(name);
        choice->governor = governor;
        if (governor->settings)
                settings_new(governor->settings, governor->options_size, &choice->options, &error);
        if (!error && colon)
                set_option(choice, governor->settings->key, colon + 1, &error);
        if (!error)
                return choice;
        complain_usage(NULL, "replay: %s: %s", name, error);
        choice_free(choice);
        return NULL;
}

/* EXIT_USAGE after a message. */
static int apply_option(GPtrArray *choices, const char *text)
{
        g_autofree char *key = g_strndup(text, strcspn(text, "="));
        const char *value = strchr(text, '=') + 1;
        bool known = false;

        for (guint i = 0; i < choices->len; i++) {
                g_autofree char *error = NULL;

                known |= set_option(g_ptr_array_index(choices, i), key, value, &error);
                if (error)
                        return complain_usage(NULL, "--option: %s: %s", key, error);
        }
        if (!known)
                return complain_usage(NULL, "--option: none of the governors has an option \"%s\"",
                                      key);
        return EXIT_FINE;
}

/* EXIT_USAGE after a message. */
static int check_options(const GPtrArray *choices, const StateTable *table)
{
        for (guint i = 0; i < choices->len; i++) {
                const Choice *choice = g_ptr_array_index(choices, i);
                const char *wrong = choice->governor->check
                                            ? choice->governor->check(choice->options, table)
                                            : NULL;

                if (wrong)
                        return complain_usage(NULL, "replay: %s: %s", choice->name, wrong);
        }
        return EXIT_FINE;
}

GPtrArray *replay_choices(const Ctl *ctl, const char *list, const StateTable *table)
{
        g_autoptr(GPtrArray) choices = g_ptr_array_new_with_free_func(choice_free);
        g_autofree const char **all = governor_names();
        g_autofree char *every = g_strjoinv(",", (char **)all);
        g_auto(GStrv) names = g_strsplit(list ? list : every, ",", -1);

        if (!names[0])
                return complain_governor(""), NULL;
        for (int i = 0; names[i]; i++) {
                Choice *choice;

                if (!list && g_str_equal(names[i], "fixed"))
                        continue;
                choice = choice_new(names[i]);
                if (!choice)
                        return NULL;
                g_ptr_array_add(choices, choice);
        }
        for (int i = 0; i < replay_arguments.n_options; i++)
                if (apply_option(choices, replay_arguments.options[i]) != EXIT_FINE)
                        return NULL;
        return check_options(choices, table) != EXIT_FINE ? NULL : g_steal_pointer(&choices);
}

static json_object *describe_table(const char *name, const StateTable *table)
{
        json_object *answer = json_object_new_object(), *states = json_object_new_array();

        json_put_text(answer, "name", name);
        for (int i = 0; i < table->n; i++) {
                const ReplayState *state = &table->states[i];
                json_object *row = json_add(states);

                json_put_text(row, "name", state->name);
                json_put_int(row, "exit_latency_us", state->latency_ns / 1000);
                json_put_int(row, "target_residency_us", state->residency_ns / 1000);
                json_put_real(row, "power_mw", state->power_mw, 3);
                json_put_bool(row, "polling", state->polling);
                json_put_bool(row, "off", state->off);
        }
        json_put(answer, "states", states);
        return answer;
}

/* NAN if there is nothing to divide by. */
static double ratio(double value, double by)
{
        return by > 0 ? value / by : NAN;
}

static json_object *describe_score(const char *name, const Score *score, const StateTable *table)
{
        json_object *answer = json_object_new_object(), *entered = json_object_new_array();
        double n = (double)score->periods;

        json_put_text(answer, "governor", name);
        json_put_real(answer, "correct_percent", 100 * ratio((double)score->correct, n), 4);
        json_put_real(answer, "too_deep_percent", 100 * ratio((double)score->deep, n), 4);
        json_put_real(answer, "too_shallow_percent", 100 * ratio((double)score->shallow, n), 4);
        json_put_real(answer, "energy_joules", score->energy / 1e12, 9);
        json_put_real(answer, "energy_ratio", ratio(score->energy, score->ideal_energy), 6);
        json_put_real(answer, "exit_latency_us", ratio(score->latency_ns, n) / 1000, 4);
        for (int i = 0; i < table->n; i++)
                json_object_array_add(entered, json_object_new_int64((int64_t)score->entered[i]));
        json_put(answer, "entered", entered);
        return answer;
}

static json_object *describe_run(const Run *run, const GPtrArray *choices, const StateTable *table)
{
        json_object *answer = json_object_new_object(), *rows = json_object_new_array();

        json_put_text(answer, "trace", run->path);
        json_put_int(answer, "periods", (int64_t)run->facts.records);
        json_put_int(answer, "cpus", run->facts.cpus);
        json_put_int(answer, "backward_steps", (int64_t)run->facts.backwards);
        for (guint i = 0; i < choices->len; i++) {
                const Choice *choice = g_ptr_array_index(choices, i);

                json_object_array_add(
                        rows, describe_score(choice->name, replay_score(run->replays[i]), table));
        }
        json_put(answer, "governors", rows);
        return answer;
}

/* Over all traces: arithmetic means, of the energy ratio the geometric one. */
static json_object *describe_mean(json_object *traces, const Choice *choice, size_t i)
{
        static const char *const keys[] = { "correct_percent", "too_deep_percent",
                                            "too_shallow_percent", "exit_latency_us" };
        json_object *answer = json_object_new_object(), *trace;
        double n = (double)json_length(traces), logs = 0;

        json_put_text(answer, "governor", choice->name);
        for (size_t k = 0; k < G_N_ELEMENTS(keys); k++) {
                double sum = 0;

                JSON_FOREACH(trace, traces)
                        sum += json_number(json_element(json_get(trace, "governors"), i), keys[k],
                                           NAN);
                json_put_real(answer, keys[k], sum / n, 4);
        }
        JSON_FOREACH(trace, traces)
                logs += log(json_number(json_element(json_get(trace, "governors"), i),
                                        "energy_ratio", NAN));
        json_put_real(answer, "energy_ratio", exp(logs / n), 6);
        return answer;
}

/* {governor: {option: value}} of those that have options. */
static json_object *describe_options(const GPtrArray *choices)
{
        json_object *answer = json_object_new_object();

        for (guint i = 0; i < choices->len; i++) {
                const Choice *choice = g_ptr_array_index(choices, i);
                const Setting *row = choice->governor->settings;
                json_object *options = row ? json_object_new_object() : NULL;

                for (; row && row->key; row++) {
                        g_autofree char *value = setting_format(row, choice->options);

                        json_put_text(options, row->key, value);
                }
                if (options)
                        json_put(answer, choice->name, options);
        }
        return answer;
}

static json_object *describe(const char *table_name, const StateTable *table,
                             const GPtrArray *choices, const GPtrArray *runs)
{
        json_object *answer = json_object_new_object();
        json_object *traces = json_object_new_array(), *means = json_object_new_array();

        for (guint i = 0; i < runs->len; i++)
                json_object_array_add(traces,
                                      describe_run(g_ptr_array_index(runs, i), choices, table));
        for (guint i = 0; i < choices->len; i++)
                json_object_array_add(means,
                                      describe_mean(traces, g_ptr_array_index(choices, i), i));
        json_put(answer, "table", describe_table(table_name, table));
        json_put(answer, "options", describe_options(choices));
        json_put(answer, "traces", traces);
        json_put(answer, "means", means);
        return answer;
}

/* EXIT_FAILED after the messages of all traces that could not be read, or have nothing in them. */
static int check_runs(const GPtrArray *runs)
{
        int status = EXIT_FINE;

        for (guint i = 0; i < runs->len; i++) {
                const Run *run = g_ptr_array_index(runs, i);

                if (run->error)
                        status = complain("%s", run->error);
                else if (run->facts.records == 0)
                        status = complain("replay: %s: found no idle periods", run->path);
        }
        return status;
}

static int replay_ask(Ctl *ctl, json_object **ret_answer)
{
        const ReplayArguments *arguments = &replay_arguments;
        g_autoptr(GPtrArray) choices = NULL, runs = NULL;
        g_autoptr(json_object) answer = NULL;
        StateTable table;

        if (replay_table(ctl, arguments->table, &table) != EXIT_FINE)
                return EXIT_FAILED;
        choices = replay_choices(ctl, arguments->governors, &table);
        if (!choices)
                return EXIT_USAGE;
        if (arguments->decisions && choices->len != 1)
                return complain_usage(NULL, "replay: --decisions: found %u governors, expected one",
                                      choices->len);
        if (arguments->decisions)
                return replay_decisions(ctl->args[0], g_ptr_array_index(choices, 0), &table);
        runs = replay_runs(ctl->args, ctl->n_args, choices, &table);
        if (check_runs(runs) != EXIT_FINE)
                return EXIT_FAILED;
        answer = describe(arguments->table ? arguments->table : "this", &table, choices, runs);
        if (arguments->html && page_write("replay", answer, arguments->html) != EXIT_FINE)
                return EXIT_FAILED;
        *ret_answer = g_steal_pointer(&answer);
        return EXIT_FINE;
}

static void show_rows(const Ctl *ctl, json_object *rows)
{
        g_autoptr(Table) table = table_new();
        json_object *row;

        table_columns(table, "Governor|>Correct%|>TooDeep%|>TooShallow%|>Energy|>Exit_us");
        JSON_FOREACH(row, rows) {
                table_cell(table, STYLE_PLAIN, json_text(row, "governor"));
                table_number(table, json_number(row, "correct_percent", NAN), 1);
                table_number(table, json_number(row, "too_deep_percent", NAN), 1);
                table_number(table, json_number(row, "too_shallow_percent", NAN), 1);
                table_number(table, json_number(row, "energy_ratio", NAN), 3);
                table_number(table, json_number(row, "exit_latency_us", NAN), 1);
        }
        table_print(table, &ctl->screen);
}

/* "base=teo-6.1 rate=1%", as a new string; empty for a governor without options. */
static char *options_text(json_object *options)
{
        GString *text = g_string_new(NULL);

        if (options) {
                json_object_object_foreach(options, key, value) g_string_append_printf(
                        text, "%s%s=%s", text->len ? " " : "", key, json_object_get_string(value));
        }
        return g_string_free(text, FALSE);
}

static void show_csv(json_object *answer)
{
        g_autoptr(json_object) rows = json_object_new_array();
        json_object *trace, *governor;

        JSON_FOREACH(trace, json_get(answer, "traces"))
                JSON_FOREACH(governor, json_get(trace, "governors")) {
                        g_autofree char *options = options_text(json_get(
                                json_get(answer, "options"), json_text(governor, "governor")));
                        json_object *row = json_add(rows);

                        json_put_members(row, trace, "trace periods");
                        json_put_members(row, governor,
                                         "governor correct_percent too_deep_percent "
                                         "too_shallow_percent energy_joules energy_ratio "
                                         "exit_latency_us");
                        json_put_text(row, "options", options);
                }
        csv_print(rows, "trace,governor,periods,correct_percent,too_deep_percent,"
                        "too_shallow_percent,energy_joules,energy_ratio,exit_latency_us,options");
}

static void show_options(json_object *all)
{
        json_object_object_foreach(all, governor, options)
        {
                g_autofree char *text = options_text(options);

                printf("%s: %s\n", governor, text);
        }
}

static void replay_show(const Ctl *ctl, json_object *answer)
{
        json_object *traces = json_get(answer, "traces"), *trace;

        if (replay_arguments.csv) {
                show_csv(answer);
                return;
        }
        JSON_FOREACH(trace, traces) {
                int64_t back = json_int(trace, "backward_steps", 0);

                screen_line(&ctl->screen, STYLE_TITLE,
                            "%s: %" PRId64 " periods of %" PRId64 " CPUs",
                            json_text(trace, "trace"), json_int(trace, "periods", 0),
                            json_int(trace, "cpus", 0));
                if (back > 0)
                        screen_line(&ctl->screen, STYLE_WARN,
                                    "%" PRId64 " periods begin before the one before them", back);
                show_rows(ctl, json_get(trace, "governors"));
                if (json_length(traces) > 1)
                        putchar('\n');
        }
        if (json_length(traces) > 1) {
                screen_line(&ctl->screen, STYLE_TITLE, "Mean of %zu traces", json_length(traces));
                show_rows(ctl, json_get(answer, "means"));
        }
        show_options(json_get(answer, "options"));
}

const Verb verb_replay = {
        .name = "replay",
        .arguments = "TRACE...",
        .summary = "Compare idle governors on recorded idle periods",
        .help = "Correct% is how often a governor chose the deepest state that saves energy and\n"
                "meets the latency limit. Energy is relative to always choosing that state. The\n"
                "TRACE - is standard input. Governors: ladder, menu-6.1, menu-6.12, menu-7.3, "
                "teo-6.1,\n"
                "teo-6.12, teo-6.18, teo-7.3, teo-util, learned, weighted:BASE, history:BASE, "
                "omniscient,\n"
                "timer-only, fixed:N.\n"
                "  idlelab replay --table laptop.tbl --governor menu-6.12,teo-6.18 trace.csv.xz",
        .options = { replay_options },
        .check = replay_check,
        .min_args = 1,
        .max_args = INT_MAX,
        .ask = replay_ask,
        .show = replay_show,
};
