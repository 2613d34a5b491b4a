/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The life of the manager: it begins, recovers what an instance before it left, and ends.
 */
#include <errno.h>
#include <stdio.h>

#include "act/knob/undo.h"
#include "act/park/park-affinities.h"
#include "apps/apps.h"
#include "base/log.h"
#include "config/kept.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"

static void on_load(void *userdata)
{
        manager_tick(userdata);
}

/* The load shows in a reading soon after a task began, but not before the policies' period is over.
 */
static int on_task(void *userdata, uint64_t usec, uint64_t accuracy_usec)
{
        Manager *manager = userdata;
        uint64_t period_over = manager->readings.current->time_usec + manager->plan.period_usec;

        return tick_timer_at(manager->timer, MAX(usec, period_over), accuracy_usec);
}

static void wake(void *userdata)
{
        manager_wake(userdata);
}

static void on_unwatched(Manager *manager)
{
        manager_changed(manager, CHANGE_MISSING);
}

static void on_refused(Manager *manager)
{
        manager_changed(manager, CHANGE_REFUSED);
}

static void on_missing(void *userdata)
{
        on_unwatched(userdata);
}

static void on_pauses(void *userdata)
{
        Manager *manager = userdata;

        manager_interrupt_evaluation(manager, DROP_HOLD);
        manager->stale = true;
        manager_wake(manager);
        manager_changed(manager, CHANGE_PAUSED);
}

int manager_new(const ManagerSetup *setup, sd_event *event, GPtrArray *errors,
                Manager **ret_manager)
{
        static const EvaluationCalls evaluation = { manager_tick, manager_wake, manager_changed };
        static const LoadWatchCalls load = { on_load, on_task, wake, on_missing };
        const ActContext context = { setup->root, setup->units, setup->live,
                                     setup->resets_affinities, setup->affinities };
        g_autoptr(Manager) manager = g_new0(Manager, 1);
        Config *config;
        int r;

        manager->setup = *setup;
        manager->event = sd_event_ref(event);
        manager->policies = g_array_new(FALSE, TRUE, sizeof(ActivePolicy));
        manager->actuators = actuator_set_new(&context);
        manager->pauses = pauses_new(event, on_pauses, manager);
        manager->timer = tick_timer_new();
        manager->load_watch = load_watch_new(event, setup->root, setup->live, &load, manager);
        manager_windows_init(manager,
                             &(WindowsCalls){ manager_wake, manager_act_on_safety,
                                              manager_groups_changed, on_unwatched, on_refused });
        r = manager_read_config(manager, errors, &config);
        if (r < 0)
                return r;
        r = machine_init(&manager->machine, setup->root);
        if (r < 0) {
                config_free(config);
                return log_error_errno(r, "Failed to read the machine's CPUs: %m");
        }
        manager->holds = holds_new(event, setup->root, &manager->machine.topology->online,
                                   HOLDS_FOLLOW_USEC, manager_hold_changed, manager);
        manager->sensors = sensors_new(setup->root, manager->machine.topology);
        readings_init(&manager->readings, manager->machine.topology->n_cpus);
        manager->journal = journal_new(manager->machine.topology->n_cpus, manager_now());
        manager->affinities = affinity_cache_new(event, setup->root, &manager->parked, wake,
                                                 manager);
        manager->knobs = knobs_new(&context, setup->run, setup->dry_run);
        manager->observers = observers_new(manager->sensors, manager->machine.topology->n_cpus);
        manager_meter_init(manager, &evaluation);
        plan_init(&manager->plan, NULL, 0);
        manager->plan.allowed = manager->machine.topology->online;
        manager_note_sleep(manager);
        manager->stale = true;
        manager_recall_profile(manager);
        manager_adopt_profile(manager, config);
        kept_read(config, setup->state);
        manager_use_config(manager, config);
        *ret_manager = g_steal_pointer(&manager);
        return 0;
}

void manager_learn_affinities(ManagerSetup *setup)
{
        char *about;

        setup->resets_affinities = !affinities_kept(setup->root, setup->live ? setup->run : -1,
                                                    &about);
        setup->affinities = g_intern_string(about);
        g_free(about);
}

