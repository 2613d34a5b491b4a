/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CPUs in answers: from the daemon's properties to names and units of our own.
 */
#include "cpus.h"

#include <math.h>
#include <string.h>

#include "cli/facts.h"

/* The row of Residency for a state, NULL if there is none. */
static json_object *residency_of(json_object *residency, const char *name)
{
        json_object *row;

        JSON_FOREACH(row, residency)
                if (g_str_equal(json_element_text(row, 0), name))
                        return row;
        return NULL;
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
                        describe_state(info,
                                       known ? residency_of(residency, json_element_text(info, 0))
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
        double busy = known                ? json_element_number(residency_of(residency, "C0"), 1)
                      : online && observed ? json_number(cpu, "Utilization", NAN)
                                           : NAN;

        json_put_int(answer, "cpu", json_int(cpu, "Number", 0));
        for (size_t i = 0; i < G_N_ELEMENTS(groups); i++) {
                int64_t group = json_int(cpu, groups[i][1], -1);

                json_put(answer, groups[i][0], group < 0 ? NULL : json_object_new_int64(group));
        }
        if (online)
                json_put_same(answer, "capacity", cpu, "Capacity");
        else
                json_put(answer, "capacity", NULL);
        json_put_same(answer, "kinds", cpu, "Kinds");
        json_put_text(answer, "state", state_of(cpu));
        json_put_same(answer, "parked_usec", cpu, "ParkedUSec");
        json_put_real(answer, "busy_percent", busy * 100, 2);
        json_put(answer, "states", describe_states(cpu, known));
        json_put(answer, "limits", cpus_describe_limits(cpu));
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

json_object *cpus_find_state(json_object *cpu, const char *name)
{
        json_object *states = json_get(cpu, "states"), *state;

        JSON_FOREACH(state, states)
                if (g_str_equal(json_text(state, "name"), name))
                        return state;
        return NULL;
}

static bool has_name(json_object *names, const char *name)
{
        json_object *known;

        JSON_FOREACH(known, names)
                if (g_str_equal(json_object_get_string(known), name))
                        return true;
        return false;
}

json_object *cpus_state_names(json_object *cpus)
{
        json_object *names = json_object_new_array(), *cpu;

        JSON_FOREACH(cpu, cpus) {
                json_object *states = json_get(cpu, "states"), *state;

                JSON_FOREACH(state, states)
                        if (!has_name(names, json_text(state, "name")))
                                json_object_array_add(names,
                                                      json_object_get(json_get(state, "name")));
        }
        return names;
}

/* The mean of a state over `n` CPUs; those without it spend no time in it. */
static json_object *summarize_state(json_object *cpus, const char *name, int n)
{
        json_object *answer = json_object_new_object(), *cpu;
        bool estimated = false;
        double sum = 0;

        JSON_FOREACH(cpu, cpus) {
                json_object *state = cpus_find_state(cpu, name);

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
        g_autoptr(json_object) names = cpus_state_names(cpus);
        json_object *answer = json_object_new_object(), *states = json_object_new_array();
        json_object *cpu, *name;
        double busy = 0;
        int n = 0;

        JSON_FOREACH(cpu, cpus)
                if (json_get(cpu, "busy_percent")) {
                        busy += json_number(cpu, "busy_percent", 0);
                        n++;
                }
        json_put_real(answer, "busy_percent", n ? busy / n : NAN, 2);
        JSON_FOREACH(name, names)
                json_object_array_add(states,
                                      summarize_state(cpus, json_object_get_string(name), n));
        json_put(answer, "states", states);
        return answer;
}

char *percent_text(json_object *object, const char *key, bool estimated)
{
        if (!json_get(object, key))
                return g_strdup("-");
        return g_strdup_printf("%s%.1f", estimated ? "~" : "", json_number(object, key, 0));
}
