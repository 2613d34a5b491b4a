/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tick.
 *
 * A tick reads, decides and acts, in this order. Reading fills a snapshot. Deciding turns it into a
 * plan and writes nothing. The manager acts only if the plan differs from the one in effect, or if
 * an event made that doubtful (DUE_STALE). So the usual tick is one reading and one comparison.
 *
 * Between ticks the manager decides and acts, with the same two steps and the last reading, when a
 * hold comes or goes, or when what makes plans safe changed. A client that holds has its answer
 * after that. Knobs that have nothing to do with it are not touched.
 *
 * The manager waits in the event loop of sd-event. Only acting blocks: until the kernel has carried
 * out a write, or for at most BUS_TIMEOUT_USEC per call of systemd (unit-control.h). Once after a
 * change, when all is quiet again, the memory that it took is freed.
 */
#include "manager/manager.h"

#include "base/log.h"
#include "base/memory.h"
#include "manager/evaluation.h"
#include "manager/manager-parts.h"

/* When the load is read again after an error, if no policy has requested a period. */
#define RETRY_USEC 5000000

/* Without a change for so long all is quiet; up to as much again, with some other timer. */
#define QUIET_USEC (5 * G_USEC_PER_SEC)

/* True if work would be sent from the CPUs that it is confined to now to entirely different ones.
 * Tasks on the former may be confined there or pinned; nothing shows which. */
static bool leaves_all(const Manager *manager, const Plan *plan)
{
        CpuSet common = plan->allowed;

        cpuset_and(&common, &manager_plan(manager)->allowed);
        cpuset_and(&common, &manager_topology(manager)->online);
        return cpuset_is_empty(&common) && !cpuset_is_empty(manager_parked(manager));
}

/* Unparks all CPUs, so that pinned tasks show; another plan is carried out next. */
static void carry_out_widest(Manager *manager)
{
        Plan widest = *manager_plan(manager);

        widest.allowed = manager_topology(manager)->online;
        done_carry_out(manager->done, &widest);
}

/* Makes the plan safe and carries it out. */
static void act(Manager *manager, Plan *plan)
{
        gsize n_cpus = (gsize)manager_topology(manager)->n_cpus;
        g_autofree const char **owners = g_new0(const char *, n_cpus);
        g_autofree uint8_t *safety = g_new0(uint8_t, n_cpus);
        const SafetyNotes notes = { safety, owners };

        manager->acting = true;
        if (leaves_all(manager, plan))
                carry_out_widest(manager);
        decided_make_safe(manager->decided, plan, &notes);
        manager_note_causes(manager, &notes);
        done_carry_out(manager->done, plan);
        manager_note_change(manager);
        manager->acting = false;
        timer_set_in(manager->quiet_timer, QUIET_USEC);
}

/* Decides, and acts if the plan is another one: then true. */
static bool decide_and_act(Manager *manager, bool by_holds)
{
        Plan plan;

        done_reopen(manager->done);
        asked_follow_kinds(manager->asked);
        if (!decided_decide(manager->decided, by_holds, &plan) &&
            !(manager->ground.due & (DUE_STALE | DUE_UNSAFE))) {
                done_keep(manager->done, &plan);
                return false;
        }
        act(manager, &plan);
        return true;
}

/* As decide_and_act(), and once more if parking changed where processes with holds may run. */
static bool settle(Manager *manager, bool by_holds)
{
        CpuSet parked = *manager_parked(manager);
        bool changed = decide_and_act(manager, by_holds);

        if (cpuset_equal(&parked, manager_parked(manager)))
                return changed;
        holds_recheck(manager_holds(manager));
        if (asked_follow_holds(manager->asked))
                decide_and_act(manager, true);
        return changed;
}

