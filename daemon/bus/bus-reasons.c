/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What several answers contain: CPU sets, failures, reasons and figures of policies; how answers
 * begin and end, and how dictionaries in calls are read. A reason is a few keys of a dictionary,
 * wherever it stands.
 */
#include <math.h>

#include "base/cpuset-text.h"
#include "base/private-text.h"
#include "bus/bus-parts.h"
#include "model/explain.h"

int bus_read_dictionary(sd_bus_message *message, BusOption read, void *data, sd_bus_error *error)
{
        const char *key;
        int r = sd_bus_message_enter_container(message, 'a', "{sv}");

        while (r >= 0 && (r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                r = sd_bus_message_read(message, "s", &key);
                if (r >= 0)
                        r = read(message, key, data, error);
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
        }
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

int bus_begin_reply(sd_bus_message *message, const char *type, sd_bus_message **ret_reply)
{
        int r = sd_bus_message_new_method_return(message, ret_reply);

        return r < 0 ? r : sd_bus_message_open_container(*ret_reply, 'a', type);
}

int bus_send_reply(sd_bus_message *reply, int r)
{
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

int bus_open_key(sd_bus_message *m, const char *key, const char *type)
{
        int r = sd_bus_message_open_container(m, 'e', "sv");

        if (r >= 0)
                r = sd_bus_message_append(m, "s", key);
        if (r >= 0)
                r = sd_bus_message_open_container(m, 'v', type);
        return r < 0 ? r : sd_bus_message_open_container(m, 'a', type + 1);
}

int bus_close_key(sd_bus_message *m, int r)
{
        for (int i = 0; r >= 0 && i < 3; i++)
                r = sd_bus_message_close_container(m);
        return r;
}

uid_t bus_reader(const Bus *bus, sd_bus_message *message)
{
        Sender reader = { .uid = (uid_t)-1 };

        if (authorizer_knows(bus->authorizer, sd_bus_message_get_destination(message), &reader) &&
            authorizer_trusts(bus->authorizer, reader.uid))
                return 0;
        return reader.uid;
}

int bus_append_shown(sd_bus_message *m, const Bus *bus, const char *text)
{
        g_autofree char *shown = text ? private_text_for(text, bus_reader(bus, m)) : NULL;

        return sd_bus_message_append(m, "s", shown);
}

int bus_append_shown_key(sd_bus_message *m, const Bus *bus, const char *key, const char *text)
{
        g_autofree char *shown = text ? private_text_for(text, bus_reader(bus, m)) : NULL;

        return sd_bus_message_append(m, "{sv}", key, "s", shown);
}

static int append_inputs(sd_bus_message *m, const Reason *reason)
{
        int r = bus_open_key(m, "inputs", "a(sds)");

        for (int i = 0; r >= 0 && i < REASON_INPUTS && reason->inputs[i].name; i++)
                if (isfinite(reason->inputs[i].value))
                        r = sd_bus_message_append(m, "(sds)", reason->inputs[i].name,
                                                  reason->inputs[i].value, reason->inputs[i].unit);
        return bus_close_key(m, r);
}

/* What the inputs were compared with: the configured value where no other is in effect. */
static double effective_value(const Reason *reason)
{
        double value = reason->effective_because ? reason->effective : reason->threshold;

        return isfinite(value) ? value : 0.0;
}

int bus_append_why(sd_bus_message *m, const Bus *bus, Cause cause, const char *policy,
                   const Reason *reason, const Source *source)
{
        g_autofree char *where = reason->option                ? source_format(source)
                                 : reason_lacks_option(reason) ? g_strdup("no option")
                                                               : NULL;
        int r = sd_bus_message_append(m, "{sv}{sv}", "cause", "s", cause_text(cause, policy),
                                      "policy", "s", policy);

        if (r >= 0)
                r = bus_append_shown_key(m, bus, "because", reason->because);
        if (r >= 0)
                r = append_inputs(m, reason);
        return r < 0 ? r
                     : sd_bus_message_append(m, "{sv}{sv}{sv}{sv}{sv}{sv}", "option", "s",
                                             reason->option, "threshold", "d",
                                             isfinite(reason->threshold) ? reason->threshold : 0.0,
                                             "threshold_unit", "s", reason->threshold_unit,
                                             "effective", "d", effective_value(reason),
                                             "effective_because", "s", reason->effective_because,
                                             "source", "s", where);
}

static int append_reason(sd_bus_message *m, const Bus *bus, const ActivePolicy *active,
                         const Reason *reason)
{
        const char *option = reason->option;
        Source source = option ? section_source(active->section, option) : (Source){ 0 };
        g_autofree char *text = policy_explain_reason(active->policy->name, reason, &source);
        int r = sd_bus_message_open_container(m, 'a', "{sv}");

        if (r >= 0)
                r = bus_append_why(m, bus, CAUSE_POLICY, active->policy->name, reason, &source);
        if (r >= 0)
                r = bus_append_shown_key(m, bus, "text", text);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_policy_reasons(sd_bus_message *m, const Bus *bus, const ActivePolicy *active,
                                 int cpu)
{
        Reason reasons[EXPLAIN_MAX] = { 0 };
        int r = 0, n = manager_reasons(bus->manager, active, cpu, reasons);

        for (int i = 0; r >= 0 && i < n; i++)
                r = append_reason(m, bus, active, &reasons[i]);
        return r;
}

int bus_append_reasons(sd_bus_message *m, const Bus *bus, int cpu)
{
        const ActivePolicy *p;
        int r = bus_open_key(m, "reasons", "aa{sv}");

        for (unsigned i = 0; r >= 0 && (p = manager_policy(bus->manager, i)); i++)
                r = append_policy_reasons(m, bus, p, cpu);
        return bus_close_key(m, r);
}

static int append_policy_figures(sd_bus_message *m, const ActivePolicy *active, int cpu)
{
        Figure figures[FIGURES_MAX] = { 0 };
        const IdledPolicy *policy = active->policy;
        int r = 0, n = policy->figures ? policy->figures(active->state, cpu, figures) : 0;

        for (int i = 0; r >= 0 && i < MIN(n, FIGURES_MAX); i++)
                if (isfinite(figures[i].value))
                        r = sd_bus_message_append(m, "(sssd)", active->policy->name,
                                                  figures[i].name, figures[i].unit,
                                                  figures[i].value);
        return r;
}

static int append_figures(sd_bus_message *m, const Manager *manager, int cpu)
{
        const ActivePolicy *p;
        int r = 0;

        for (unsigned i = 0; r >= 0 && (p = manager_policy(manager, i)); i++)
                r = append_policy_figures(m, p, cpu);
        return r;
}

int bus_append_figures_key(sd_bus_message *m, const Manager *manager, int cpu)
{
        int r = bus_open_key(m, "figures", "a(sssd)");

        if (r >= 0)
                r = append_figures(m, manager, cpu);
        return bus_close_key(m, r);
}

int bus_append_figures(sd_bus_message *m, const Manager *manager, int cpu)
{
        int r = sd_bus_message_open_container(m, 'a', "(sssd)");

        if (r >= 0)
                r = append_figures(m, manager, cpu);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

int bus_append_cpus(sd_bus_message *message, const CpuSet *set)
{
        g_autofree char *text = cpuset_format(set);

        return sd_bus_message_append(message, "s", text);
}

int bus_append_failures(sd_bus_message *message, const Manager *manager, BusFailure append)
{
        const char *unconfined = manager_unconfined(manager);
        const ActuatorState *a;
        int r = 0;

        for (unsigned i = 0; r >= 0 && (a = actuator_set_nth(manager_actuators(manager), i)); i++) {
                bool failed = actuator_unreported_error(a, manager_knobs(manager)) < 0;

                if (failed || (unconfined && a->actuator == &actuator_park))
                        r = append(message, manager, a->actuator->name,
                                   a->state ? a->actuator->describe(a->state)
                                            : "not available here",
                                   failed ? a->why : unconfined);
        }
        return r;
}
