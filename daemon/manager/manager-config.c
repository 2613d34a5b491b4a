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
static void take_state(const Manager *manager, ActivePolicy *active)
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
                policy->init(active->state, manager->topology);
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
                        active.cpus = g_new0(CpuWish, (gsize)manager->topology->n_cpus);
                g_array_append_val(policies, active);
        }
        return policies;
}

static void close_actuators(Manager *manager)
{
        for (guint i = 0; i < manager->actuators->len; i++) {
                ActuatorState *a = &g_array_index(manager->actuators, ActuatorState, i);

                if (a->state)
                        a->actuator->close(a->state);
        }
        g_array_set_size(manager->actuators, 0);
}

static void open_actuator(const Manager *manager, ActuatorState *a)
{
        ActContext context = { manager->setup.root, manager->setup.units, manager->setup.live };
        Section *section = config_section(manager->config, a->actuator->section);

        a->error = a->actuator->open(&context, section->options, &a->state);
        if (a->error < 0)
                a->state = NULL;
        else
                log_info("%s: %s", a->actuator->name, a->actuator->describe(a->state));
}

static void open_actuators(Manager *manager)
{
        for (int i = 0; actuators[i]; i++) {
                ActuatorState a = { .actuator = actuators[i] };

                open_actuator(manager, &a);
                if (!a.state)
                        log_info("%s: not available here: %s", a.actuator->name,
                                 g_strerror(-a.error));
                g_array_append_val(manager->actuators, a);
        }
}

void manager_open_absent(Manager *manager)
{
        for (guint i = 0; i < manager->actuators->len; i++) {
                ActuatorState *a = &g_array_index(manager->actuators, ActuatorState, i);

                if (!a->state)
                        open_actuator(manager, a);
        }
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

/* Restores everything and opens the actuators with their current options. */
static void reopen_actuators(Manager *manager)
{
        close_actuators(manager);
        knobs_restore(manager->knobs, manager_report_restored, NULL);
        open_actuators(manager);
}

static int log_level_of(const Config *config)
{
        const DaemonOptions *options = config_section(config, "Daemon")->options;

        return options->log_level;
}

/* Where the option has changed: else what was set by LogControl1 goes on to hold. */
static void use_log_level(const Manager *manager, int before)
{
        int level = log_level_of(manager->config);

        if (level != before && !manager->setup.keep_log_level)
                log_set_level(level);
}

static void log_warnings(const Manager *manager)
{
        g_autoptr(GHashTable) users = users_read(manager->setup.root);
        g_autofree IdleTable *idle = manager->config->power
                                             ? idle_tables_read(manager->setup.root,
                                                                manager->topology->n_cpus)
                                             : NULL;
        const ConfigMachine machine = { .root = manager->setup.root,
                                        .topology = manager->topology,
                                        .frequency = manager->frequency,
                                        .n_frequency = manager->n_frequency,
                                        .idle = idle,
                                        .users = users };

        config_log_warnings(&manager->setup.paths, manager->config, &machine);
}

void manager_use_config(Manager *manager, Config *config)
{
        Config *old = manager->config;
        GArray *policies;
        int log_level = old ? log_level_of(old) : -1;

        manager_choose_source(manager, config);
        policies = start_policies(manager, config);
        manager->config = config;
        drop_policies(manager->policies);
        g_array_unref(manager->policies);
        manager->policies = policies;
        manager_read_facts(manager);
        use_log_level(manager, log_level);
        log_warnings(manager);
        if (!old)
                open_actuators(manager);
        else if (actuators_differ(manager, old))
                reopen_actuators(manager);
        config_free(old);
        manager->stale = true;
}

void manager_drop_config(Manager *manager)
{
        close_actuators(manager);
        drop_policies(manager->policies);
        config_free(manager->config);
}

/* The value of each knob that was taken over is its original value from now on, even if idled had
 * not noticed yet that it was taken over. */
static void forget_foreign(Manager *manager)
{
        if (!manager_note_sleep(manager))
                knobs_verify(manager->knobs);
        if (knobs_forget_foreign(manager->knobs) > 0)
                manager_changed(manager, CHANGE_DEGRADED);
}

int manager_reload(Manager *manager, GPtrArray *errors)
{
        Config *config;
        int r;

        r = manager_read_config(manager, errors, &config);
        if (r < 0)
                return r;
        manager_trial_end(manager, true);
        manager_adopt_profile(manager, config);
        config_adopt_runtime(config, manager->config);
        manager_interrupt_evaluation(manager, DROP_CONFIG);
        manager_keep_evaluations(manager);
        forget_foreign(manager);
        manager_use_config(manager, config);
        manager_tick(manager);
        manager_use_apps(manager);
        manager_changed(manager, CHANGE_CONFIG);
        return 0;
}

int manager_change_option(Manager *manager, const char *section, const char *key, const char *text,
                          char **ret_error)
{
        int r = config_check_cpus(manager->config, section, key, text, &manager->topology->possible,
                                  ret_error);

        return r < 0 ? r : config_set(manager->config, section, key, text, ret_error);
}

bool manager_is_actuator_section(const char *section)
{
        for (int i = 0; actuators[i]; i++)
                if (g_str_equal(actuators[i]->section, section))
                        return true;
        return false;
}

void manager_use_options(Manager *manager, bool actuators_too)
{
        manager_interrupt_evaluation(manager, DROP_CONFIG);
        if (actuators_too)
                reopen_actuators(manager);
        manager_profile_retry(manager);
        manager->stale = true;
}

int manager_set_option(Manager *manager, const char *section, const char *key, const char *text,
                       char **ret_error)
{
        int log_level = log_level_of(manager->config), r;

        if (trial_sets(manager->trial, section, key))
                manager_trial_end(manager, true);
        r = manager_change_option(manager, section, key, text, ret_error);
        if (r < 0)
                return r;
        use_log_level(manager, log_level);
        manager_use_options(manager, manager_is_actuator_section(section));
        manager_tick(manager);
        manager_changed(manager, CHANGE_CONFIG);
        return 0;
}
