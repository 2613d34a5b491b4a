/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Acting: carries out the plan and handles the result.
 *
 * The parked CPUs are those that the plan leaves out and that a knob of ours keeps tasks off. A
 * knob that another program changed is taken over and stays so. With the last such knob the parking
 * is gone, whatever the plan says, and all clients get a signal. Where there is nothing to confine
 * there are no such knobs, and nothing is parked.
 */
#include <errno.h>

#include "base/log.h"
#include "manager/manager-explain.h"
#include "manager/manager-parts.h"

/* Knobs are compared with what they should be at most this often, in ticks that come anyway. */
#define CHECK_USEC (60 * G_USEC_PER_SEC)

/* True if what the actuator did for the plan `before` is what it would do now. */
static bool is_done(const Manager *manager, const ActuatorState *a, const Plan *before)
{
        return before && !manager->stale && a->error >= 0 && a->actuator->same &&
               a->actuator->same(before, &manager->plan);
}

/* Forgets what was carried out, so that every knob is checked. */
static void forget(Manager *manager)
{
        const ActuatorState *a;

        for (unsigned i = 0; (a = actuator_set_nth(manager->actuators, i)); i++)
                if (a->state && a->actuator->forget)
                        a->actuator->forget(a->state, manager->knobs, &manager->returned);
        manager->returned = (CpuSet){ 0 };
}

/* Lets the actuator carry out the plan; a new error is logged, the same one again is not. Returns
 * CHANGE_CONFIG if it does it in another way now, else 0. */
static unsigned act_by(Manager *manager, const ActuatorState *a)
{
        const Actuator *actuator = a->actuator;
        const ActFacts facts = machine_facts(&manager->machine);
        g_autofree char *before = g_strdup(actuator->describe(a->state));
        int r = actuator->apply(a->state, manager->knobs, &manager->plan, &facts);
        const char *now = actuator->describe(a->state);
        int known = a->error;

        actuator_set_note(manager->actuators, actuator, MIN(r, 0),
                          r < 0 ? manager_failure(manager, a, r) : NULL);
        if (r < 0 && r != known)
                log_error_errno(r, "%s: %s: %s", actuator->name, now, a->why);
        else if (r >= 0 && known < 0)
                log_info("%s: %s: in effect now", actuator->name, now);
        else if (!g_str_equal(now, before))
                log_info("%s: %s", actuator->name, now);
        return g_str_equal(now, before) ? 0 : CHANGE_CONFIG;
}

/* Lets every actuator do that. What was done for the plan `before` is not done again; NULL: all is.
 * If the machine falls asleep meanwhile all is done once more, at the next tick. Returns what of
 * Change that makes. */
static unsigned act(Manager *manager, const Plan *before)
{
        unsigned changes = 0, writes = knobs_writes(manager->knobs);
        bool again = false, park_wrote = false;
        const ActuatorState *a;

        if (manager_note_sleep(manager) || manager->stale || !before)
                forget(manager);
        for (unsigned i = 0; (a = actuator_set_nth(manager->actuators, i)); i++) {
                if (!a->state ||
                    (is_done(manager, a, before) && !(park_wrote && a->actuator->follows_park)))
                        continue;
                if (manager_note_sleep(manager)) {
                        forget(manager);
                        again = true;
                }
                changes |= act_by(manager, a);
                if (a->actuator == &actuator_park)
                        park_wrote = knobs_writes(manager->knobs) != writes;
        }
        manager->checked_usec = manager_now();
        manager->stale = again;
        if (again)
                manager_wake(manager);
        return changes;
}

/* The first knob of parking that is not in our hands; NULL: none. */
static const Knob *lost_knob(const Manager *manager)
{
        const Knob *const *knobs;

        for (int i = 0, n = knobs_list(manager->knobs, &knobs); i < n; i++)
                if (knobs[i]->state != KNOB_OURS && knob_is_of(knobs[i], actuator_park.kinds))
                        return knobs[i];
        return NULL;
}

/* The CPUs that the plan leaves out. */
static CpuSet planned_now(const Manager *manager)
{
        CpuSet planned = manager->machine.topology->online;

        cpuset_subtract(&planned, &manager->plan.allowed);
        return planned;
}

/* Those of them that are parked after acting. */
static CpuSet parked_now(const Manager *manager)
{
        CpuSet parked = planned_now(manager), kept = knobs_kept_free(manager->knobs);

        cpuset_and(&parked, &kept);
        return parked;
}

static bool lacks_parked(const Manager *manager)
{
        CpuSet planned = planned_now(manager);

        return !cpuset_is_subset(&planned, &manager->parked);
}