int manager_probe(const ManagerSetup *setup)
{
        const char *why;
        int r = affinities_try(setup->root, &why);

        if (r < 0) {
                printf("Whether the kernel keeps affinities cannot be tried: %s\n", why);
                return 0;
        }
        printf("The kernel %s affinities when CPUs are parked\n", r ? "keeps" : "resets");
        r = affinities_note(setup->run, r > 0);
        return r < 0 ? log_error_errno(r, "Failed to write affinities in %s: %m", setup->run_path)
                     : 0;
}

/* The meaning of these lines is unknown, so it is an error; and restoring the rest must not lose
 * them. */
static int report_skipped(Knobs *knobs, int skipped)
{
        int r = knobs_set_aside(knobs);

        log_error("%d %s not readable: knobs may stay changed", skipped,
                  skipped == 1 ? "line of the record of changes is"
                               : "lines of the record of changes are");
        if (r > 0)
                log_notice("That record is kept as " UNDO_DAMAGED ", next to its usual name");
        else if (r < 0)
                log_error_errno(r, "That record cannot be kept as " UNDO_DAMAGED ": %m");
        return -EBADMSG;
}

/* A later version may have recorded them, and can restore them. */
static int report_unknown(int unknown)
{
        log_warning("%d %s", unknown,
                    unknown == 1
                            ? "knob of a kind that this version does not know is left unchanged"
                            : "knobs of kinds that this version does not know are left unchanged");
        return -EBADMSG;
}

static int report_unreadable(const char *run_path, int error)
{
        g_autofree char *path = g_build_filename(run_path ? run_path : "", UNDO_RECORD, NULL);

        if (error == -EBADMSG || error == -EISDIR)
                log_error("Failed to read the record of changes %s: found %s, expected a regular "
                          "file; remove it and restart idled",
                          path, error == -EISDIR ? "a directory" : "something else");
        else
                log_error_errno(error, "Failed to read the record of changes %s: %m", path);
        return error;
}

int manager_recover(Knobs *knobs, int root, const char *run_path)
{
        g_autofree const KnobKind **kinds = actuators_kinds();
        int skipped, unknown, n, reported = 0, r;

        r = affinities_clean(root);
        if (r < 0)
                reported = log_error_errno(r, "Failed to remove the cgroup idled.probe: %m");
        n = knobs_recover(knobs, kinds, &skipped);
        if (n < 0)
                return report_unreadable(run_path, n);
        if (skipped > 0)
                reported = report_skipped(knobs, skipped);
        unknown = knobs_count_unknown(knobs, kinds);
        if (unknown > 0)
                reported = report_unknown(unknown);
        if (n > 0)
                log_notice("Restoring %d %s that idled had changed before it died", n,
                           n == 1 ? "knob" : "knobs");
        r = manager_restore(knobs);
        return r < 0 ? r : reported;
}

int manager_start(Manager *manager)
{
        int r = 0;

        if (!manager->setup.dry_run)
                r = manager_recover(manager->knobs, manager->setup.root, manager->setup.run_path);
        manager_listen(manager);
        manager_tick(manager);
        manager_use_apps(manager);
        return r;
}

int manager_free(Manager *manager)
{
        int r = 0;

        if (!manager)
                return 0;
        manager->on_change = NULL;
        if (manager->config)
                manager_keep_evaluations(manager);
        manager_record_end(manager);
        manager_trial_end(manager, false);
        apps_free(manager->apps);
        holds_free(manager->holds);
        manager_unlisten(manager);
        if (manager->knobs)
                r = manager_restore(manager->knobs);
        manager_drop_config(manager);
        active_profile_done(&manager->profile);
        manager_windows_done(manager);
        observers_free(manager->observers);
        manager_meter_done(manager);
        knobs_free(manager->knobs);
        affinity_cache_free(manager->affinities);
        readings_done(&manager->readings);
        sensors_free(manager->sensors);
        machine_done(&manager->machine);
        g_free(manager->cpu_wishes[0]);
        g_free(manager->cpu_wishes[1]);
        journal_free(manager->journal);
        pauses_free(manager->pauses);
        actuator_set_free(manager->actuators);
        g_array_unref(manager->policies);
        load_watch_free(manager->load_watch);
        tick_timer_free(manager->timer);
        sd_event_unref(manager->event);
        g_free(manager);
        return r;
}