/* Sets the load watch until the next tick, and says when that is. */
static NextTick next_tick(Manager *manager, bool changed)
{
        bool parked = !cpuset_is_empty(manager_parked(manager));
        const Snapshot *last = manager_snapshot(manager);
        const Plan *plan = manager_plan(manager);
        NextTick next = {
                .cadence = { .period_usec = plan->period_usec,
                             .settled = plan->settled,
                             .changed = changed },
                .check_usec = done_check_after(manager->done),
                .recheck_usec = affinity_cache_due(seen_affinities(manager->seen)),
                .wake_at_usec = plan->wake_at_usec,
                .read_usec = last->time_usec,
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

static void tick(Manager *manager)
{
        bool pressed = load_watch_take_pressed(manager->load_watch), changed;

        if (seen_read(manager->seen, decided_senses(manager->decided), pressed) < 0) {
                arm(manager, true);
                if (manager_plan(manager)->period_usec == 0)
                        tick_timer_in(manager->timer, RETRY_USEC);
                return;
        }
        asked_follow_holds(manager->asked);
        manager_read_contracts(manager);
        asked_follow_profile(manager->asked);
        evaluation_pass(manager->decided);
        manager_record_follow(manager);
        changed = settle(manager, false);
        if (!changed && done_check_knobs(manager->done))
                manager_note_change(manager);
        arm(manager, changed);
        manager_note_contracts(manager);
        if (manager->ground.due & (DUE_STALE | DUE_UNSAFE)) /* the machine turned out another */
                ground_raise(&manager->ground, DUE_TICK_SOON);
}

/* Between two ticks: decides again where holds or safety matter, and acts. */
static void act_between(Manager *manager, bool holds)
{
        bool by_holds = !holds || !asked_follow_profile(manager->asked);

        if (holds && manager_follow_contracts(manager, true))
                ground_raise(&manager->ground, DUE_TICK_SOON);
        if (settle(manager, by_holds))
                manager_arm_sooner(manager);
}

/* What is measured now is of no use, or measured by something else. */
static void interrupt_evaluation(Manager *manager, unsigned due)
{
        for (unsigned why = DROP_CONFIG; why <= DROP_CLOCK; why++)
                if (due & DUE_DROP(why))
                        evaluation_interrupt(manager->decided, why);
        if (due & DUE_DROP(DROP_SLEEP) ||
            (due & CHANGE_PAUSED && !pauses_any(manager_pauses(manager))))
                manager_drop_contracts(manager);
        if (due & (CHANGE_TOPOLOGY | CHANGE_MISSING))
                evaluation_choose_source(manager->decided, manager->ground.config);
}

static void report(Manager *manager, unsigned changes)
{
        manager_record_changes(manager, changes);
        if (changes && manager->on_change)
                manager->on_change(manager, changes, manager->userdata);
}

void manager_attend(Manager *manager)
{
        Ground *ground = &manager->ground;
        unsigned due;

        if (manager->acting)
                return;
        due = ground_take(ground, ~DUE_LATER);
        interrupt_evaluation(manager, due);
        if (due & DUE_TICK)
                tick(manager);
        else if (due & (DUE_HOLDS | DUE_SAFETY))
                act_between(manager, due & DUE_HOLDS);
        due |= ground_take(ground, CHANGE_ANY | DUE_TICK_SOON | DUE_READING);
        if (due & DUE_TICK_SOON)
                tick_timer_soon(manager->timer);
        else if (due & DUE_READING)
                tick_timer_in(manager->timer, READING_USEC);
        report(manager, due & CHANGE_ANY);
}

void manager_tick(Manager *manager)
{
        ground_raise(&manager->ground, DUE_TICK);
        manager_attend(manager);
}

static void on_tick(void *userdata)
{
        manager_tick(userdata);
}

static int on_due(sd_event_source *source, void *userdata)
{
        manager_attend(userdata);
        return 0;
}

static int on_quiet(sd_event_source *source, uint64_t usec, void *userdata)
{
        Manager *manager = userdata;

        watching_rest(seen_watching(manager->seen));
        memory_settle();
        return 0;
}

/* What is due comes before all other events. */
static int listen_for_due(Manager *manager)
{
        Ground *ground = &manager->ground;
        int r = sd_event_add_defer(ground->event, &ground->attend, on_due, manager);

        if (r >= 0)
                r = sd_event_source_set_priority(ground->attend, SD_EVENT_PRIORITY_IMPORTANT);
        return r;
}

void manager_listen(Manager *manager)
{
        sd_event *event = manager->ground.event;
        int r = listen_for_due(manager);

        if (r >= 0)
                r = tick_timer_listen(manager->timer, event, on_tick, manager);
        if (r >= 0)
                r = timer_add(event, &manager->quiet_timer, QUIET_USEC, on_quiet, manager);
        if (r < 0)
                log_error_errno(r, "Failed to create timers: %m");
        seen_listen(manager->seen);
        evaluation_listen(manager->decided);
}

void manager_unlisten(Manager *manager)
{
        manager->ground.attend = sd_event_source_disable_unref(manager->ground.attend);
        tick_timer_unlisten(manager->timer);
        load_watch_stop(manager->load_watch);
        manager->quiet_timer = sd_event_source_disable_unref(manager->quiet_timer);
        seen_unlisten(manager->seen);
}
