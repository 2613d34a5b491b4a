/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Contracts, kinds of cores and refused affinities of units: objects, and the sentences about them.
 */
#include "requests.h"

#include <string.h>

#include "cli/table.h"

json_object *contracts_describe(json_object *manager)
{
        json_object *answer = json_object_new_array(), *row;

        JSON_FOREACH(row, json_get(manager, "Contracts")) {
                json_object *object = json_add(answer);

                json_put_texts(object, row, "unit cgroup owner reason obstacle");
                json_put_members(object, row,
                                 "contract limit_us measured infeasible p99_us wakeups best_us "
                                 "cores latency_us highest_frequency windows_kept windows_broken");
        }
        return answer;
}

/* "2 of 4 cores, idle states up to 10 us": what is in effect for a contract. ondemand may keep more
 * cores active for that of all other units. */
static void append_lever(GString *text, json_object *contract, int cores)
{
        g_string_append_printf(text, "%s%d of %d cores",
                               *json_text(contract, "unit") ? "" : "at least ",
                               (int)json_int(contract, "cores", 0), cores);
        if (json_get(contract, "latency_us"))
                g_string_append_printf(text, ", idle states up to %d us",
                                       (int)json_int(contract, "latency_us", 0));
        if (json_true(contract, "highest_frequency"))
                g_string_append(text, ", highest frequency");
}

static void append_measured(GString *text, json_object *contract)
{
        if (!json_get(contract, "windows_kept"))
                return; /* of another user */
        if (json_get(contract, "p99_us")) {
                g_autofree char *p99 = us_text(json_number(contract, "p99_us", 0));

                g_string_append_printf(text, ", p99 %s of %d wake-ups", p99,
                                       (int)json_int(contract, "wakeups", 0));
        } else
                g_string_append(text, ", no whole window yet");
        g_string_append_printf(text, ", windows: %d kept, %d broken",
                               (int)json_int(contract, "windows_kept", 0),
                               (int)json_int(contract, "windows_broken", 0));
}

char *contract_text(json_object *contract, int cores)
{
        bool measured = json_true(contract, "measured");
        bool infeasible = json_true(contract, "infeasible");
        const char *unit = json_text(contract, "unit"), *obstacle = json_text(contract, "obstacle");
        g_autofree char *limit = us_text(json_number(contract, "limit_us", 0));
        g_autofree char *best = us_text(json_number(contract, "best_us", 0));
        GString *text = g_string_new(*unit ? unit : "all other units");

        g_string_append_printf(text, ": 99 %% of wake-ups within %s: ", limit);
        if (!measured)
                g_string_append_printf(text, "not measured%s%s", *obstacle ? ": " : " yet",
                                       obstacle);
        else if (infeasible)
                g_string_append(text, "infeasible with everything active");
        else if (*obstacle)
                g_string_append(text, obstacle);
        else
                append_lever(text, contract, cores);
        if (infeasible && json_get(contract, "best_us"))
                g_string_append_printf(text, " (p99 %s)", best);
        if (measured)
                append_measured(text, contract);
        return g_string_free(text, FALSE);
}

/* "; requested by app game (/etc/idled/apps/game.conf)". */
char *requester_text(json_object *request)
{
        const char *owner = json_text(request, "owner"), *reason = json_text(request, "reason");

        if (!*owner)
                return g_strdup("");
        return *reason ? g_strdup_printf("; requested by %s (%s)", owner, reason)
                       : g_strdup_printf("; requested by %s", owner);
}

json_object *kinds_describe(json_object *manager, json_object *objects)
{
        json_object *answer = json_object_new_array();

        json_object_object_foreach(objects, path, interfaces)
        {
                json_object *hold = json_get(interfaces, "org.idled1.Hold"), *object, *knob;
                const char *cgroup = json_text(hold, "Unit");
                g_autofree char *unit = g_path_get_basename(cgroup);

                if (!*cgroup || !*path)
                        continue;
                object = json_add(answer);
                knob = json_find_row(json_get(manager, "Knobs"), "kinds", unit);
                json_put_members(object, hold, "hold=Id");
                json_put_text(object, "cgroup", cgroup);
                json_put_text_any(object, "kind", json_text(json_get(hold, "Request"), "kind"));
                json_put_texts(object, hold, "owner=Owner reason=Reason obstacle=Obstacle");
                json_put_text_any(object, "cpus", json_element_text(knob, 3));
                json_put_text_any(object, "cpus_before", json_element_text(knob, 2));
        }
        return answer;
}

char *kind_text(json_object *unit)
{
        g_autofree char *name = g_path_get_basename(json_text(unit, "cgroup"));
        g_autofree char *by = requester_text(unit);
        const char *cpus = json_text(unit, "cpus"), *before = json_text(unit, "cpus_before");
        const char *obstacle = json_text(unit, "obstacle");
        GString *text = g_string_new(name);

        if (*cpus)
                g_string_append_printf(text, ": AllowedCPUs=%s, before: %s", cpus,
                                       *before ? before : "all");
        else
                g_string_append(text, ": CPUs are not changed");
        g_string_append_printf(text, ", for cores of kind %s%s%s%s", json_text(unit, "kind"), by,
                               *obstacle ? "; not fully in effect: " : "", obstacle);
        return g_string_free(text, FALSE);
}

json_object *refused_describe(json_object *manager)
{
        json_object *answer = json_object_new_array(), *row;

        JSON_FOREACH(row, json_get(manager, "RefusedAffinities")) {
                json_object *object = json_add(answer);

                json_put_texts(object, row, "unit program");
                json_put_members(object, row, "user cpus count");
                json_put_int_from(object, "pid", json_int(row, "pid", 0), 1);
        }
        return answer;
}

char *refused_text(json_object *refused)
{
        const char *cpus = json_text(refused, "cpus");
        GString *text = g_string_new(NULL);

        g_string_append_printf(text, "CPU%s %s, for ", strpbrk(cpus, "-,") ? "s" : "", cpus);
        if (json_get(refused, "unit"))
                g_string_append(text, json_text(refused, "unit"));
        else
                g_string_append_printf(text, "a process of user %" G_GINT64_FORMAT,
                                       json_int(refused, "user", 0));
        if (json_get(refused, "program"))
                g_string_append_printf(text, " (%s", json_text(refused, "program"));
        if (json_get(refused, "program") && json_get(refused, "pid"))
                g_string_append_printf(text, ", PID %" G_GINT64_FORMAT,
                                       json_int(refused, "pid", 0));
        if (json_get(refused, "program"))
                g_string_append_c(text, ')');
        return g_string_free(text, FALSE);
}
