/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl status: one screen about the daemon, the machine, and the parked CPUs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "benefit.h"
#include "cli/client.h"
#include "pause.h"
#include "cpus.h"
#include "explained.h"
#include "cli/facts.h"
#include "left.h"
#include "requests.h"
#include "status.h"
#include "model/measured.h"
#include "verbs.h"

#define JSON_DECIMALS 2

static void describe_daemon(json_object *daemon, json_object *manager)
{
        json_object *keeps = json_get(manager, "KeepsAffinities");
        json_object *trial = json_get(manager, "Trial");
        json_object *object = json_get(trial, "owner") ? json_object_new_object() : NULL;

        json_put_texts(daemon, manager, "profile=Profile profile_reason=ProfileReason");
        json_put(daemon, "pauses", pauses_describe(manager));
        json_put(daemon, "trial", object);
        if (object)
                json_put_members(object, trial, "owner reason");
        json_put_int(daemon, "holds", (int64_t)json_length(json_get(manager, "Holds")));
        json_put_members(daemon, manager,
                         "policies=Policies park_backend=ParkBackend config_files=ConfigFiles "
                         "transitions=Transitions transitions_last_minute=TransitionsLastMinute "
                         "ticks=Ticks cpu_usec=CpuUSec wakeups=Wakeups");
        json_put(daemon, "keeps_affinities", json_object_get(json_element(keeps, 0)));
        json_put(daemon, "keeps_affinities_because", json_object_get(json_element(keeps, 1)));
        json_put_int_from(daemon, "next_tick_usec", json_int(manager, "PeriodUSec", 0), 1);
}

/* Why nothing is parked; null while something is, or without the daemon. */
static void put_nothing_parked(Ctl *ctl, json_object *cpus)
{
        json_object *manager = client_manager(ctl->client);
        g_autofree char *error = NULL, *text = NULL;
        g_autoptr(json_object) explained = NULL;

        if (manager && json_get(manager, "Parked") && !*json_text(manager, "Parked")) {
                client_call(ctl->client, "Explain", "", NULL, &explained, &error);
                text = explained_nothing_parked(manager, explained);
        }
        json_put_text(cpus, "nothing_parked_because", text);
}

/* A number of a measured property; NULL if it is not known. */
static json_object *measured_json(json_object *manager, const Measured *row, size_t i, bool known)
{
        json_object *value = json_get(manager, row->property);
        double number = json_object_is_type(value, json_type_array)
                                ? json_element_number(value, i)
                                : json_number(manager, row->property, NAN);

        if (!known || !value)
                return NULL;
        if (*row->signature == 'b')
                return json_object_new_string(row->words[json_true(manager, row->property)]);
        if (*row->signature == 'u')
                return json_object_get(value);
        if (g_str_has_suffix(row->keys[i], "_percent"))
                number *= 100;
        return number < 0 ? NULL : json_real(number, JSON_DECIMALS);
}

/* All measured properties, each in the object that its row names. */
static void put_measured(json_object *answer, json_object *manager)
{
        int64_t observed = json_int(manager, "ObservedUSec", 0);

        for (const Measured *row = measured_properties; row->property; row++) {
                const char *source = sense_missing_name(row->sense);
                bool known = (observed || !row->mean) &&
                             !(source && facts_missing(manager, source));

                if (!json_get(answer, row->group))
                        json_put(answer, row->group, json_object_new_object());
                for (size_t i = 0; i < MEASURED_NUMBERS && row->keys[i]; i++)
                        json_put(json_get(answer, row->group), row->keys[i],
                                 measured_json(manager, row, i, known));
        }
        json_put_int_from(json_get(answer, "load"), "interval_usec", observed, 1);
}

static json_object *describe_energy(json_object *facts)
{
        json_object *answer = json_object_new_array(), *domains = json_get(facts, "Energy");
        json_object *domain;

        JSON_FOREACH(domain, domains) {
                json_object *object = json_add(answer);
                double watts = json_number(domain, "Power", -1);

                json_put_texts(object, domain, "name=Name parent=Parent");
                json_put_real(object, "power_watts", watts < 0 ? NAN : watts, 1);
                json_put_text_any(object, "source", json_text(domain, "Source"));
                json_put_bool(object, "sampled", json_true(domain, "Sampled"));
        }
        return answer;
}

#define LABEL_WIDTH 12

