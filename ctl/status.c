/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl status: one screen about the daemon, the machine, and what is kept asleep.
 */
#include <math.h>

#include "benefit.h"
#include "client.h"
#include "control.h"
#include "cpus.h"
#include "explained.h"
#include "facts.h"

/* An array of objects with these keys, from an array of arrays. */
static json_object *name_elements(json_object *rows, const char *const *keys)
{
        json_object *answer = json_object_new_array(), *row;

        JSON_FOREACH(row, rows) {
                json_object *object = json_object_new_object();

                for (size_t i = 0; keys[i]; i++)
                        json_put(object, keys[i], json_object_get(json_element(row, i)));
                json_object_array_add(answer, object);
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
        int64_t period = json_int(manager, "PeriodUSec", 0);

        json_put_text_any(daemon, "profile", json_text(manager, "Profile"));
        json_put_text_any(daemon, "profile_reason", json_text(manager, "ProfileReason"));
        json_put(daemon, "pauses", pauses_describe(manager));
        json_put(daemon, "trial", describe_trial(json_get(manager, "Trial")));
        json_put_int(daemon, "holds", (int64_t)json_length(json_get(manager, "Holds")));
        for (size_t i = 0; i < G_N_ELEMENTS(same); i++)
                json_put_same(daemon, same[i][0], manager, same[i][1]);
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

/* A property that is only known once something was measured. */
static void put_measured(json_object *answer, const char *key, json_object *manager,
                         const char *property, double factor, bool known)
{
        json_put_real(answer, key, known ? json_number(manager, property, NAN) * factor : NAN, 2);
}

static json_object *describe_load(json_object *manager)
{
        static const char *const keys[] = { "load_average_1min", "load_average_5min",
                                            "load_average_15min" };
        json_object *answer = json_object_new_object();
        json_object *averages = json_get(manager, "LoadAverage");
        int64_t observed = json_int(manager, "ObservedUSec", 0);
        bool no_averages = facts_missing(manager, "load averages");
        bool no_pressure = facts_missing(manager, "pressure");

        json_put(answer, "interval_usec", observed ? json_object_new_int64(observed) : NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                json_put_real(answer, keys[i], no_averages ? NAN : json_element_number(averages, i),
                              2);
        put_measured(answer, "busy_cpus", manager, "Load", 1, observed);
        put_measured(answer, "utilization_percent", manager, "Utilization", 100, observed);
        put_measured(answer, "pressure_percent", manager, "Pressure", 100,
                     observed && !no_pressure);
        json_put_same(answer, "running_tasks", manager, "Running");
        return answer;
}

static json_object *describe_power(json_object *manager)
{
        json_object *answer = json_object_new_object();
        double level = json_number(manager, "BatteryLevel", -1);
        bool known = !facts_missing(manager, "battery");

        json_put_text(answer, "source",
                      !known                            ? NULL
                      : json_true(manager, "OnBattery") ? "battery"
                                                        : "mains");
        json_put_real(answer, "battery_percent", known && level >= 0 ? level * 100 : NAN, 1);
        return answer;
}

static json_object *describe_energy(json_object *facts)
{
        json_object *answer = json_object_new_array(), *domains = json_get(facts, "Energy");
        json_object *domain;

        JSON_FOREACH(domain, domains) {
                json_object *object = json_object_new_object();
                double watts = json_number(domain, "Power", -1);

                json_put_same(object, "name", domain, "Name");
                json_put_text_any(object, "parent", json_text(domain, "Parent"));
                json_put_real(object, "power_watts", watts < 0 ? NAN : watts, 1);
                json_object_array_add(answer, object);
        }
        return answer;
}

json_object *status_ask(Ctl *ctl, int *ret_status)
{
        static const char *const degraded[] = { "kind", "name", "why", NULL };
        static const char *const missing[] = { "what", "why", NULL };
        g_autoptr(json_object) facts = facts_get(ctl), cpus = NULL;
        json_object *manager = json_get(facts, "Manager"), *answer;

        if (!facts) {
                *ret_status = EXIT_FAILED;
                return NULL;
        }
        answer = answer_new(ctl);
        if (json_get(answer, "daemon"))
                describe_daemon(json_get(answer, "daemon"), manager);
        cpus = cpus_describe(facts);
        json_put(answer, "cpus", describe_cpus(manager));
        put_nothing_parked(ctl, json_get(answer, "cpus"));
        json_put(answer, "load", describe_load(manager));
        json_put(answer, "power", describe_power(manager));
        json_put(answer, "energy", describe_energy(facts));
        json_put(answer, "benefits", benefits_describe(json_get(facts, "Policies")));
        json_put(answer, "residency", cpus_summarize(cpus));
        json_put(answer, "degraded", name_elements(json_get(manager, "Degraded"), degraded));
        json_put(answer, "missing", name_elements(json_get(manager, "Missing"), missing));
        return answer;
}
