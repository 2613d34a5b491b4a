/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl why: for each CPU, or for the last transitions, the policy, what it looked at, what that
 * was compared with, and the line of the configuration that says so. CPUs with the same explanation
 * share a row.
 */

#include "base/cpuset-text.h"
#include "base/number.h"
#include "benefit.h"
#include "cli/client.h"
#include "explained.h"
#include "cli/facts.h"
#include "requests.h"
#include "verbs.h"

static bool show_past;

static const VerbOption why_options[] = {
        { "history", NULL, "show the last changes, and how long CPUs were parked",
          .flag = &show_past },
        { 0 },
};

/* The part that CPUs and transitions have in common. */
static void describe_reason(json_object *answer, json_object *from)
{
        bool compared = *json_text(from, "threshold_unit"), adjusted;

        json_put_texts(answer, from, "cause because option source text");
        json_put_text_any(
                answer, "policy",
                cause_name(cause_parse(json_text(from, "cause")), json_text(from, "policy")));
        json_put(answer, "inputs", json_name_rows(json_get(from, "inputs"), "name value unit"));
        json_put_members(answer, compared ? from : NULL, "threshold threshold_unit");
        adjusted = compared && *json_text(from, "effective_because");
        json_put_members(answer, adjusted ? from : NULL, "effective effective_because");
}

/* What policies requested for the CPU in addition to parking, and what they counted for it. */
static void describe_rest(json_object *answer, json_object *from)
{
        json_object *reasons = json_object_new_array(), *row;

        JSON_FOREACH(row, json_get(from, "reasons")) {
                json_object *object = json_add(reasons);

                describe_reason(object, row);
        }
        json_put(answer, "reasons", reasons);
        json_put(answer, "figures",
                 json_name_rows(json_get(from, "figures"), "policy name unit value"));
}

/* What is so and what the plan wants differ in a dry run, or if it could not be carried out. */
static json_object *describe_cpus(json_object *manager, json_object *explained, const CpuSet *asked)
{
        json_object *answer = json_object_new_array(), *row;
        CpuSet idle_mask = { 0 };

        cpuset_parse(json_text(manager, "IdleMask"), &idle_mask);

        JSON_FOREACH(row, explained) {
                json_object *object;
                int cpu = (int)json_int(row, "cpu", -1);

                if (asked && !cpuset_has(asked, cpu))
                        continue;
                object = json_add(answer);
                json_put_members(object, row, "cpu parked");
                json_put_bool(object, "in_idle_mask", cpuset_has(&idle_mask, cpu));
                json_put_int_from(object, "since_usec", json_int(row, "since_usec", 0), 1);
                describe_reason(object, row);
                json_put_text_any(object, "obstacle", json_text(row, "obstacle"));
                describe_rest(object, row);
        }
        return answer;
}

static json_object *describe_history(json_object *history)
{
        json_object *answer = json_object_new_array(), *row;

        JSON_FOREACH(row, history) {
                json_object *object = json_add(answer);

                json_put_members(object, row, "number time_usec parked");
                describe_reason(object, row);
        }
        return answer;
}

/* The CPUs named on the command line. Not EXIT_FINE after a message if they are none. */
static int take_cpus(const Ctl *ctl, CpuSet *ret_asked)
{
        CpuSet online;

        for (int i = 0; i < ctl->n_args; i++) {
                CpuSet some;

                if (cpuset_parse(ctl->args[i], &some) < 0 || cpuset_is_empty(&some))
                        return complain_usage(NULL,
                                              "why: found \"%s\", expected CPUs such as 2 or 0-3,8",
                                              ctl->args[i]);
                cpuset_or(ret_asked, &some);
        }
        if (client_manager(ctl->client) &&
            cpuset_parse(json_text(client_manager(ctl->client), "Online"), &online) == 0 &&
            !cpuset_is_subset(ret_asked, &online)) {
                g_autofree char *text = cpuset_format(&online);

                return complain("why: only CPUs that are online can be explained: %s", text);
        }
        return EXIT_FINE;
}

/* How long every CPU was parked. */
static json_object *describe_times(json_object *explained)
{
        json_object *answer = json_object_new_array(), *row;

        JSON_FOREACH(row, explained)
                json_put_members(json_add(answer), row, "cpu parked parked_usec");
        return answer;
}

