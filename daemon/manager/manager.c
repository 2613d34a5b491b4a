/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager: its life, and the tick.
 *
 * A tick reads, decides and acts, in this order. Reading fills a snapshot; deciding turns it into a
 * plan and touches nothing; acting happens only if the plan differs from the one in effect (or
 * something outside made that doubtful: `stale`), so that the usual tick is one reading and one
 * comparison. Apart from ticks only holds that come or go make it decide and act (manager-holds.c),
 * by the same two steps and the last reading.
 *
 * What is waited for is waited for in the event loop of sd-event, but for what acting waits for:
 * the kernel, and systemd for BUS_TIMEOUT_USEC a call (unit-control.h).
 */
#include "manager/manager.h"

#include <errno.h>
#include <time.h>

#include "act/knob/undo.h"
#include "base/cpuset-text.h"
#include "base/log.h"
#include "apps/apps.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"
#include "sense/topology-read.h"

uint64_t manager_now(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * G_USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

void manager_changed(Manager *manager, unsigned changes)
{
        manager_record_changes(manager, changes);
        if (changes && manager->on_change)
                manager->on_change(manager, changes, manager->userdata);
}

unsigned manager_needed_senses(const Manager *manager)
{
        unsigned senses = SENSE_LOAD | manager_profile_senses(manager) |
                          manager_evaluation_senses(manager) | manager->plan.reads;

        for (guint i = 0; i < manager->policies->len; i++) {
                const ActivePolicy *p = &g_array_index(manager->policies, ActivePolicy, i);

                senses |= p->policy->needs;
                if (p->policy->reads)
                        senses |= p->policy->reads(p->section->options);
        }
        return senses;
}

/* Takes the reading that the policies decide by. */
static int read_machine(Manager *manager)
{
        Counters *previous = manager->previous, *current = manager->current;
        bool first = current->time_usec == 0, pressed = manager->pressed;
        int r;

        manager->snapshot->pressed = pressed;
        manager->pressed = false;
        if (!first && manager_now() - current->time_usec < READING_USEC)
                return 0;
        manager->previous = current;
        manager->current = previous;
        r = counters_read(manager->sensors, manager_needed_senses(manager), manager->current);
        if (r < 0) {
                manager->previous = previous;
                manager->current = current;
                return r;
        }
        snapshot_compute(first ? NULL : manager->previous, manager->current, manager->snapshot);
        manager->snapshot->pressed = pressed;
        return 0;
}

/* CPUs that came or went without an event show in the reading itself. A container may be shown
 * times of other CPUs than are online, for good: that is looked into less and less often. Once is
 * not enough, for a CPU that goes between two readings may be back before the next. */
static void look_for_moved_cpus(Manager *manager)
{
        const CpuSet *counted = &manager->current->cpus;
        g_autofree char *text = NULL;
        unsigned n;

        if (cpuset_equal(counted, &manager->topology->online) ||
            !cpuset_equal(counted, &manager->counted))
                manager->n_counted = 0;
        manager->counted = *counted;
        if (cpuset_equal(counted, &manager->topology->online))
                return;
        n = ++manager->n_counted;
        if ((n & (n - 1)) != 0)
                return;
        manager_rescan(manager);
        if (n != 2 || cpuset_equal(counted, &manager->topology->online))
                return;
        text = cpuset_format(counted);
        log_info("The kernel counts the time of CPUs %s, which are not the online CPUs", text);
}

/* True if work would be sent from the CPUs that it is confined to now to entirely different ones.
 * Tasks on the former may be confined there or pinned; nothing shows which. */
static bool leaves_all(const Manager *manager, const Plan *plan)
{
        CpuSet common = plan->allowed;

        cpuset_and(&common, &manager->plan.allowed);
        cpuset_and(&common, &manager->topology->online);
        return cpuset_is_empty(&common) && !cpuset_is_empty(&manager->parked);
}

/* Decides, and acts if the plan is another one: then true. */
static bool decide_and_act(Manager *manager, bool by_holds)
{
        g_autofree const char **owners = NULL;
        g_autofree uint8_t *safety = NULL;
        Plan wished = manager->wished, plan;

        manager_decide(manager, by_holds, &plan);
        if (!manager->stale && !manager->unsafe && plan_equal(&wished, &manager->wished) &&
            !manager_should_look_again(manager)) {
                plan.allowed = manager->plan.allowed;
                plan.resting = manager->plan.resting;
                plan.quiet = manager->plan.quiet;
                plan.slack_units = manager->plan.slack_units;
                manager->plan = plan;
                return false;
        }
        manager->acting = true;
        if (leaves_all(manager, &plan))
                manager_widen(manager);
        safety = g_new0(uint8_t, (gsize)manager->topology->n_cpus);
        owners = g_new0(const char *, (gsize)manager->topology->n_cpus);
        manager_make_safe(manager, &plan, &(SafetyNotes){ safety, owners });
        manager_carry_out(manager, &plan, &(SafetyNotes){ safety, owners });
        manager->acting = false;
        return true;
}

/* As decide_and_act(), and once more if parking changed where processes with holds may run. */
static bool settle(Manager *manager, bool by_holds)
{
        CpuSet parked = manager->parked;
        bool changed = decide_and_act(manager, by_holds);

        if (cpuset_equal(&parked, &manager->parked))
                return changed;
        holds_look_again(manager->holds);
        if (manager_follow_holds(manager))
                decide_and_act(manager, true);
        return changed;
}

void manager_tick(Manager *manager)
{
        bool changed;
        int r;

        manager->n_ticks++;
        r = read_machine(manager);
        if (r < 0) {
                log_error_errno(r, "Failed to read the load: %m");
                manager_arm(manager, true);
                return;
        }
        look_for_moved_cpus(manager);
        manager_follow_holds(manager);
        manager_follow_profile(manager);
        manager_evaluate(manager);
        manager_record_follow(manager);
        changed = settle(manager, false);
        if (!changed)
                manager_check_knobs(manager);
        manager_arm(manager, changed);
        if (manager->stale || manager->unsafe) /* acting has shown that the machine is another */
                manager_wake(manager);
}

void manager_act_on_holds(Manager *manager)
{
        bool by_holds = !manager_follow_profile(manager);

        if (settle(manager, by_holds))
                manager_arm_sooner(manager);
}

void manager_act_on_safety(Manager *manager)
{
        if (settle(manager, true))
                manager_arm_sooner(manager);
}

bool manager_rescan(Manager *manager)
{
        Topology *topology;
        int r;

        r = topology_read(manager->setup.root, &topology);
        if (r < 0) {
                log_error_errno(r, "Failed to read the topology again: %m");
                return false;
        }
        /* A partition of ours is none of the administrator's. */
        cpuset_subtract(&topology->isolated, &manager->parked);
        if (topology->n_cpus != manager->topology->n_cpus ||
            topology_equal(topology, manager->topology)) {
                topology_free(topology);
                return false;
        }
        manager_interrupt_evaluation(manager, DROP_HOTPLUG);
        CPUSET_FOREACH(cpu, &topology->online)
                if (!cpuset_has(&manager->topology->online, cpu))
                        cpuset_add(&manager->returned, cpu);
        topology_free(manager->topology);
        manager->topology = topology;
        manager_read_facts(manager);
        sensors_rescan(manager->sensors, topology);
        manager_choose_source(manager, manager->config);
        manager->stale = true;
        manager_changed(manager, CHANGE_TOPOLOGY);
        return true;
}

void manager_groups_changed(Manager *manager)
{
        manager->stale = true;
        manager_wake(manager);
}

int manager_wanted_cores(const Manager *manager)
{
        return topology_count_cores(manager->topology, &manager->plan.allowed);
}

int manager_active_cores(const Manager *manager)
{
        CpuSet active = manager->topology->online;

        cpuset_subtract(&active, &manager->parked);
        return topology_count_cores(manager->topology, &active);
}

int manager_new(const ManagerSetup *setup, sd_event *event, GPtrArray *errors,
                Manager **ret_manager)
{
        static const EvaluationCalls evaluation = { manager_tick, manager_wake, manager_changed,
                                                    manager_is_paused };
        g_autoptr(Manager) manager = g_new0(Manager, 1);
        Config *config;
        int r;

        manager->setup = *setup;
        manager->event = sd_event_ref(event);
        manager->policies = g_array_new(FALSE, TRUE, sizeof(ActivePolicy));
        manager->actuators = g_array_new(FALSE, TRUE, sizeof(ActuatorState));
        manager->pauses = g_ptr_array_new();
        manager->texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        manager_windows_init(manager, &(WindowsCalls){ manager_wake, manager_act_on_safety,
                                                       manager_groups_changed });
        r = manager_read_config(manager, errors, &config);
        if (r < 0)
                return r;
        r = topology_read(setup->root, &manager->topology);
        if (r < 0) {
                config_free(config);
                return log_error_errno(r, "Failed to read the machine's CPUs: %m");
        }
        manager->holds = holds_new(event, setup->root, &manager->topology->online,
                                   HOLDS_FOLLOW_USEC, manager_hold_changed, manager);
        manager->sensors = sensors_new(setup->root, manager->topology);
        manager->previous = counters_new(manager->topology->n_cpus);
        manager->current = counters_new(manager->topology->n_cpus);
        manager->snapshot = snapshot_new(manager->topology->n_cpus);
        manager->causes = g_new0(CpuCause, (gsize)manager->topology->n_cpus);
        manager->history = history_new(manager->topology->n_cpus);
        manager->start_usec = manager_now();
        manager->knobs = knobs_new(&(ActContext){ setup->root, setup->units, setup->live },
                                   setup->run, setup->dry_run);
        manager_observers_init(manager);
        manager_meter_init(manager, &evaluation);
        plan_init(&manager->plan, NULL, 0);
        manager->plan.allowed = manager->topology->online;
        manager_note_sleep(manager);
        manager->stale = true;
        manager_recall_profile(manager);
        manager_adopt_profile(manager, config);
        manager_use_config(manager, config);
        *ret_manager = g_steal_pointer(&manager);
        return 0;
}

void manager_report_restored(const Knob *knob, const char *value, int error, void *userdata)
{
        if (error == -ESTALE)
                log_warning("%s %s is now \"%s\": another program has taken it over; idled leaves "
                            "it unchanged",
                            knob->kind->name, knob->name, value);
        else if (error == -ENOENT)
                log_debug("%s %s is gone", knob->kind->name, knob->name);
        else if (error < 0)
                log_error_errno(error, "Failed to restore %s %s: %m", knob->kind->name, knob->name);
}

static const KnobKind **all_kinds(void)
{
        GPtrArray *kinds = g_ptr_array_new();

        for (int i = 0; actuators[i]; i++)
                for (int j = 0; actuators[i]->kinds[j]; j++)
                        g_ptr_array_add(kinds, (gpointer)actuators[i]->kinds[j]);
        g_ptr_array_add(kinds, NULL);
        return (const KnobKind **)g_ptr_array_free(kinds, FALSE);
}

/* The meaning of these lines is unknown, so it is an error; and restoring the rest must not lose
 * them. */
static int tell_skipped(Knobs *knobs, int skipped)
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
static int tell_unknown(int unknown)
{
        log_warning("%d %s", unknown,
                    unknown == 1
                            ? "knob of a kind that this version does not know is left unchanged"
                            : "knobs of kinds that this version does not know are left unchanged");
        return -EBADMSG;
}

int manager_recover(Knobs *knobs)
{
        g_autofree const KnobKind **kinds = all_kinds();
        int skipped, unknown, n, told = 0, r;

        n = knobs_recover(knobs, kinds, &skipped);
        if (n < 0)
                return log_error_errno(n, "Failed to read the record of changes: %m");
        if (skipped > 0)
                told = tell_skipped(knobs, skipped);
        unknown = knobs_count_unknown(knobs, kinds);
        if (unknown > 0)
                told = tell_unknown(unknown);
        if (n > 0)
                log_notice("Restoring %d %s that an instance that died left changed", n,
                           n == 1 ? "knob was" : "knobs were");
        r = knobs_restore(knobs, manager_report_restored, NULL);
        return r < 0 ? r : told;
}

int manager_start(Manager *manager)
{
        int r = 0;

        if (!manager->setup.dry_run)
                r = manager_recover(manager->knobs);
        manager_listen(manager);
        manager_tick(manager);
        manager_use_apps(manager);
        return r;
}

void manager_free(Manager *manager)
{
        if (!manager)
                return;
        manager->on_change = NULL;
        if (manager->config)
                manager_keep_evaluations(manager);
        manager_record_end(manager);
        manager_pauses_drop(manager);
        manager_trial_end(manager, false);
        apps_free(manager->apps);
        holds_free(manager->holds);
        manager_unlisten(manager);
        if (manager->knobs)
                knobs_restore(manager->knobs, manager_report_restored, NULL);
        manager_drop_config(manager);
        manager_drop_profile(manager);
        manager_windows_done(manager);
        g_hash_table_unref(manager->texts);
        manager_observers_done(manager);
        manager_meter_done(manager);
        knobs_free(manager->knobs);
        manager_drop_pins(manager);
        snapshot_free(manager->snapshot);
        counters_free(manager->current);
        counters_free(manager->previous);
        sensors_free(manager->sensors);
        topology_free(manager->topology);
        manager_drop_facts(manager);
        g_free(manager->cpu_wishes[0]);
        g_free(manager->cpu_wishes[1]);
        g_free(manager->causes);
        history_free(manager->history);
        g_ptr_array_unref(manager->pauses);
        g_array_unref(manager->actuators);
        g_array_unref(manager->policies);
        sd_event_unref(manager->event);
        g_free(manager);
}
