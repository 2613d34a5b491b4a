/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager's query methods: why every CPU is as it is, what happened lately, which settings
 * there are, and whether every knob is as it should be. They change nothing, and every user may
 * call them.
 */
#include <errno.h>

#include "base/cpuset-text.h"
#include "base/setting-value.h"
#include "config/config-section.h"
#include "bus/bus-parts.h"

/* `obstacle` is the same for all CPUs. */
static int append_cpu(sd_bus_message *m, const Bus *bus, int cpu, const char *obstacle)
{
        Manager *manager = bus->manager;
        const CpuCause *why = manager_cause(manager, cpu);
        const History *history = manager_history(manager);
        bool parked = cpuset_has(manager_parked(manager), cpu);
        bool wanted = !cpuset_has(&manager_plan(manager)->allowed, cpu);
        const char *problem = wanted && !parked ? obstacle : NULL;
        g_autofree char *text = manager_explain_cpu(manager, cpu, obstacle);
        int r = sd_bus_message_open_container(m, 'a', "{sv}");

        if (r >= 0)
                r = sd_bus_message_append(m, "{sv}{sv}{sv}{sv}", "cpu", "u", cpu, "parked", "b",
                                          parked, "since_usec", "t",
                                          history_since_usec(history, cpu), "parked_usec", "t",
                                          history_parked_usec(history, cpu, manager_now()));
        if (r >= 0)
                r = bus_append_why(m, bus, why->cause, why->policy, &why->reason,
                                   &why->option_source);
        if (r >= 0)
                r = sd_bus_message_append(m, "{sv}", "obstacle", "s", problem);
        if (r >= 0)
                r = bus_append_reasons(m, bus, cpu);
        if (r >= 0)
                r = bus_append_figures_key(m, manager, cpu);
        if (r >= 0)
                r = bus_append_shown_key(m, bus, "text", text);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

int bus_method_explain(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        const Bus *bus = userdata;
        g_autofree char *obstacle = manager_obstacle(bus->manager);
        _message_ sd_bus_message *reply = NULL;
        int r = bus_begin_reply(message, "a{sv}", &reply);

        CPUSET_FOREACH(cpu, &manager_topology(bus->manager)->online)
                if (r >= 0)
                        r = append_cpu(reply, bus, cpu, obstacle);
        return bus_send_reply(reply, r);
}

static int append_transition(sd_bus_message *m, const Bus *bus, const Transition *transition)
{
        g_autofree char *text = transition_explain(transition);
        int r = sd_bus_message_open_container(m, 'a', "{sv}");

        if (r >= 0)
                r = sd_bus_message_append(m, "{sv}{sv}{sv}", "number", "t", transition->number,
                                          "time_usec", "t", transition->time_usec, "parked", "s",
                                          transition->parked);
        if (r >= 0)
                r = bus_append_why(m, bus, transition->cause, transition->policy,
                                   &transition->reason, &transition->option_source);
        if (r >= 0)
                r = bus_append_shown_key(m, bus, "text", text);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

/* How many changes one call returns at most, so that others need not wait. */
#define CHANGES_MAX 64

/* Replies with the change `number` and those before it, `most` at most. */
static int reply_history(sd_bus_message *message, const Bus *bus, uint64_t number, uint32_t most)
{
        const History *history = manager_history(bus->manager);
        _message_ sd_bus_message *reply = NULL;
        int r = bus_begin_reply(message, "a{sv}", &reply);
        const Transition *transition;

        for (; r >= 0 && most > 0 && (transition = history_find(history, number)); number--, most--)
                r = append_transition(reply, bus, transition);
        return bus_send_reply(reply, r);
}

int bus_method_history(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        const Bus *bus = userdata;
        const History *history = manager_history(bus->manager);
        uint64_t before;
        uint32_t most;
        int r = sd_bus_message_read(message, "tu", &before, &most);

        if (r < 0)
                return r;
        if (most < 1 || most > CHANGES_MAX)
                return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                         "most: found %u, expected 1 to %d", most, CHANGES_MAX);
        if (before == 0 || before > history_count(history))
                before = history_count(history) + 1;
        return reply_history(message, bus, before - 1, most);
}

static int append_setting(sd_bus_message *m, const Section *section, const Setting *row)
{
        g_autofree char *value = setting_format(row, section->options);
        g_autofree char *expects = setting_expectation(row);
        Source source = section_source(section, row->key);
        g_autofree char *where = source_format(&source);
        bool runtime = g_hash_table_contains(section->runtime, row->key);

        return sd_bus_message_append(m, "a{sv}", 8, "section", "s", section->name, "key", "s",
                                     row->key, "value", "s", value, "default", "s", row->fallback,
                                     "source", "s", where, "expects", "s", expects, "help", "s",
                                     row->help, "runtime", "b", runtime);
}

int bus_method_get_settings(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        const Bus *bus = userdata;
        const GPtrArray *sections = manager_config(bus->manager)->sections;
        _message_ sd_bus_message *reply = NULL;
        int r = bus_begin_reply(message, "a{sv}", &reply);

        for (guint i = 0; i < sections->len; i++) {
                const Section *section = sections->pdata[i];

                for (const Setting *row = section->rows; r >= 0 && row->key; row++)
                        if (section_shows(section, row))
                                r = append_setting(reply, section, row);
        }
        return bus_send_reply(reply, r);
}

/* Appends what is wrong with the knob, if anything is. */
static int append_problem(sd_bus_message *m, const ActContext *context, const Knobs *knobs,
                          const Knob *knob)
{
        g_autofree char *found = NULL, *problem = NULL, *why = knob_failure(knobs, knob);
        int error = knob->kind->read(context, knob->name, &found);
        bool equal = error >= 0 && knob_is_as_written(context, knob, found);

        if (error == -EBUSY) /* it sleeps with its CPU */
                return 0;
        if (error < 0)
                problem = g_strdup_printf("it cannot be read: %s",
                                          error == knob->error ? why : g_strerror(-error));
        else if (knob->state == KNOB_FOREIGN)
                problem = g_strdup("another program has taken it over; idled leaves it unchanged "
                                   "until \"idlectl reload\"");
        else if (knob->state == KNOB_FAILED || knob->error < 0)
                problem = g_strdup_printf("it could not be changed: %s", why);
        else if (!equal)
                problem = g_strdup("it has another value than was written");
        else
                return 0;
        return sd_bus_message_append(m, "(sssss)", knob->kind->name, knob->name, knob->ours, found,
                                     problem);
}

/* For parking also the CPUs that the plan keeps active, and those that are. */
static int append_failure(sd_bus_message *m, const Manager *manager, const char *actuator,
                          const char *how, const char *why)
{
        CpuSet wanted = manager_plan(manager)->allowed, used = manager_topology(manager)->online;
        g_autofree char *expected = NULL, *found = NULL;

        if (!g_str_equal(actuator, actuator_park.name))
                return sd_bus_message_append(m, "(sssss)", actuator, how, "", "", why);
        cpuset_and(&wanted, &used);
        cpuset_subtract(&used, manager_parked(manager));
        expected = cpuset_format(&wanted);
        found = cpuset_format(&used);
        return sd_bus_message_append(m, "(sssss)", actuator, how, expected, found, why);
}

int bus_method_verify(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        const Bus *bus = userdata;
        const Manager *manager = bus->manager;
        ActContext context = { manager_setup(manager)->root, manager_setup(manager)->units,
                               manager_setup(manager)->live };
        _message_ sd_bus_message *reply = NULL;
        const Knob *const *knobs;
        int r = bus_begin_reply(message, "(sssss)", &reply), n;

        manager_verify(bus->manager);
        n = knobs_list(manager_knobs(manager), &knobs);
        for (int i = 0; r >= 0 && i < n; i++)
                r = append_problem(reply, &context, manager_knobs(manager), knobs[i]);
        if (r >= 0)
                r = bus_append_failures(reply, manager, append_failure);
        return bus_send_reply(reply, r);
}
