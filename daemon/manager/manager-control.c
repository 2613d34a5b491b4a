/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What clients and the rest of the daemon have the manager do, each followed by a tick.
 *
 * A reload reads everything first; only when that succeeded is anything exchanged, and then without
 * a step that could fail. A policy that stays keeps its state, so that a reload does not make it
 * forget what it learned. When the section of an actuator changed, idled first restores what the
 * actuator had changed and then opens it again.
 */
#include "base/log.h"
#include "config/kept.h"
#include "manager/evaluation.h"
#include "manager/manager-parts.h"
#include "sense/users.h"

static int log_level_of(const Config *config)
{
        const DaemonOptions *options = config_section(config, "Daemon")->options;

        return options->log_level;
}

/* Where the option is not `before` any more: else what was set by LogControl1 goes on to hold. */
static void use_log_level(const Manager *manager, int before)
{
        int level = log_level_of(manager->ground.config);

        if (level != before && !manager->ground.setup.keep_log_level)
                log_set_level(level);
}

/* What options are checked against. */
static ConfigMachine machine_of(const Manager *manager)
{
        const MachineFacts *machine = seen_machine(manager->seen);

        return (ConfigMachine){ .root = manager->ground.setup.root,
                                .topology = machine->topology,
                                .idle = machine->idle,
                                .frequency = machine->frequency,
                                .n_frequency = machine->n_frequency };
}

static void log_warnings(const Manager *manager)
{
        g_autoptr(GPtrArray) warnings = config_errors_new();
        g_autoptr(GHashTable) users = users_read(manager->ground.setup.root);
        g_autofree IdleTable *idle = manager->ground.config->power
                                             ? idle_tables_read(manager->ground.setup.root,
                                                                manager_topology(manager)->n_cpus)
                                             : NULL;
        ConfigMachine machine = machine_of(manager);

        machine.users = users;
        if (idle)
                machine.idle = idle;
        config_find_warnings(&manager->ground.setup.paths, manager->ground.config, &machine,
                             warnings);
        config_errors_log(warnings, LOG_WARNING);
}

void manager_use_config(Manager *manager, Config *config)
{
        Config *old = manager->ground.config;
        int log_level = old ? log_level_of(old) : -1;

        decided_use_config(manager->decided, config);
        manager->ground.config = config;
        use_log_level(manager, log_level);
        log_warnings(manager);
        done_use_config(manager->done, old);
        config_free(old);
        ground_raise(&manager->ground, DUE_STALE);
}

int manager_reload(Manager *manager, GPtrArray *errors)
{
        Ground *ground = &manager->ground;
        Config *config;
        int r;

        r = config_load(&ground->setup.paths, errors, &config);
        if (r < 0)
                return r;
        asked_end_trial(manager->asked);
        asked_adopt_profile(manager->asked, config);
        config_adopt_runtime(config, ground->config);
        kept_read(config, ground->setup.state);
        seen_find_energy(manager->seen);
        evaluation_interrupt(manager->decided, DROP_CONFIG);
        evaluation_keep(manager->decided);
        done_forget_foreign(manager->done);
        manager_use_config(manager, config);
        manager_tick(manager);
        asked_use_apps(manager->asked);
        ground_raise(ground, CHANGE_CONFIG);
        manager_attend(manager);
        return 0;
}

int manager_set_options(Manager *manager, const OptionValue *options, size_t n, char **ret_error)
{
        g_autoptr(OptionChanges) changes = option_changes_new(options, n);
        Ground *ground = &manager->ground;
        int log_level = log_level_of(ground->config), r;

        for (size_t i = 0; i < n; i++)
                if (trial_sets(manager_trial(manager), options[i].section, options[i].key))
                        asked_end_trial(manager->asked);
        r = option_changes_make(changes, ground->config, &manager_topology(manager)->possible,
                                ret_error);
        if (r >= 0) {
                for (size_t i = 0; i < n && !ground->setup.dry_run; i++)
                        kept_write(ground->config, ground->setup.state, options[i].section,
                                   options[i].key, options[i].value);
                use_log_level(manager, log_level);
                asked_use_options(manager->asked, changes);
                ground_raise(ground, CHANGE_CONFIG | DUE_TICK);
        }
        manager_attend(manager);
        return MIN(r, 0);
}

char *manager_option_unmet(const Manager *manager, const char *section, const char *key)
{
        const ConfigMachine machine = machine_of(manager);

        return config_runtime_unmet(manager->ground.config, &machine, section, key);
}

int manager_set_profile(Manager *manager, const char *name, char **ret_error)
{
        int r = asked_choose_profile(manager->asked, name, ret_error);

        if (r < 0)
                return r;
        manager_tick(manager);
        return 0;
}

int manager_start_trial(Manager *manager, Trial *trial, int *ret_fd, char **ret_error)
{
        int r = asked_start_trial(manager->asked, trial, ret_fd, ret_error);

        manager_attend(manager);
        return r;
}

void manager_forget_senders(Manager *manager)
{
        asked_forget_senders(manager->asked);
}

void manager_resumed(Manager *manager)
{
        if (!seen_note_sleep(manager->seen)) /* too short for the clocks, or noticed before */
                seen_distrust_knobs(manager->seen);
        seen_rescan(manager->seen);
        seen_recheck_facts(manager->seen);
        ground_raise(&manager->ground, DUE_TICK_SOON);
}

void manager_verify(Manager *manager)
{
        done_verify(manager->done);
        if (asked_for_frequency(manager->asked)) /* a maximum that others set is no knob of ours */
                ground_raise(&manager->ground, CHANGE_OBSTACLES);
        manager_note_change(manager);
        manager_attend(manager);
}

unsigned manager_units_wanted(const Manager *manager)
{
        const Done *done = manager->done;
        bool come = done_follows_units(done) || asked_apps_need_units(manager->asked);

        return (come ? UNITS_COME : 0) | (done_follows_starts(done) ? UNITS_JOBS : 0);
}

void manager_units_came(Manager *manager, bool top)
{
        if (asked_apps(manager->asked))
                apps_rescan(asked_apps(manager->asked));
        if (!top || !done_follows_units(manager->done))
                return;
        log_debug("New units: applying the plan again");
        ground_raise(&manager->ground, DUE_STALE | DUE_TICK_SOON);
}

void manager_unit_job(Manager *manager, const char *unit, UnitJob job)
{
        watching_unit_job(seen_watching(manager->seen), unit, job);
        manager_attend(manager);
}

void manager_unit_cpus(Manager *manager, const char *unit, const UnitCpus *cpus)
{
        watching_unit_cpus(seen_watching(manager->seen), unit, cpus);
        manager_attend(manager);
}

void manager_units_listed(Manager *manager, int error)
{
        watching_units_listed(seen_watching(manager->seen), error);
        manager_attend(manager);
}