static void line(const Screen *screen, Style style, const char *label, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

static void line(const Screen *screen, Style style, const char *label, const char *format, ...)
{
        g_autofree char *text = NULL, *padded = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        padded = g_strdup_printf("%-*s", LABEL_WIDTH, label);
        screen_print(screen, STYLE_TITLE, padded);
        screen_wrapped(screen, style, LABEL_WIDTH, text);
}

/* A set of CPUs, "none" if it is empty, "-" if it is not known. */
static const char *set_text(json_object *object, const char *key)
{
        const char *text = json_text(object, key);

        return !json_get(object, key) ? "-" : *text ? text : "none";
}

static char *number_text(json_object *object, const char *key, int decimals, const char *unit)
{
        if (!json_get(object, key))
                return g_strdup("-");
        return g_strdup_printf("%.*f%s", decimals, json_number(object, key, 0), unit);
}

static void show_profile(const Screen *screen, json_object *daemon)
{
        const char *name = json_text(daemon, "profile"), *why = json_text(daemon, "profile_reason");

        if (*name)
                line(screen, STYLE_PLAIN, "Profile", "%s%s%s%s", name, *why ? " (" : "", why,
                     *why ? ")" : "");
}

static void show_daemon(const Screen *screen, json_object *daemon)
{
        g_autofree char *policies = json_join(json_get(daemon, "policies"), ", ");
        json_object *pauses = json_get(daemon, "pauses"), *pause;
        bool kept = json_true(daemon, "keeps_affinities");

        line(screen, STYLE_PLAIN, "Daemon", "idled %s%s", json_text(daemon, "version"),
             json_true(daemon, "dry_run") ? ", dry run: nothing is changed" : "");
        JSON_FOREACH(pause, pauses) {
                g_autofree char *text = pause_text(pause);

                line(screen, STYLE_WARN, "Paused", "%s", text);
        }
        if (json_get(daemon, "trial"))
                line(screen, STYLE_WARN, "Trial", "%s: %s",
                     json_text(json_get(daemon, "trial"), "owner"),
                     json_text(json_get(daemon, "trial"), "reason"));
        if (json_int(daemon, "holds", 0) > 0)
                line(screen, STYLE_PLAIN, "Holds", "%d (see idlectl holds)",
                     (int)json_int(daemon, "holds", 0));
        show_profile(screen, daemon);
        line(screen, STYLE_PLAIN, "Policies", "%s", *policies ? policies : "none");
        line(screen, STYLE_PLAIN, "Back end", "%s", json_text(daemon, "park_backend"));
        line(screen, kept ? STYLE_PLAIN : STYLE_WARN, "Affinities", "%s (%s)",
             kept ? "kept" : "reset when CPUs are parked",
             json_text(daemon, "keeps_affinities_because"));
}

/* Why nothing can be parked is shown once: with the back end. */
static void show_cpus(const Screen *screen, json_object *cpus, const char *back_end)
{
        const char *because = json_text(cpus, "nothing_parked_because");
        const char *why = strchr(back_end, '(');

        line(screen, STYLE_PLAIN, "CPUs", "online %s, isolated %s", set_text(cpus, "online"),
             set_text(cpus, "isolated"));
        if (!json_get(cpus, "parked")) {
                line(screen, STYLE_PLAIN, "Cores", "%d", (int)json_int(cpus, "cores", 0));
                return;
        }
        if (*because && !(why && strstr(because, why)))
                line(screen, STYLE_PLAIN, "Parked", "none: %s", because);
        else if (g_str_equal(set_text(cpus, "parked"), set_text(cpus, "idle_mask")))
                line(screen, STYLE_GOOD, "Parked", "%s", set_text(cpus, "parked"));
        else
                line(screen, STYLE_WARN, "Parked", "%s (decided: %s)", set_text(cpus, "parked"),
                     set_text(cpus, "idle_mask"));
        line(screen, STYLE_PLAIN, "Cores", "%d planned, %d active of %d",
             (int)json_int(cpus, "wanted_cores", 0), (int)json_int(cpus, "active_cores", 0),
             (int)json_int(cpus, "cores", 0));
}

/* Appends the numbers of one row, unless they are not known. */
static void append_cell(GString *text, const Measured *row, json_object *answer)
{
        json_object *object = json_get(answer, row->group);

        if (!json_get(object, row->keys[0]))
                return;
        g_string_append_printf(text, "%s%s", text->len ? ", " : "", row->before ?: "");
        for (size_t i = 0; i < MEASURED_NUMBERS && row->keys[i]; i++) {
                g_autofree char *number = number_text(object, row->keys[i], row->decimals, "");

                g_string_append_printf(text, "%s%s", i ? " " : "",
                                       row->words[0] ? json_text(object, row->keys[i]) : number);
        }
        g_string_append(text, row->after ?: "");
}

/* The lines of all measured properties, in the order of their first rows. */
static void show_measured(const Screen *screen, json_object *answer)
{
        double interval = json_number(json_get(answer, "load"), "interval_usec", 0);

        for (const Measured *row = measured_properties; row->property; row++) {
                const Measured *first = measured_properties;
                GString *text;

                while (!g_str_equal(first->line, row->line))
                        first++;
                if (first != row)
                        continue;
                text = g_string_new(NULL);
                for (; first->property; first++)
                        if (g_str_equal(first->line, row->line))
                                append_cell(text, first, answer);
                if (text->len && row->mean)
                        g_string_append_printf(text, " (over %.1f s)", interval / 1e6);
                if (text->len)
                        line(screen, STYLE_PLAIN, row->line, "%s", text->str);
                g_string_free(text, TRUE);
        }
}

static void show_energy(const Screen *screen, json_object *energy)
{
        GString *watts = g_string_new(NULL);
        json_object *domain;

        JSON_FOREACH(domain, energy) {
                g_autofree char *text = number_text(domain, "power_watts", 1, " W");

                g_string_append_printf(watts, "%s%s %s%s", watts->len ? ", " : "",
                                       json_text(domain, "name"),
                                       json_true(domain, "sampled") ? "~" : "", text);
                if (!g_str_equal(json_text(domain, "source"), "rapl"))
                        g_string_append_printf(watts, " (%s)", json_text(domain, "source"));
        }
        if (watts->len)
                line(screen, STYLE_PLAIN, "Energy", "%s", watts->str);
        g_string_free(watts, TRUE);
}

static void show_contract(const Screen *screen, json_object *contract, json_object *cpus)
{
        g_autofree char *text = contract_text(contract, (int)json_int(cpus, "cores", 0));
        /* That of a profile has no effect in many places, and then the options of ondemand have. */
        bool warn = *json_text(contract, "unit") &&
                    (*json_text(contract, "obstacle") || json_true(contract, "infeasible"));

        line(screen, warn ? STYLE_WARN : STYLE_PLAIN, "Contract", "%s", text);
}

static void show_residency(const Screen *screen, json_object *residency)
{
        json_object *states = json_get(residency, "states"), *state;
        g_autofree char *busy = percent_text(residency, "busy_percent", false);
        double interval = json_number(residency, "interval_usec", 0);
        g_autoptr(Table) table = table_new();

        if (!json_length(states))
                return;
        table_columns(table, "Residency|>Busy%");
        JSON_FOREACH(state, states) {
                g_autofree char *title = g_strconcat(json_text(state, "name"), "%", NULL);

                table_column(table, title, true);
        }
        table_cellf(table, STYLE_PLAIN, "over %.1f s", interval / 1e6);
        table_cell(table, STYLE_PLAIN, busy);
        JSON_FOREACH(state, states) {
                g_autofree char *text = percent_text(state, "percent",
                                                     json_true(state, "estimated"));

                table_cell(table, STYLE_PLAIN, text);
        }
        table_print(table, screen);
}

/* "1 tick", "40 ticks". */
static char *count_text(json_object *object, const char *key, const char *thing)
{
        int64_t n = json_int(object, key, 0);

        return g_strdup_printf("%" G_GINT64_FORMAT " %s%s", n, thing, n == 1 ? "" : "s");
}

static void show_cost(const Screen *screen, json_object *daemon)
{
        double next = json_number(daemon, "next_tick_usec", 0);
        g_autofree char *wakeups = count_text(daemon, "wakeups", "wake-up");
        g_autofree char *ticks = count_text(daemon, "ticks", "tick");
        g_autofree char *period = next > 0 ? g_strdup_printf("next in %.2f s", next / 1e6)
                                           : g_strdup("sleeping until needed");

        line(screen, STYLE_PLAIN, "Transitions",
             "%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT " in the last minute",
             json_int(daemon, "transitions", 0), json_int(daemon, "transitions_last_minute", 0));
        line(screen, STYLE_PLAIN, "Own cost", "%.1f ms of CPU, %s, %s, %s",
             json_number(daemon, "cpu_usec", 0) / 1e3, wakeups, ticks, period);
}

static void show_left(const Screen *screen, int count)
{
        g_autofree char *left = left_text(count);

        if (count > 0)
                screen_sentencef(screen, STYLE_BAD, "%s; \"idled --restore\" restores %s", left,
                                 count == 1 ? "it" : "them");
}

/* The row's reason, unless the line of the back end says it. */
static const char *reason(json_object *row, const char *back_end)
{
        const char *why = json_text(row, "why");

        return *why && strstr(back_end, why) ? "see Back end" : why;
}

/* Prints the screen of status. */
static void status_show(const Ctl *ctl, json_object *answer)
{
        if (dump_asked()) {
                dump_show(ctl, answer);
                return;
        }
        const Screen *screen = &ctl->screen;
        json_object *daemon = json_get(answer, "daemon"), *row;
        const char *back_end = json_text(daemon, "park_backend");

        answer_show_daemon(ctl, answer);
        show_left(screen, (int)json_int(answer, "to_restore", 0));
        if (daemon)
                show_daemon(screen, daemon);
        show_cpus(screen, json_get(answer, "cpus"), back_end);
        show_measured(screen, answer);
        show_energy(screen, json_get(answer, "energy"));
        JSON_FOREACH(row, json_get(answer, "contracts"))
                show_contract(screen, row, json_get(answer, "cpus"));
        JSON_FOREACH(row, json_get(answer, "benefits")) {
                g_autofree char *text = benefit_text(row);

                line(screen, STYLE_PLAIN, "Benefit", "%s", text);
        }
        show_residency(screen, json_get(answer, "residency"));
        if (daemon)
                show_cost(screen, daemon);
        JSON_FOREACH(row, json_get(answer, "refused")) {
                g_autofree char *text = refused_text(row);

                line(screen, STYLE_WARN, "Refused", "%s: active while the %s", text,
                     *json_text(row, "unit") ? "unit is loaded" : "process runs");
        }
        JSON_FOREACH(row, json_get(answer, "degraded"))
                line(screen, STYLE_BAD, "Degraded", "%s %s: %s", json_text(row, "kind"),
                     json_text(row, "name"), reason(row, back_end));
        JSON_FOREACH(row, json_get(answer, "missing"))
                line(screen, STYLE_DIM, "Missing", "%s: %s", json_text(row, "what"),
                     reason(row, back_end));
}

static int status_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(json_object) facts = NULL, cpus = NULL;
        json_object *manager, *answer;

        if (dump_asked())
                return dump_ask(ctl, ret_answer);
        facts = facts_get(ctl);
        if (!facts)
                return EXIT_FAILED;
        manager = json_get(facts, "Manager");
        answer = answer_new(ctl);
        if (json_get(answer, "daemon"))
                describe_daemon(json_get(answer, "daemon"), manager);
        json_put_int_from(answer, "to_restore", left_count(ctl), 0);
        cpus = cpus_describe(facts);
        json_put(answer, "cpus", json_object_new_object());
        json_put_members(json_get(answer, "cpus"), manager,
                         "online=Online isolated=Isolated parked=Parked allowed=Allowed "
                         "idle_mask=IdleMask cores=Cores wanted_cores=WantedCores "
                         "active_cores=ActiveCores");
        put_nothing_parked(ctl, json_get(answer, "cpus"));
        put_measured(answer, manager);
        json_put(answer, "energy", describe_energy(facts));
        json_put(answer, "benefits", benefits_describe(json_get(facts, "Policies")));
        json_put(answer, "residency", cpus_summarize(cpus));
        json_put(json_get(answer, "residency"), "interval_usec", cpus_interval(facts));
        json_put(answer, "refused", refused_describe(manager));
        json_put(answer, "contracts", contracts_describe(manager));
        json_put(answer, "degraded",
                 json_name_rows(json_get(manager, "Degraded"), "kind name why"));
        json_put(answer, "missing", json_name_rows(json_get(manager, "Missing"), "what why"));
        *ret_answer = answer;
        return EXIT_FINE;
}

const Verb verb_status = {
        .name = "status",
        .summary = "Show the daemon, the machine, and the parked CPUs",
        .help = "Without the daemon idlectl measures the machine for 0.2 s. ~ marks an "
                "estimate:\n"
                "a sleep that had not ended. - is a value that is not known. Two outputs of\n"
                "--knobs are equal if nothing changed between them.",
        .options = { dump_options },
        .check = dump_check,
        .ask = status_ask,
        .show = status_show,
};