/* True if nothing failed, and there is nothing to confine, as there always is for a partition. */
static bool is_unconfined(const Manager *manager)
{
        const ActuatorState *a = actuator_set_find(manager->actuators, &actuator_park);

        return manager_can_park(manager) && a->actuator->follows_units(a->state) && a->error >= 0 &&
               lacks_parked(manager) && !lost_knob(manager);
}

const char *manager_unconfined(const Manager *manager)
{
        const ParkOptions *options = config_section(manager->config, "Park")->options;

        if (!is_unconfined(manager))
                return NULL;
        return park_restricts_units(options)
                       ? "no unit or cgroup that Units= and Exclude= of section [Park] "
                         "select can be confined"
                       : "no unit or cgroup can be confined";
}

/* Reads again what is in effect. Returns CHANGE_PARKED if it is not what it was, else 0. */
static unsigned read_parked(Manager *manager)
{
        CpuSet before = manager->parked;

        manager->parked = parked_now(manager);
        history_note_parked(journal_history(manager->journal), &manager->parked, manager_now());
        return cpuset_equal(&before, &manager->parked) ? 0 : CHANGE_PARKED;
}

/* The same, with its cause in the history, and in the log if there is nothing to confine. */
static unsigned note_parked(Manager *manager)
{
        unsigned changes = read_parked(manager);
        const char *why = manager_unconfined(manager);

        if (why && !manager->unconfined)
                log_warning("%s: %s", actuator_park.name, why);
        if (why || !cpuset_is_empty(&manager->parked))
                manager->unconfined = why;
        manager_note_change(manager);
        return changes;
}

/* That parking is not there, or failed, or has nothing to confine. */
static char *actuator_obstacle(const Manager *manager)
{
        const ActuatorState *a = actuator_set_find(manager->actuators, &actuator_park);

        if (is_unconfined(manager))
                return g_strdup(manager_unconfined(manager));
        if (!a)
                return NULL;
        if (a->error >= 0)
                return g_strdup_printf("%s is not in effect", a->actuator->describe(a->state));
        if (a->error == ACTUATOR_OFF)
                return g_strdup("Backend=none of section [Park] switches parking off");
        if (!a->state)
                return g_strdup_printf("parking is not available here (%s)", a->why);
        return g_strdup_printf("%s: %s: %s", a->actuator->name, a->actuator->describe(a->state),
                               g_strerror(-a->error));
}

char *manager_obstacle(const Manager *manager)
{
        const Knob *knob = lost_knob(manager);
        g_autofree char *why = NULL;

        if (manager->setup.dry_run)
                return g_strdup("this is a dry run");
        if (!lacks_parked(manager))
                return NULL;
        if (!knob)
                return actuator_obstacle(manager);
        if (knob->state == KNOB_FOREIGN)
                return g_strdup_printf("another program has taken over %s %s", knob->kind->name,
                                       knob->name);
        why = knob_failure(manager->knobs, knob);
        return g_strdup_printf("%s %s could not be changed: %s", knob->kind->name, knob->name, why);
}

static unsigned count_degraded(const Manager *manager)
{
        const Knob *const *knobs;
        int n = knobs_list(manager->knobs, &knobs);
        const ActuatorState *a;
        unsigned degraded = 0;

        for (int i = 0; i < n; i++)
                degraded += knobs[i]->state != KNOB_OURS || knobs[i]->error < 0;
        for (unsigned i = 0; (a = actuator_set_nth(manager->actuators, i)); i++)
                degraded += actuator_unreported_error(a, manager->knobs) < 0;
        return degraded + is_unconfined(manager);
}

CpuWish manager_limits(const Manager *manager, int cpu)
{
        const ActFacts facts = machine_facts(&manager->machine);

        if (manager->setup.dry_run || !cpuset_has(&manager->machine.topology->online, cpu))
                return (CpuWish){ .latency_us = -1, .bias = -1, .boost = -1 };
        return actuator_set_limits(manager->actuators, &facts, cpu);
}

/* After a failure that other drivers explain, what they offer is decided by at once. */
static void check_drivers(Manager *manager)
{
        bool odd = false;
        const ActuatorState *a;

        for (unsigned i = 0; (a = actuator_set_nth(manager->actuators, i)); i++)
                odd |= a->state && a->actuator != &actuator_park &&
                       (a->error == -ENOENT || a->error == -EINVAL);
        if (odd)
                manager_recheck_facts(manager);
}