static int history_ask(Ctl *ctl, json_object *explained, json_object **ret_answer)
{
        g_autofree char *error = NULL;
        g_autoptr(json_object) changes = client_history(ctl->client, 0, &error);
        json_object *answer;

        if (!changes)
                return complain("%s", error);
        answer = answer_new(ctl);
        json_put(answer, "history", describe_history(changes));
        json_put_members(answer, client_manager(ctl->client), "uptime_usec=UptimeUSec");
        json_put(answer, "cpus", describe_times(explained));
        *ret_answer = answer;
        return EXIT_FINE;
}

static int why_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(json_object) explained = NULL, facts = NULL, objects = NULL;
        json_object *manager = client_manager(ctl->client);
        CpuSet asked = { 0 };
        json_object *answer;
        int status;

        if (show_past && ctl->n_args > 0)
                return complain_usage(NULL, "why: --history is about all CPUs");
        status = take_cpus(ctl, &asked);
        if (status != EXIT_FINE)
                return status;
        if (client_ask(ctl->client, "Explain", "", NULL, &explained) != EXIT_FINE)
                return EXIT_FAILED;
        if (show_past)
                return history_ask(ctl, explained, ret_answer);
        answer = answer_new(ctl);
        json_put(answer, "cpus", describe_cpus(manager, explained, ctl->n_args ? &asked : NULL));
        json_put_members(answer, manager, "cores=Cores");
        json_put(answer, "contracts", contracts_describe(manager));
        objects = client_objects(ctl->client);
        json_put(answer, "kinds", kinds_describe(manager, objects));
        facts = facts_get(ctl);
        json_put(answer, "benefits", benefits_describe(json_get(facts, "Policies")));
        *ret_answer = answer;
        return EXIT_FINE;
}

/* A sentence, and the CPUs that it is about. */
typedef struct Said {
        char *text;
        CpuSet cpus;
} Said;

/* Takes the text. */
static void say(GArray *said, int cpu, char *text)
{
        Said row = { .text = text };

        for (guint i = 0; i < said->len; i++) {
                Said *known = &g_array_index(said, Said, i);

                if (!g_str_equal(known->text, text))
                        continue;
                cpuset_add(&known->cpus, cpu);
                g_free(text);
                return;
        }
        cpuset_add(&row.cpus, cpu);
        g_array_append_val(said, row);
}

/* "cstates counted: correct 812, too deep 31"; NULL if `policy` counted nothing. */
static char *figures_text(json_object *figures, const char *policy)
{
        GString *text = NULL;
        json_object *row;

        JSON_FOREACH(row, figures) {
                g_autofree char *value = NULL;

                if (!g_str_equal(json_text(row, "policy"), policy))
                        continue;
                if (text)
                        g_string_append(text, ", ");
                else
                        g_string_append_printf(text = g_string_new(policy), " counted: ");
                value = value_format(json_number(row, "value", 0), json_text(row, "unit"));
                g_string_append_printf(text, "%s %s", json_text(row, "name"), value);
        }
        return text ? g_string_free(text, FALSE) : NULL;
}

/* What is known about a CPU in addition to parking. */
static void say_rest(GArray *said, int cpu, json_object *row)
{
        json_object *reason, *figure, *figures = json_get(row, "figures");
        const char *last = "";

        JSON_FOREACH(reason, json_get(row, "reasons")) {
                Explanation why = explained_why(reason);

                say(said, cpu, explain_reason(&why));
        }
        JSON_FOREACH(figure, figures) {
                const char *policy = json_text(figure, "policy");

                if (!g_str_equal(policy, last))
                        say(said, cpu, figures_text(figures, policy));
                last = policy;
        }
}

/* Prints and frees the sentences. */
static void show_said(const Screen *screen, GArray *said)
{
        for (guint i = 0; i < said->len; i++) {
                const Said *row = &g_array_index(said, Said, i);
                g_autofree char *text = row->text, *cpus = cpuset_format(&row->cpus);

                screen_sentencef(screen,
                                 g_str_has_prefix(text, "parked") ? STYLE_GOOD : STYLE_PLAIN,
                                 "%s %s", cpus, text);
        }
}

