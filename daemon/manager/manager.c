/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tick.
 *
 * A tick reads, decides and acts, in this order. Reading fills a snapshot. Deciding turns it into a
 * plan and writes nothing. The manager acts only if the plan differs from the one in effect, or if
 * an event made that doubtful (`stale`). So the usual tick is one reading and one comparison.
 * Between ticks only a new or ended hold makes the manager decide and act (manager-holds.c), with
 * the same two steps and the last reading.
 *
 * The manager waits in the event loop of sd-event. Only acting blocks: until the kernel has carried
 * out a write, or for at most BUS_TIMEOUT_USEC per call of systemd (unit-control.h).
 */
#include "manager/manager.h"

#include "base/cpuset-text.h"
#include "base/log.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"

/* When the load is read again after an error, if no policy has requested a period. */
#define RETRY_USEC 5000000

/* Takes the reading that the policies decide by. */
static int read_machine(Manager *manager)
{
        uint64_t last_usec = manager->readings.current->time_usec;
        bool pressed = load_watch_take_pressed(manager->load_watch);
        int r;

        manager->readings.seen->pressed = pressed;
        if (last_usec > 0 && manager_now() - last_usec < READING_USEC)
                return 0;
        r = readings_read(&manager->readings, manager->sensors, manager_needed_senses(manager));
        if (r < 0)
                return r;
        manager->readings.seen->pressed = pressed;
        return 0;
}

/* A reading shows CPUs that came or went without an event. In a container the kernel may always
 * show times of other CPUs than are online, so idled checks a lasting difference less and less
 * often. It checks more than once, because a CPU that goes offline between two readings may be back
 * before the topology is read. */
static void check_moved_cpus(Manager *manager)
{
        const CpuSet *counted = &manager->readings.current->cpus;
        g_autofree char *text = NULL;
        unsigned n;

        if (cpuset_equal(counted, &manager->machine.topology->online) ||
            !cpuset_equal(counted, &manager->counted))
                manager->n_counted = 0;
        manager->counted = *counted;
        if (cpuset_equal(counted, &manager->machine.topology->online))
                return;
        n = ++manager->n_counted;
        if ((n & (n - 1)) != 0)
                return;
        manager_rescan(manager);
        if (n != 2 || cpuset_equal(counted, &manager->machine.topology->online))
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
        cpuset_and(&common, &manager->machine.topology->online);
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
            !manager_should_recheck(manager)) {
                plan.allowed = manager->plan.allowed;
                plan.resting = manager->plan.resting;
                plan.quiet = manager->plan.quiet;
                manager->plan = plan;
                return false;
        }
        manager->acting = true;
        if (leaves_all(manager, &plan))
                manager_widen(manager);
        safety = g_new0(uint8_t, (gsize)manager->machine.topology->n_cpus);
        owners = g_new0(const char *, (gsize)manager->machine.topology->n_cpus);
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
        holds_recheck(manager->holds);
        if (manager_follow_holds(manager))
                decide_and_act(manager, true);
        return changed;
}

/* Sets the load watch until the next tick, and says when that is. */
static NextTick next_tick(Manager *manager, bool changed)
{
        bool parked = !cpuset_is_empty(&manager->parked);
        const Snapshot *last = manager->readings.seen;
        const Plan *plan = &manager->plan;
        NextTick next = {
                .cadence = { .period_usec = plan->period_usec,
                             .settled = plan->settled,
                             .changed = changed },
                .check_usec = manager_check_after(manager),
                .recheck_usec = affinity_cache_due(manager->affinities),
                .wake_at_usec = plan->wake_at_usec,
        };

        if (!changed && load_watch_take_called(manager->load_watch))
                next.cadence.changed = last->running > 0;
        next.cadence.most_usec = load_watch_follow(manager->load_watch, plan->on_pressure, parked,
                                                   last);
        return next;
}

static void arm(Manager *manager, bool changed)
{
        NextTick next = next_tick(manager, changed);

        tick_timer_arm(manager->timer, &next);
}

void manager_arm_sooner(Manager *manager)
{
        NextTick next = next_tick(manager, true);

        tick_timer_arm_sooner(manager->timer, &next);
}

void manager_tick(Manager *manager)
{
        bool changed;
        int r;

        r = read_machine(manager);
        if (r < 0) {
                log_error_errno(r, "Failed to read the load: %m");
                sensors_reopen(manager->sensors, SENSE_LOAD, manager->machine.topology);
                arm(manager, true);
                if (manager->plan.period_usec == 0)
                        tick_timer_in(manager->timer, RETRY_USEC);
                return;
        }
        check_moved_cpus(manager);
        manager_follow_holds(manager);
        manager_follow_profile(manager);
        manager_evaluate(manager);
        manager_record_follow(manager);
        changed = settle(manager, false);
        if (!changed)
                manager_check_knobs(manager);
        arm(manager, changed);
        if (manager->stale || manager->unsafe) /* acting has shown that the machine is another */
                manager_wake(manager);
}

/* A hold cannot wait for a tick: decides again where holds matter and acts, before it returns. */
static void act_on_holds(Manager *manager)
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

void manager_hold_changed(void *userdata)
{
        Manager *manager = userdata;

        manager_changed(manager, CHANGE_HOLDS);
        manager_interrupt_evaluation(manager, DROP_HOLD);
        act_on_holds(manager);
}
