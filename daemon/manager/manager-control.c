/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What clients and the rest of the daemon have the manager do, each followed by a tick.
 */
#include "config/kept.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"

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
        kept_read(config, manager->setup.state);
        manager_interrupt_evaluation(manager, DROP_CONFIG);
        manager_keep_evaluations(manager);
        forget_foreign(manager);
        manager_use_config(manager, config);
        manager_tick(manager);
        manager_use_apps(manager);
        manager_changed(manager, CHANGE_CONFIG);
        return 0;
}

int manager_set_options(Manager *manager, const OptionValue *options, size_t n, char **ret_error)
{
        g_autoptr(OptionChanges) changes = option_changes_new(options, n);
        int log_level = manager_log_level(manager->config), r;

        for (size_t i = 0; i < n; i++)
                if (trial_sets(manager->trial, options[i].section, options[i].key))
                        manager_trial_end(manager, true);
        r = option_changes_make(changes, manager->config, &manager->machine.topology->possible,
                                ret_error);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n && !manager->setup.dry_run; i++)
                kept_write(manager->config, manager->setup.state, options[i].section,
                           options[i].key, options[i].value);
        manager_use_log_level(manager, log_level);
        manager_use_options(manager, changes);
        manager_tick(manager);
        manager_changed(manager, CHANGE_CONFIG);
        return 0;
}

char *manager_option_unmet(const Manager *manager, const char *section, const char *key)
{
        const ConfigMachine machine = { .root = manager->setup.root,
                                        .topology = manager->machine.topology,
                                        .idle = manager->machine.idle,
                                        .frequency = manager->machine.frequency,
                                        .n_frequency = manager->machine.n_frequency };

        return config_runtime_unmet(manager->config, &machine, section, key);
}

int manager_set_profile(Manager *manager, const char *name, char **ret_error)
{
        int r = manager_choose_profile(manager, name, ret_error);

        if (r < 0)
                return r;
        manager_tick(manager);
        return 0;
}

Holds *manager_open_holds(Manager *manager)
{
        return manager->holds;
}

Pauses *manager_open_pauses(Manager *manager)
{
        return manager->pauses;
}

void manager_resumed(Manager *manager)
{
        if (!manager_note_sleep(manager)) /* too short for the clocks, or noticed before */
                manager_distrust_knobs(manager);
        manager_rescan(manager);
        manager_recheck_facts(manager);
        manager_wake(manager);
}