static void show_cpus(const Screen *screen, json_object *cpus)
{
        g_autoptr(GArray) said = g_array_new(FALSE, FALSE, sizeof(Said));
        json_object *row;

        JSON_FOREACH(row, cpus)
                say(said, (int)json_int(row, "cpu", 0),
                    explained_cpu(row, json_true(row, "in_idle_mask")));
        JSON_FOREACH(row, cpus)
                say_rest(said, (int)json_int(row, "cpu", 0), row);
        show_said(screen, said);
}

static void show_transition(const Screen *screen, json_object *row)
{
        int64_t time = json_int(row, "time_usec", 0);
        double past = (double)(g_get_real_time() - time) / 1e6;
        g_autoptr(GDateTime) date = g_date_time_new_from_unix_local(time / G_USEC_PER_SEC);
        g_autofree char *when = date ? g_date_time_format(date, "%F %T, ") : NULL;
        const char *parked = json_text(row, "parked");
        Explanation why = explained_why(row);
        g_autofree char *ago = text_duration(past), *change = explain_change(parked, &why);

        screen_sentencef(screen, *parked ? STYLE_GOOD : STYLE_PLAIN, "%s%s ago: %s", when ?: "",
                         ago, change);
}

/* "parked for 3 h in all (41 % of the time)". */
static char *time_text(json_object *row, double uptime)
{
        double usec = json_number(row, "parked_usec", 0);
        g_autofree char *duration = text_duration(usec / 1e6);

        if (usec <= 0)
                return g_strdup("never parked");
        if (uptime <= 0)
                return g_strdup_printf("parked for %s in all", duration);
        return g_strdup_printf("parked for %s in all (%.0f %% of the time)", duration,
                               MIN(usec / uptime, 1) * 100);
}

/* How long CPUs were parked since idled started. */
static void show_times(const Screen *screen, json_object *answer)
{
        double uptime = json_number(answer, "uptime_usec", 0);
        g_autofree char *running = text_duration(uptime / 1e6);
        g_autoptr(GArray) said = g_array_new(FALSE, FALSE, sizeof(Said));
        json_object *row;

        if (uptime > 0)
                screen_line(screen, STYLE_PLAIN, "idled has run for %s:", running);
        JSON_FOREACH(row, json_get(answer, "cpus"))
                say(said, (int)json_int(row, "cpu", 0), time_text(row, uptime));
        show_said(screen, said);
}

static void show_requests(const Screen *screen, json_object *answer)
{
        int cores = (int)json_int(answer, "cores", 0);
        json_object *row;

        JSON_FOREACH(row, json_get(answer, "contracts")) {
                g_autofree char *text = contract_text(row, cores), *by = requester_text(row);

                screen_sentencef(screen, STYLE_PLAIN, "%s%s", text, by);
        }
        JSON_FOREACH(row, json_get(answer, "kinds")) {
                g_autofree char *text = kind_text(row);

                screen_sentence(screen, STYLE_PLAIN, text);
        }
}

static void show_benefits(const Screen *screen, json_object *benefits)
{
        json_object *benefit;

        JSON_FOREACH(benefit, benefits) {
                g_autofree char *text = benefit_text(benefit);

                screen_sentence(screen, STYLE_PLAIN, text);
        }
}

static void why_show(const Ctl *ctl, json_object *answer)
{
        json_object *history = json_get(answer, "history"), *row;

        if (!history) {
                show_cpus(&ctl->screen, json_get(answer, "cpus"));
                show_requests(&ctl->screen, answer);
                show_benefits(&ctl->screen, json_get(answer, "benefits"));
                return;
        }
        if (json_length(history) == 0)
                screen_line(&ctl->screen, STYLE_PLAIN, "Nothing was parked or unparked yet.");
        JSON_FOREACH(row, history)
                show_transition(&ctl->screen, row);
        show_times(&ctl->screen, answer);
}

const Verb verb_why = {
        .name = "why",
        .arguments = "[CPU...]",
        .summary = "Show why CPUs are parked or active",
        .help = "CPUs are numbers or lists such as 0-3,8.",
        .options = { why_options },
        .max_args = INT_MAX,
        .ask = why_ask,
        .show = why_show,
};
