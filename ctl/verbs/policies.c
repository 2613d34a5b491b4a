/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl policies: the active ones, by rank, with what they request and why; then modules that are
 * installed but not active.
 */
#include "cli/client.h"
#include "config/plugin.h"
#include "cli/facts.h"
#include "cli/offline.h"
#include "verbs.h"

static json_object *describe_loaded(json_object *policy)
{
        json_object *answer = json_object_new_object();

        json_put_bool(answer, "loaded", true);
        json_put_members(answer, policy,
                         "name=Name rank=Rank summary=Summary allowed=Allowed reason=Reason "
                         "settled=Settled options=Options");
        json_put_int_from(answer, "period_usec", json_int(policy, "PeriodUSec", 0), 1);
        return answer;
}

/* A module that is not active: its summary, or why it cannot be loaded. */
static json_object *describe_module(const char *dir, const char *name)
{
        json_object *answer = json_object_new_object();
        const IdledPolicy *policy = NULL;
        g_autofree char *error = NULL;

        policy_load(dir, name, &policy, &error);
        json_put_bool(answer, "loaded", false);
        json_put_text(answer, "name", name);
        json_put_text(answer, "summary", policy ? policy->summary : NULL);
        json_put_text(answer, "problem", error);
        return answer;
}

static int policies_ask(Ctl *ctl, json_object **ret_answer)
{
        json_object *answer, *policies = json_object_new_array(), *policy;
        g_autofree char *dir = g_canonicalize_filename(offline_policy_dir(ctl), NULL);
        g_auto(GStrv) modules = policy_list(dir);

        if (client_manager(ctl->client)) {
                g_autoptr(json_object) facts = facts_get(ctl);

                JSON_FOREACH(policy, json_get(facts, "Policies"))
                        json_object_array_add(policies, describe_loaded(policy));
        }
        for (char **name = modules; *name; name++)
                if (!json_find(policies, "name", *name))
                        json_object_array_add(policies, describe_module(dir, *name));
        answer = answer_new(ctl);
        json_put_text(answer, "policy_dir", dir);
        json_put(answer, "policies", policies);
        *ret_answer = answer;
        return EXIT_FINE;
}

static void add_row(Table *table, json_object *policy)
{
        bool loaded = json_true(policy, "loaded");
        const char *problem = json_text(policy, "problem"), *wish = json_text(policy, "allowed");

        table_member(table, policy, "rank", 1, 0, "");
        table_cell(table, loaded ? STYLE_GOOD : STYLE_DIM, json_text(policy, "name"));
        table_cell(table, STYLE_PLAIN, loaded && *wish ? wish : "-");
        table_member(table, policy, "period_usec", 1e6, 2, " s");
        table_note(table, *problem ? STYLE_BAD : STYLE_DIM,
                   *problem ? problem : json_text(policy, "summary"));
        table_note(table, STYLE_PLAIN, loaded ? json_text(policy, "reason") : "Not active.");
}

static void policies_show(const Ctl *ctl, json_object *answer)
{
        json_object *policies = json_get(answer, "policies"), *policy;
        g_autoptr(Table) table = table_new();

        answer_show_daemon(ctl, answer);
        if (json_length(policies) == 0) {
                screen_line(&ctl->screen, STYLE_PLAIN, "No policy is active, and none is in %s.",
                            json_text(answer, "policy_dir"));
                return;
        }
        table_columns(table, ">Rank|Policy|Requests|>Period");
        JSON_FOREACH(policy, policies)
                add_row(table, policy);
        table_print(table, &ctl->screen);
}

const Verb verb_policies = {
        .name = "policies",
        .summary = "Show what every policy requests, and which are not active",
        .ask = policies_ask,
        .show = policies_show,
};