void manager_widen(Manager *manager)
{
        Plan before = manager->plan;

        manager->plan.allowed = manager->machine.topology->online;
        manager_changed(manager, act(manager, &before));
        read_parked(manager); /* its cause is not known before the plan is */
        manager->plan.allowed = before.allowed;
        manager->stale = true; /* the plan that comes may be the one before, which is undone */
}

void manager_carry_out(Manager *manager, const Plan *plan, const SafetyNotes *notes)
{
        unsigned degraded = count_degraded(manager), changes = 0;
        Plan before = manager->plan;

        if (!cpuset_equal(&plan->allowed, &before.allowed))
                changes |= CHANGE_PARKED;
        if (manager->stale || !plan_equal_cpus(plan, &before))
                changes |= CHANGE_LIMITS;
        manager->plan = *plan;
        manager_note_causes(manager, notes);
        changes |= act(manager, &before);
        changes |= note_parked(manager);
        if (degraded || count_degraded(manager))
                changes |= CHANGE_DEGRADED;
        check_drivers(manager);
        manager_settle_later(manager);
        manager_watch_groups(manager);
        manager_follow_windows(manager);
        manager_changed(manager, changes);
}

/* The values in effect for single CPUs, from knobs that another program changed. */
static unsigned apply_forgotten(Manager *manager)
{
        unsigned changes = 0;
        const ActuatorState *a;

        forget(manager);
        for (unsigned i = 0; (a = actuator_set_nth(manager->actuators, i)); i++)
                if (a->state && a->actuator->forget)
                        changes |= act_by(manager, a);
        return changes;
}

/* True if a hold requests a frequency. */
static bool holds_ask_for_frequency(const Manager *manager)
{
        const Hold *holds;
        unsigned n = holds_list(manager->holds, &holds);

        for (unsigned i = 0; i < n; i++)
                if (holds[i].min_khz > 0)
                        return true;
        return false;
}

void manager_verify(Manager *manager)
{
        const Knob *const *knobs;
        unsigned degraded = count_degraded(manager), changes = 0;

        if (manager_note_sleep(manager)) {
                manager_wake(manager); /* carries everything out again */
                return;
        }
        knobs_verify(manager->knobs);
        if (count_degraded(manager) != degraded)
                changes |= CHANGE_DEGRADED;
        for (int i = 0, n = knobs_list(manager->knobs, &knobs); i < n && changes; i++)
                if (knobs[i]->state == KNOB_FOREIGN)
                        log_warning("Another program has taken over %s %s; idled leaves it alone",
                                    knobs[i]->kind->name, knobs[i]->name);
        if (changes)
                changes |= apply_forgotten(manager);
        if (holds_ask_for_frequency(manager))
                changes |= CHANGE_OBSTACLES; /* a maximum that others set is no knob of ours */
        manager_changed(manager, changes | note_parked(manager));
}

/* True if the plan leaves CPUs out and may be carried out, whether or not that succeeds. */
static bool wants_parking(const Manager *manager)
{
        CpuSet planned = planned_now(manager);

        return manager_can_park(manager) && !cpuset_is_empty(&planned);
}

bool manager_follows_units(const Manager *manager)
{
        const ActuatorState *a;

        if (!wants_parking(manager))
                return false;
        for (unsigned i = 0; (a = actuator_set_nth(manager->actuators, i)); i++)
                if (a->state && a->actuator->follows_units && a->actuator->follows_units(a->state))
                        return true;
        return false;
}

void manager_check_knobs(Manager *manager)
{
        unsigned degraded, changes;
        const Knob *const *knobs;

        if (manager_now() - manager->checked_usec < CHECK_USEC)
                return;
        manager->checked_usec = manager_now();
        if (manager_recheck_facts(manager) ||
            (!wants_parking(manager) && knobs_list(manager->knobs, &knobs) == 0))
                return;
        manager_verify(manager);
        degraded = count_degraded(manager);
        changes = act(manager, NULL) | note_parked(manager);
        if (count_degraded(manager) != degraded)
                changes |= CHANGE_DEGRADED;
        manager_changed(manager, changes);
}

uint64_t manager_check_after(const Manager *manager)
{
        const Knob *const *knobs;
        int n = knobs_list(manager->knobs, &knobs);
        bool changed = wants_parking(manager); /* new cgroups must be confined */

        for (int i = 0; i < n && !changed; i++)
                changed = knobs[i]->state == KNOB_OURS;
        /* What stood in the way, such as a full /run, may be gone by then. */
        changed |= actuator_set_error(manager->actuators) < 0;
        return changed && !manager->setup.dry_run ? CHECK_USEC : 0;
}
