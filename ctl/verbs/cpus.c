/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl cpus: a row per CPU. Columns are called as turbostat calls them: C6% is the share of the
 * time in state C6, C6 how often it was entered.
 */
#include "cpus.h"

#include <math.h>
#include <stdbool.h>

#include "base/cpuset-text.h"
#include "cli/client.h"
#include "cli/facts.h"
#include "verbs.h"

/* What idled limits the CPU of facts.h to; NULL if that is not known: the machine alone does not
 * show it. */
static json_object *describe_limits(json_object *cpu)
{
        json_object *limits, *has = json_get(cpu, "Limits"), *states;

        if (!has)
                return NULL;
        limits = json_object_new_object();
        states = json_get(has, "disabled_states");
        json_put(limits, "disabled_states",
                 states ? json_object_get(states) : json_object_new_array());
        json_put_members(limits, has,
                         "latency_us governor energy_preference energy_bias boost min_khz "
                         "max_khz");
        return limits;
}

static void add_word(GString *text, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void add_word(GString *text, const char *format, ...)
{
        va_list args;

        if (text->len > 0)
                g_string_append_c(text, ' ');
        va_start(args, format);
        g_string_append_vprintf(text, format, args);
        va_end(args);
}

/* That in a few words, "50us -C6 <=2000MHz", "" for nothing; a new string. */
static char *limits_text(json_object *limits)
{
        GString *text = g_string_new(NULL);
        json_object *states = json_get(limits, "disabled_states"), *state;

        if (json_get(limits, "latency_us"))
                add_word(text, "%" G_GINT64_FORMAT "us", json_int(limits, "latency_us", 0));
        JSON_FOREACH(state, states)
                add_word(text, "-%s", json_object_get_string(state));
        if (json_get(limits, "governor"))
                add_word(text, "%s", json_text(limits, "governor"));
        if (json_get(limits, "energy_preference"))
                add_word(text, "EPP:%s", json_text(limits, "energy_preference"));
        if (json_get(limits, "energy_bias"))
                add_word(text, "EPB:%" G_GINT64_FORMAT, json_int(limits, "energy_bias", 0));
        if (json_get(limits, "min_khz"))
                add_word(text, ">=%" G_GINT64_FORMAT "MHz", json_int(limits, "min_khz", 0) / 1000);
        if (json_get(limits, "max_khz"))
                add_word(text, "<=%" G_GINT64_FORMAT "MHz", json_int(limits, "max_khz", 0) / 1000);
        if (json_get(limits, "boost"))
                add_word(text, "%sboost", json_int(limits, "boost", 0) ? "" : "no-");
        return g_string_free(text, FALSE);
}

/* True if idled holds any of these CPUs to something. */
static bool have_limits(json_object *cpus)
{
        json_object *cpu;

        JSON_FOREACH(cpu, cpus) {
                g_autofree char *text = limits_text(json_get(cpu, "limits"));

                if (*text)
                        return true;
        }
        return false;
}

/* False until something was measured: then all shares are 0. */
static bool is_known(json_object *residency)
{
        json_object *row;
        double sum = 0;

        JSON_FOREACH(row, residency)
                sum += json_element_number(row, 1);
        return sum > 0.5;
}

static json_object *describe_state(json_object *info, json_object *row, const char *estimated)
{
        static const char *const counts[] = { "entered", "above", "below", "rejected" };
        json_object *state = json_object_new_object();

        json_put_text(state, "name", json_element_text(info, 0));
        json_put_int(state, "exit_latency_us", (int64_t)json_element_number(info, 1));
        json_put_int(state, "target_residency_us", (int64_t)json_element_number(info, 2));
        json_put_real(state, "percent", row ? json_element_number(row, 1) * 100 : NAN, 2);
        json_put_bool(state, "estimated",
                      row && g_str_equal(json_element_text(info, 0), estimated));
        for (size_t i = 0; i < G_N_ELEMENTS(counts); i++)
                json_put(state, counts[i],
                         row ? json_object_new_int64((int64_t)json_element_number(row, i + 2))
                             : NULL);
        return state;
}

static json_object *describe_states(json_object *cpu, bool known)
{
        json_object *states = json_object_new_array(), *info;
        json_object *residency = json_get(cpu, "Residency"), *infos = json_get(cpu, "IdleStates");

        JSON_FOREACH(info, infos)
                json_object_array_add(
                        states,
                        describe_state(
                                info,
                                known ? json_find_row(residency, json_element_text(info, 0), NULL)
                                      : NULL,
                                json_text(cpu, "Estimated")));
        return states;
}

static const char *state_of(json_object *cpu)
{
        return !json_true(cpu, "Online")    ? "offline"
               : json_true(cpu, "Parked")   ? "parked"
               : json_true(cpu, "Isolated") ? "isolated"
                                            : "active";
}

static json_object *describe_cpu(json_object *cpu, bool observed)
{
        static const char *const groups[][2] = {
                { "core", "Core" },       { "cluster", "Cluster" }, { "die", "Die" },
                { "package", "Package" }, { "node", "Node" },       { "thread", "Thread" },
        };
        json_object *answer = json_object_new_object();
        json_object *residency = json_get(cpu, "Residency");
        bool online = json_true(cpu, "Online"), known = online && is_known(residency);
        double busy = known ? json_element_number(json_find_row(residency, "C0", NULL), 1)
                      : online && observed ? json_number(cpu, "Utilization", NAN)
                                           : NAN;

        json_put_int(answer, "cpu", json_int(cpu, "Number", 0));
        for (size_t i = 0; i < G_N_ELEMENTS(groups); i++)
                json_put_int_from(answer, groups[i][0], json_int(cpu, groups[i][1], -1), 0);
        json_put_members(answer, online ? cpu : NULL, "capacity=Capacity");
        json_put_text(answer, "state", state_of(cpu));
        json_put_members(answer, cpu, "kinds=Kinds parked_usec=ParkedUSec");
        json_put_real(answer, "busy_percent", busy * 100, 2);
        json_put(answer, "states", describe_states(cpu, known));
        json_put(answer, "limits", describe_limits(cpu));
        return answer;
}

json_object *cpus_describe(json_object *facts)
{
        json_object *cpus = json_object_new_array(), *all = json_get(facts, "Cpus"), *cpu;
        bool observed = json_int(json_get(facts, "Manager"), "ObservedUSec", 0) > 0;

        JSON_FOREACH(cpu, all)
                json_object_array_add(cpus, describe_cpu(cpu, observed));
        return cpus;
}

json_object *cpus_interval(json_object *facts)
{
        json_object *all = json_get(facts, "Cpus"), *cpu;
        int64_t usec = json_int(json_get(facts, "Manager"), "ObservedUSec", 0);

        JSON_FOREACH(cpu, all)
                if (is_known(json_get(cpu, "Residency")))
                        usec = json_int(cpu, "ResidencyUSec", 0);
        return usec ? json_object_new_int64(usec) : NULL;
}

/* A state of each name that these CPUs have, shallowest first as far as they agree. */
static json_object *distinct_states(json_object *cpus)
{
        json_object *distinct = json_object_new_array(), *cpu, *state;

        JSON_FOREACH(cpu, cpus)
                JSON_FOREACH(state, json_get(cpu, "states"))
                        if (!json_find(distinct, "name", json_text(state, "name")))
                                json_object_array_add(distinct, json_object_get(state));
        return distinct;
}

/* The mean of a state over `n` CPUs; those without it spend no time in it. */
static json_object *summarize_state(json_object *cpus, const char *name, int n)
{
        json_object *answer = json_object_new_object(), *cpu;
        bool estimated = false;
        double sum = 0;

        JSON_FOREACH(cpu, cpus) {
                json_object *state = json_find(json_get(cpu, "states"), "name", name);

                sum += json_number(state, "percent", 0);
                estimated |= json_get(state, "percent") && json_true(state, "estimated");
        }
        json_put_text(answer, "name", name);
        json_put_real(answer, "percent", n ? sum / n : NAN, 2);
        json_put_bool(answer, "estimated", estimated);
        return answer;
}

json_object *cpus_summarize(json_object *cpus)
{
        g_autoptr(json_object) distinct = distinct_states(cpus);
        json_object *answer = json_object_new_object(), *states = json_object_new_array();
        json_object *cpu, *one;
        double busy = 0;
        int n = 0;

        JSON_FOREACH(cpu, cpus)
                if (json_get(cpu, "busy_percent")) {
                        busy += json_number(cpu, "busy_percent", 0);
                        n++;
                }
        json_put_real(answer, "busy_percent", n ? busy / n : NAN, 2);
        JSON_FOREACH(one, distinct)
                json_object_array_add(states, summarize_state(cpus, json_text(one, "name"), n));
        json_put(answer, "states", states);
        return answer;
}

char *percent_text(json_object *object, const char *key, bool estimated)
{
        if (!json_get(object, key))
                return g_strdup("-");
        return g_strdup_printf("%s%.1f", estimated ? "~" : "", json_number(object, key, 0));
}

/* Adds the daemon's facts about CPUs that were measured here. */
static void add_parked(json_object *facts, json_object *manager)
{
        json_object *cpus = json_get(facts, "Cpus"), *cpu;
        CpuSet parked;

        if (cpuset_parse(json_text(manager, "Parked"), &parked) < 0)
                return;
        JSON_FOREACH(cpu, cpus)
                json_put_bool(cpu, "Parked", cpuset_has(&parked, (int)json_int(cpu, "Number", -1)));
}

static int cpus_ask(Ctl *ctl, json_object **ret_answer)
{
        json_object *manager = client_manager(ctl->client), *answer;
        bool measured = interval_asked_usec || !manager;
        g_autoptr(json_object) facts = NULL;

        facts = measured ? facts_measure(ctl, interval_asked_usec ?: FACTS_INTERVAL_USEC)
                         : facts_get(ctl);
        if (!facts)
                return EXIT_FAILED;
        if (measured && manager)
                add_parked(facts, manager);
        answer = answer_new(ctl);
        json_put(answer, "interval_usec", cpus_interval(facts));
        json_put(answer, "cpus", cpus_describe(facts));
        *ret_answer = answer;
        return EXIT_FINE;
}

/* The columns in addition to those that every machine has. */
typedef struct Shown {
        bool kinds;  /* cores differ */
        bool limits; /* idled holds a CPU to something */
        bool times;  /* how long CPUs were parked is known */
} Shown;

static void add_columns(Table *table, const Screen *screen, json_object *distinct,
                        const Shown *shown)
{
        json_object *one;

        table_columns(table, ">CPU|>Core|>Clus|>Die|>Pkg|>Node|>Cap|State");
        if (shown->times)
                table_column(table, "Parked", true);
        if (shown->kinds)
                table_column(table, "Kind", true); /* there or left out, as numbers are */
        table_column(table, "Busy%", true);
        if (screen->terminal)
                table_column(table, "", false);
        if (shown->limits)
                table_column(table, "Limits", false);
        JSON_FOREACH(one, distinct) {
                g_autofree char *title = g_strconcat(json_text(one, "name"), "%", NULL);

                table_column(table, title, true);
        }
        JSON_FOREACH(one, distinct)
                table_column(table, json_text(one, "name"), true);
}

static void add_states(Table *table, json_object *cpu, json_object *distinct)
{
        json_object *states = json_get(cpu, "states"), *one;

        JSON_FOREACH(one, distinct) {
                json_object *state = json_find(states, "name", json_text(one, "name"));
                g_autofree char *text = percent_text(state, "percent",
                                                     json_true(state, "estimated"));

                table_cell(table, STYLE_PLAIN, text);
        }
        JSON_FOREACH(one, distinct)
                table_member(table, json_find(states, "name", json_text(one, "name")), "entered", 1,
                             0, "");
}

static void add_limits(Table *table, json_object *cpu)
{
        g_autofree char *text = limits_text(json_get(cpu, "limits"));

        table_cell(table, *text ? STYLE_PLAIN : STYLE_DIM, *text ? text : "-");
}

static void add_kinds(Table *table, json_object *kinds)
{
        g_autofree char *text = json_join(kinds, ",");

        table_cell(table, *text ? STYLE_PLAIN : STYLE_DIM, *text ? text : "-");
}

/* How long the CPU was parked since idled started. */
static void add_time(Table *table, json_object *cpu)
{
        double seconds = json_number(cpu, "parked_usec", 0) / 1e6;
        g_autofree char *text = text_duration(seconds);

        table_cell(table, seconds > 0 ? STYLE_PLAIN : STYLE_DIM, seconds > 0 ? text : "-");
}

static void add_row(Table *table, const Screen *screen, json_object *cpu, json_object *distinct,
                    const Shown *shown)
{
        static const char *const groups[] = { "cpu",     "core", "cluster", "die",
                                              "package", "node", "capacity" };
        g_autofree char *busy = percent_text(cpu, "busy_percent", false);
        const char *state = json_text(cpu, "state");
        g_autofree char *bar = text_bar(screen, json_number(cpu, "busy_percent", 0) / 100);
        Style style = g_str_equal(state, "parked")   ? STYLE_GOOD
                      : g_str_equal(state, "active") ? STYLE_PLAIN
                                                     : STYLE_DIM;

        for (size_t i = 0; i < G_N_ELEMENTS(groups); i++)
                table_member(table, cpu, groups[i], 1, 0, "");
        table_cell(table, style, state);
        if (shown->times)
                add_time(table, cpu);
        if (shown->kinds)
                add_kinds(table, json_get(cpu, "kinds"));
        table_cell(table, STYLE_PLAIN, busy);
        if (screen->terminal)
                table_cell(table, STYLE_WARN, bar);
        if (shown->limits)
                add_limits(table, cpu);
        add_states(table, cpu, distinct);
}

static void cpus_show(const Ctl *ctl, json_object *answer)
{
        static const char *const dispensable[] = { "Clus", "Die", "Node", "Pkg", "Cap", NULL };
        json_object *cpus = json_get(answer, "cpus"), *cpu;
        Shown shown = { .limits = have_limits(cpus) };
        g_autoptr(json_object) distinct = distinct_states(cpus);
        g_autoptr(Table) table = table_new();

        answer_show_daemon(ctl, answer);
        JSON_FOREACH(cpu, cpus)
                shown.times |= json_get(cpu, "parked_usec") != NULL,
                        shown.kinds |= json_length(json_get(cpu, "kinds")) > 0;
        add_columns(table, &ctl->screen, distinct, &shown);
        JSON_FOREACH(cpu, cpus)
                add_row(table, &ctl->screen, cpu, distinct, &shown);
        table_fit(table, &ctl->screen, dispensable);
        table_print(table, &ctl->screen);
}

const Verb verb_cpus = {
        .name = "cpus",
        .summary = "Show every CPU: place, state, and how it spent its time",
        .help = "Busy% and the shares of the idle states add up to 100. The column of a state\n"
                "without % counts how often it was entered. Without --interval the values cover\n"
                "the time since the daemon was last asked, or 0.2 s without the daemon.",
        .options = { interval_option },
        .ask = cpus_ask,
        .show = cpus_show,
};
