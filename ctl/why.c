/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl why: for each CPU, or for the last transitions, the policy, what it looked at, what that
 * was compared with, and the line of the configuration that says so. CPUs of which the same can be
 * said are told of together.
 */
#include <string.h>

#include "base/cpuset-text.h"
#include "client.h"
#include "facts.h"

/* The part that CPUs and transitions have in common. */
static void describe_reason(json_object *answer, json_object *from)
{
        static const char *const texts[] = { "policy", "because", "option", "source", "text" };
        static const char *const keys[] = { "name", "value", "unit" };
        json_object *inputs = json_object_new_array(), *all = json_get(from, "inputs"), *input;
        bool compared = *json_text(from, "threshold_unit");

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                json_put_text_any(answer, texts[i], json_text(from, texts[i]));
        JSON_FOREACH(input, all) {
                json_object *object = json_object_new_object();

                for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                        json_put(object, keys[i], json_object_get(json_element(input, i)));
                json_object_array_add(inputs, object);
        }
        json_put(answer, "inputs", inputs);
        json_put(answer, "threshold",
                 compared ? json_object_get(json_get(from, "threshold")) : NULL);
        json_put_text_any(answer, "threshold_unit",
                          compared ? json_text(from, "threshold_unit") : NULL);
}

/* What is so and what the plan wants differ in a dry run, or if it could not be carried out. */
static json_object *describe_cpus(json_object *manager, json_object *explained, const CpuSet *asked)
{
        json_object *answer = json_object_new_array(), *row;
        CpuSet idle_mask = { 0 };

        cpuset_parse(json_text(manager, "IdleMask"), &idle_mask);

        JSON_FOREACH(row, explained) {
                json_object *object;
                int64_t since = json_int(row, "since_usec", 0);
                int cpu = (int)json_int(row, "cpu", -1);

                if (asked && !cpuset_has(asked, cpu))
                        continue;
                object = json_object_new_object();
                json_put_same(object, "cpu", row, "cpu");
                json_put_same(object, "parked", row, "parked");
                json_put_bool(object, "in_idle_mask", cpuset_has(&idle_mask, cpu));
                json_put(object, "since_usec", since ? json_object_new_int64(since) : NULL);
                describe_reason(object, row);
                json_put_text_any(object, "obstacle", json_text(row, "obstacle"));
                json_object_array_add(answer, object);
        }
        return answer;
}

static json_object *describe_history(json_object *history)
{
        json_object *answer = json_object_new_array(), *row;

        JSON_FOREACH(row, history) {
                json_object *object = json_object_new_object();

                json_put_same(object, "time_usec", row, "time_usec");
                json_put_same(object, "parked", row, "parked");
                describe_reason(object, row);
                json_object_array_add(answer, object);
        }
        return answer;
}

/* The CPUs named on the command line. False after a message if they are none. */
static bool take_cpus(const Ctl *ctl, CpuSet *ret_asked, int *ret_status)
{
        CpuSet online;

        for (int i = 0; i < ctl->n_args; i++) {
                CpuSet some;

                if (cpuset_parse(ctl->args[i], &some) < 0 || cpuset_is_empty(&some)) {
                        *ret_status = complain_usage(NULL,
                                                     "why: found \"%s\", expected CPUs such as 2 "
                                                     "or 0-3,8",
                                                     ctl->args[i]);
                        return false;
                }
                cpuset_or(ret_asked, &some);
        }
        if (client_manager(ctl->client) &&
            cpuset_parse(json_text(client_manager(ctl->client), "Online"), &online) == 0 &&
            !cpuset_is_subset(ret_asked, &online)) {
                g_autofree char *text = cpuset_format(&online);

                *ret_status = complain("why: only CPUs that are online can be explained: %s", text);
                return false;
        }
        return true;
}

json_object *why_ask(Ctl *ctl, int *ret_status)
{
        bool history = ctl->given & OPTION_HISTORY;
        g_autoptr(json_object) told = NULL;
        g_autofree char *error = NULL;
        CpuSet asked = { 0 };
        json_object *answer;

        if (history && ctl->n_args > 0) {
                *ret_status = complain_usage(NULL, "why: --history is about all CPUs");
                return NULL;
        }
        if (!take_cpus(ctl, &asked, ret_status))
                return NULL;
        if (client_call(ctl->client, history ? "History" : "Explain", NULL, &told, &error) < 0) {
                *ret_status = complain("%s", error);
                return NULL;
        }
        answer = answer_new(ctl);
        if (history)
                json_put(answer, "history", describe_history(told));
        else
                json_put(answer, "cpus",
                         describe_cpus(client_manager(ctl->client), told,
                                       ctl->n_args ? &asked : NULL));
        return answer;
}

/* Adds " 0.4 CPUs", " 1 CPU", " 99 %"; units of things are plural, as the daemon names them. */
static void add_value(GString *text, double value, const char *unit)
{
        static const char *const things[] = { "CPUs", "cores", NULL };
        g_autofree char *number = g_strdup_printf("%.4g", value);
        bool one = g_str_equal(number, "1") && g_strv_contains(things, unit);
        int length = (int)strlen(unit) - one;

        g_string_append_printf(text, " %s%s%.*s", number, *unit ? " " : "", length, unit);
}

