/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Configuration in effect: sections become running policies and open actuators.
 *
 * A reload reads everything first; only when that succeeded is anything exchanged, and then without
 * a step that could fail. A policy that stays keeps its state, so that a reload does not make it
 * forget what it learned. When the section of an actuator changed, idled first restores what the
 * actuator had changed and then opens it again.
 */
#include <errno.h>

#include "base/log.h"
#include "base/setting-value.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"
#include "sense/users.h"

int manager_read_config(Manager *manager, GPtrArray *errors, Config **ret_config)
{
        return config_load(&manager->setup.paths, errors, ret_config);
}

static void drop_policies(GArray *policies)
{
        for (guint i = 0; i < policies->len; i++) {
                ActivePolicy *p = &g_array_index(policies, ActivePolicy, i);

                g_free(p->state);
                g_free(p->cpus);
                g_free(p->pack);
                g_free(p->evaluator);
        }
        g_array_set_size(policies, 0);
}

/* Gives `active` the state of the same policy as it was, or a new one. */
static void take_state(Manager *manager, ActivePolicy *active)
{
        const IdledPolicy *policy = active->policy;
        GArray *old = manager->policies;

        for (guint i = 0; i < old->len; i++) {
                ActivePolicy *p = &g_array_index(old, ActivePolicy, i);

                if (p->policy != policy)
                        continue;
                active->state = g_steal_pointer(&p->state);
                active->evaluator = g_steal_pointer(&p->evaluator);
                active->wish.allowed = p->wish.allowed;
                return;
        }
        active->state = g_malloc0(MAX(policy->state_size, 1));
        manager_start_evaluation(manager, active, false);
        if (policy->init)
                policy->init(active->state, manager->machine.topology);
}

static GArray *start_policies(Manager *manager, const Config *config)
{
        GArray *policies = g_array_new(FALSE, TRUE, sizeof(ActivePolicy));

        for (guint i = 0; i < config->policies->len; i++) {
                const IdledPolicy *policy = g_ptr_array_index(config->policies, i);
                ActivePolicy active = {
                        .policy = policy,
                        .section = config_section(config, policy->name),
                };

                wish_init(&active.wish);
                take_state(manager, &active);
                if (policy->wishes & WISHES_CPUS)
                        active.cpus = g_new0(CpuWish, (gsize)manager->machine.topology->n_cpus);
                g_array_append_val(policies, active);
        }
        return policies;
}

/* True if every option of the section is the same in both. */
static bool section_equal(const Section *a, const Section *b)
{
        return a->rows == b->rows && settings_equal(a->rows, a->options, b->options);
}

static bool actuators_differ(const Manager *manager, const Config *old)
{
        for (int i = 0; actuators[i]; i++)
                if (!section_equal(config_section(old, actuators[i]->section),
                                   config_section(manager->config, actuators[i]->section)))
                        return true;
        return false;
}

int manager_log_level(const Config *config)
{
        const DaemonOptions *options = config_section(config, "Daemon")->options;

        return options->log_level;
}

/* Where the option has changed: else what was set by LogControl1 goes on to hold. */
void manager_use_log_level(const Manager *manager, int before)
{
        int level = manager_log_level(manager->config);

        if (level != before && !manager->setup.keep_log_level)
                log_set_level(level);
}

static void log_warnings(const Manager *manager)
{
        g_autoptr(GHashTable) users = users_read(manager->setup.root);
        g_autofree IdleTable *idle = manager->config->power
                                             ? idle_tables_read(manager->setup.root,
                                                                manager->machine.topology->n_cpus)
                                             : NULL;
        const ConfigMachine machine = { .root = manager->setup.root,
                                        .topology = manager->machine.topology,
                                        .frequency = manager->machine.frequency,
                                        .n_frequency = manager->machine.n_frequency,
                                        .idle = idle ? idle : manager->machine.idle,
                                        .users = users };

        config_log_warnings(&manager->setup.paths, manager->config, &machine);
}

void manager_use_config(Manager *manager, Config *config)
{
        Config *old = manager->config;
        GArray *policies;
        int log_level = old ? manager_log_level(old) : -1;

        manager_choose_source(manager, config);
        policies = start_policies(manager, config);
        manager->config = config;
        drop_policies(manager->policies);
        g_array_unref(manager->policies);
        manager->policies = policies;
        manager_read_facts(manager);
        manager_use_log_level(manager, log_level);
        log_warnings(manager);
        if (!old)
                actuator_set_open(manager->actuators, manager->config);
        else if (actuators_differ(manager, old))
                manager_reopen_actuators(manager);
        config_free(old);
        manager->stale = true;
}

void manager_drop_config(Manager *manager)
{
        actuator_set_close(manager->actuators);
        drop_policies(manager->policies);
        config_free(manager->config);
}

/* True if one of the options is an actuator's, which takes them only when it is opened. */
static bool reach_actuators(const OptionChanges *changes)
{
        for (size_t i = 0; changes && i < changes->n; i++)
                if (actuator_is_section(changes->options[i].section))
                        return true;
        return false;
}

void manager_use_options(Manager *manager, const OptionChanges *changes)
{
        manager_interrupt_evaluation(manager, DROP_CONFIG);
        if (reach_actuators(changes))
                manager_reopen_actuators(manager);
        active_profile_retry(&manager->profile);
        manager->stale = true;
}
