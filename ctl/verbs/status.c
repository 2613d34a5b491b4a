/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl status: one screen about the daemon, the machine, and the parked CPUs.
 */
#include <math.h>

#include "benefit.h"
#include "cli/client.h"
#include "control.h"
#include "cpus.h"
#include "explained.h"
#include "cli/facts.h"
#include "left.h"
#include "requests.h"
#include "status.h"
#include "model/measured.h"
#include "verbs.h"

#define JSON_DECIMALS 2

/* An array of objects with these keys, from an array of arrays. */
static json_object *name_elements(json_object *rows, const char *const *keys)
{
        json_object *answer = json_object_new_array(), *row;

        JSON_FOREACH(row, rows) {
                json_object *object = json_add(answer);

                for (size_t i = 0; keys[i]; i++)
                        json_put(object, keys[i], json_object_get(json_element(row, i)));
        }
        return answer;
}

/* NULL: none runs. */
static json_object *describe_trial(json_object *trial)
{
        json_object *object;

        if (!json_get(trial, "owner"))
                return NULL;
        object = json_object_new_object();
        json_put_same(object, "owner", trial, "owner");
        json_put_same(object, "reason", trial, "reason");
        return object;
}

static void describe_daemon(json_object *daemon, json_object *manager)
{
        static const char *const same[][2] = {
                { "policies", "Policies" },
                { "park_backend", "ParkBackend" },
                { "config_files", "ConfigFiles" },
                { "transitions", "Transitions" },
                { "transitions_last_minute", "TransitionsLastMinute" },
                { "ticks", "Ticks" },
                { "cpu_usec", "CpuUSec" },
                { "wakeups", "Wakeups" },
        };
        json_object *keeps = json_get(manager, "KeepsAffinities");
        int64_t period = json_int(manager, "PeriodUSec", 0);

        json_put_text_any(daemon, "profile", json_text(manager, "Profile"));
        json_put_text_any(daemon, "profile_reason", json_text(manager, "ProfileReason"));
        json_put(daemon, "pauses", pauses_describe(manager));
        json_put(daemon, "trial", describe_trial(json_get(manager, "Trial")));
        json_put_int(daemon, "holds", (int64_t)json_length(json_get(manager, "Holds")));
        for (size_t i = 0; i < G_N_ELEMENTS(same); i++)
                json_put_same(daemon, same[i][0], manager, same[i][1]);
        json_put(daemon, "keeps_affinities", json_object_get(json_element(keeps, 0)));
        json_put(daemon, "keeps_affinities_because", json_object_get(json_element(keeps, 1)));
        json_put(daemon, "next_tick_usec", period ? json_object_new_int64(period) : NULL);
}

static json_object *describe_cpus(json_object *manager)
{
        static const char *const same[][2] = {
                { "online", "Online" },
                { "isolated", "Isolated" },
                { "parked", "Parked" },
                { "allowed", "Allowed" },
                { "idle_mask", "IdleMask" },
                { "cores", "Cores" },
                { "wanted_cores", "WantedCores" },
                { "active_cores", "ActiveCores" },
        };
        json_object *answer = json_object_new_object();

        for (size_t i = 0; i < G_N_ELEMENTS(same); i++)
                json_put_same(answer, same[i][0], manager, same[i][1]);
        return answer;
}

/* Why nothing is parked; null while something is, or without the daemon. */
static void put_nothing_parked(Ctl *ctl, json_object *cpus)
{
        json_object *manager = client_manager(ctl->client);
        g_autofree char *error = NULL, *text = NULL;
        g_autoptr(json_object) explained = NULL;

        if (manager && json_get(manager, "Parked") && !*json_text(manager, "Parked")) {
                client_call(ctl->client, "Explain", NULL, &explained, &error);
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
        return number < 0 ? NULL : json_real(number * row->factor, JSON_DECIMALS);
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
        json_put(json_get(answer, "load"), "interval_usec",
                 observed ? json_object_new_int64(observed) : NULL);
}

static json_object *describe_energy(json_object *facts)
{
        json_object *answer = json_object_new_array(), *domains = json_get(facts, "Energy");
        json_object *domain;

        JSON_FOREACH(domain, domains) {
                json_object *object = json_add(answer);
                double watts = json_number(domain, "Power", -1);

                json_put_same(object, "name", domain, "Name");
                json_put_text_any(object, "parent", json_text(domain, "Parent"));
                json_put_real(object, "power_watts", watts < 0 ? NAN : watts, 1);
                json_put_text_any(object, "source", json_text(domain, "Source"));
                json_put_bool(object, "sampled", json_true(domain, "Sampled"));
        }
        return answer;
}

static json_object *status_ask(Ctl *ctl, int *ret_status)
{
        static const char *const degraded[] = { "kind", "name", "why", NULL };
        static const char *const missing[] = { "what", "why", NULL };
        g_autoptr(json_object) facts = NULL, cpus = NULL;
        json_object *manager, *answer;
        int left;

        if (dump_asked())
                return dump_ask(ctl, ret_status);
        facts = facts_get(ctl);
        if (!facts) {
                *ret_status = EXIT_FAILED;
                return NULL;
        }
        manager = json_get(facts, "Manager");
        left = left_count(ctl);
        answer = answer_new(ctl);
        if (json_get(answer, "daemon"))
                describe_daemon(json_get(answer, "daemon"), manager);
        json_put(answer, "to_restore", left < 0 ? NULL : json_object_new_int(left));
        cpus = cpus_describe(facts);
        json_put(answer, "cpus", describe_cpus(manager));
        put_nothing_parked(ctl, json_get(answer, "cpus"));
        put_measured(answer, manager);
        json_put(answer, "energy", describe_energy(facts));
        json_put(answer, "benefits", benefits_describe(json_get(facts, "Policies")));
        json_put(answer, "residency", cpus_summarize(cpus));
        json_put(json_get(answer, "residency"), "interval_usec", cpus_interval(facts));
        json_put(answer, "refused", refused_describe(manager));
        json_put(answer, "contracts", contracts_describe(manager));
        json_put(answer, "degraded", name_elements(json_get(manager, "Degraded"), degraded));
        json_put(answer, "missing", name_elements(json_get(manager, "Missing"), missing));
        return answer;
}

const Verb verb_status = {
        .name = "status",
        .arguments = "",
        .summary = "Show the daemon, the machine, and the parked CPUs",
        .help = "Without the daemon idlectl measures the machine for 0.2 s. ~ marks an "
                "estimate:\n"
                "a sleep that had not ended. - is a value that is not known. Two outputs of\n"
                "--knobs are equal if nothing changed between them.",
        .options = { dump_options },
        .ask = status_ask,
        .show = status_show,
};