/* " (load 0.4 CPUs, battery 20 %)", or nothing. */
static void add_inputs(GString *text, json_object *inputs)
{
        json_object *input;
        const char *separator = " (";

        JSON_FOREACH(input, inputs) {
                const char *name = json_text(input, "name"), *unit = json_text(input, "unit");

                g_string_append_printf(text, "%s%s", separator, name);
                /* "wanted cores 2", without saying cores twice */
                add_value(text, json_number(input, "value", 0), strstr(name, unit) ? "" : unit);
                separator = ", ";
        }
        if (json_length(inputs) > 0)
                g_string_append_c(text, ')');
}

/* " by POLICY: because (inputs); OPTION is THRESHOLD (FILE:LINE)". A policy that left things as
 * they are did nothing to be named by: " (POLICY)". */
static void add_reason(GString *text, json_object *row, bool done)
{
        const char *policy = json_text(row, "policy"), *because = json_text(row, "because");
        const char *option = json_text(row, "option"), *unit = json_text(row, "threshold_unit");

        if (g_str_equal(policy, "pause"))
                g_string_append(text, " while paused");
        else if (g_str_equal(policy, "safety"))
                g_string_append(text, " for safety");
        else if (*policy)
                g_string_append_printf(text, done ? " by %s" : " (%s)", policy);
        if (*because)
                g_string_append_printf(text, ": %s", because);
        add_inputs(text, json_get(row, "inputs"));
        if (!*option) {
                g_string_append(text, *unit ? "; no option decides this" : "");
                return;
        }
        g_string_append_printf(text, "; %s%s", *unit ? "" : "see ", option);
        if (*unit) {
                g_string_append(text, " is");
                add_value(text, json_number(row, "threshold", 0), unit);
        }
        g_string_append_printf(text, " (%s)", json_text(row, "source"));
}

static char *cpu_text(json_object *row)
{
        bool parked = json_true(row, "parked"), wanted = json_true(row, "in_idle_mask");
        double since = json_number(row, "since_usec", 0);
        bool done = parked || wanted || since > 0;
        GString *text = g_string_new(parked != wanted
                                             ? wanted ? "should be parked" : "should be unparked"
                                     : parked    ? "parked"
                                     : since > 0 ? "unparked"
                                                 : "in use");

        if (since > 0 && parked == wanted) {
                g_autofree char *ago = text_duration(((double)g_get_real_time() - since) / 1e6);

                g_string_append_printf(text, " %s ago", ago);
        }
        add_reason(text, row, done);
        if (json_get(row, "obstacle"))
                g_string_append_printf(text, ", but nobody is kept off: %s",
                                       json_text(row, "obstacle"));
        if (!json_get(row, "policy") && !json_get(row, "because"))
                g_string_append(text, ": no policy wishes otherwise");
        return g_string_free(text, FALSE);
}

/* Prints what can be said of the first CPU in `left` and of all others like it, and takes them
 * out. */
static void show_group(const Screen *screen, char **texts, const int *numbers, size_t n,
                       size_t first)
{
        g_autofree char *cpus = NULL, *line = NULL;
        CpuSet group = { 0 };

        for (size_t i = first; i < n; i++)
                if (texts[i] && (i == first || g_str_equal(texts[i], texts[first])))
                        cpuset_add(&group, numbers[i]);
        cpus = cpuset_format(&group);
        line = g_strdup_printf("%s %s", cpus, texts[first]);
        screen_sentence(screen, g_str_has_prefix(texts[first], "parked") ? STYLE_GOOD : STYLE_PLAIN,
                        line);
        for (size_t i = n; i-- > first;)
                if (cpuset_has(&group, numbers[i]))
                        g_clear_pointer(&texts[i], g_free);
}

static void show_cpus(const Screen *screen, json_object *cpus)
{
        size_t n = json_length(cpus);
        g_autofree int *numbers = g_new(int, n + 1);
        g_autofree char **texts = g_new(char *, n + 1);

        for (size_t i = 0; i < n; i++) {
                json_object *row = json_element(cpus, i);

                numbers[i] = (int)json_int(row, "cpu", 0);
                texts[i] = cpu_text(row);
        }
        for (size_t i = 0; i < n; i++)
                if (texts[i])
                        show_group(screen, texts, numbers, n, i);
}

static void show_transition(const Screen *screen, json_object *row)
{
        double past = ((double)g_get_real_time() - json_number(row, "time_usec", 0)) / 1e6;
        g_autofree char *ago = text_duration(past);
        const char *parked = json_text(row, "parked");
        GString *text = g_string_new(NULL);

        g_string_append_printf(text, "%s ago: %s parked", ago, *parked ? parked : "nothing");
        add_reason(text, row, true);
        screen_sentence(screen, *parked ? STYLE_GOOD : STYLE_PLAIN, text->str);
        g_string_free(text, TRUE);
}

void why_show(const Ctl *ctl, json_object *answer)
{
        json_object *history = json_get(answer, "history"), *row;

        if (!history) {
                show_cpus(&ctl->screen, json_get(answer, "cpus"));
                return;
        }
        if (json_length(history) == 0)
                screen_line(&ctl->screen, STYLE_PLAIN, "Nothing was parked or unparked yet.");
        JSON_FOREACH(row, history)
                show_transition(&ctl->screen, row);
}
