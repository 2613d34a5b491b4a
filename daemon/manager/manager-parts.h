/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager's files, for each other, the lowest first. A file uses those above it. First parts
 * with their own header and state, which do not include the manager:
 *   tick-timer, load-watch            when the next tick is; load between ticks
 *   affinity-cache, machine           pinned tasks; CPUs, and what their drivers offer
 *   journal                           what is and was parked, and why
 *   observers, pauses, trial          clients: readings for queries, pauses, comparisons
 *   actuator-set, active-profile      the open actuators; the profile in effect, and its keeper
 *   windows, refusals                 when CPUs are active for programs
 * Files that work on the manager:
 *   manager-record.c      the recording of all this
 *   manager-notify.c      changes and wakes
 *   manager-evaluate.c    measuring what policies save
 *   manager-windows.c     what must not notice parking: programs that start, terminals, cpusets
 *   manager-apps.c        holds of application rules
 *   manager-sleep.c       the machine falls asleep and wakes up
 *   manager-actuators.c   opens actuators again, and explains their failures
 *   manager-machine.c     CPUs and drivers that changed
 *   manager-groups.c      cgroups that come and go
 *   manager-profile.c     what follows when it changes
 *   manager-config.c      configuration into sections, policies and actuators
 *   manager-holds.c       obstacles of holds
 *   manager-decide.c      asking the policies, making the plan safe
 *   manager-causes.c      why the plan is as it is
 *   manager-act.c         carrying out the plan, and whether it is in effect
 *   manager.c             the tick
 *   manager-wake.c        what makes it tick: timer, CPUs coming and going
 *   manager-control.c     what clients have it do
 *   manager-trial.c, manager-start.c   clients that compare; starts and ends the manager
 */
#ifndef IDLED_MANAGER_PARTS_H
#define IDLED_MANAGER_PARTS_H

#include <systemd/sd-device.h>

#include "apps/apps.h"
#include "manager/affinity-cache.h"
#include "manager/load-watch.h"
#include "manager/machine.h"
#include "manager/manager-view.h"
#include "manager/tick-timer.h"

struct Manager {
        ManagerSetup setup;
        sd_event *event;
        Config *config;
        MachineFacts machine;
        Sensors *sensors;

        Readings readings;        /* the policies' */
        Observers *observers;     /* readings made for queries */
        struct MeterState *meter; /* manager-evaluate.c */

        GArray *policies; /* of ActivePolicy, by rank */
        ActuatorSet *actuators;
        Knobs *knobs;
        AffinityCache *affinities;

        Plan wished;               /* what the policies together requested, before CPUs were made
                                      safe */
        CpuWish *cpu_wishes[2];    /* room for those of the present plan and of the next */
        bool stale;                /* carry out the plan again even if it is the same */
        bool acting;               /* a plan is being made and carried out: not again meanwhile */
        bool unconfined;           /* there was nothing to confine at the last parking */
        bool unsafe;               /* what depends on CPUs changed: make the plan safe again */
        struct Watching *watching; /* what must not notice parking; manager-windows.c */
        uint64_t slept_usec;       /* how long the machine had slept at the last check */
        CpuSet counted;            /* the CPUs of /proc/stat at the last tick */
        unsigned n_counted;        /* for so many ticks in a row they were not those online */
        CpuSet returned;       /* CPUs that came online since then: the kernel set their knobs */
        uint64_t checked_usec; /* when the knobs were last compared with what they should be */
        Plan plan;             /* merged and safe */
        CpuSet parked;         /* online CPUs that are kept free of work now */
        Journal *journal;

        Holds *holds;
        ActiveProfile profile;
        struct Apps *apps;         /* NULL: there are no rules */
        struct Recorder *recorder; /* NULL: nothing is recorded */
        Pauses *pauses;
        Trial *trial; /* NULL: none */

        TickTimer *timer;
        LoadWatch *load_watch;
        bool asking;            /* nothing more is parked until tasks and units are known */
        sd_event_source *clock; /* fires when the clock is set */
        sd_event_source *zone;  /* fires when /etc/localtime may be another file */
        sd_event_source *energy_timer, *quiet_timer, *drivers_timer;
        sd_event_source *groups, *groups_settle; /* cgroups that come and go, manager-groups.c */
        sd_device_monitor *monitor;

        ManagerListener on_change;
        void *userdata; /* of on_change */
};

/* True if some active policy has requests for single CPUs. */
bool manager_wishes_cpus(const Manager *manager);

/* What the active policies read with their present options, evaluators, and what decides which
 * profile is in effect: Sense flags. */
unsigned manager_needed_senses(const Manager *manager);

/* Reads what the machine offers, if an active policy needs it; drops what was read before. */
void manager_read_facts(Manager *manager);

/* Whether the drivers differ from those of the last reading of the facts, which no event reports
 * reliably. If so, it reads the facts again, and the next tick must act. Costs a few file reads. */
bool manager_recheck_facts(Manager *manager);

/* The input of a policy's decide(), without `offered`. */
PolicyInput manager_policy_input(const Manager *manager, const ActivePolicy *active);

/* Calls every policy by its rank and merges their requests, or requests nothing while paused. With
 * `by_holds` it calls only those that read holds, and the others keep their last requests. */
void manager_decide(Manager *manager, bool by_holds, Plan *ret_plan);

/* Makes `plan` safe; scans for pinned tasks before CPUs are parked. `notes` has room for every CPU
 * number. */
void manager_make_safe(Manager *manager, Plan *plan, const SafetyNotes *notes);

/* What depends on CPUs. With `fresh` cgroups are read again. With `wait` false is returned while
 * it is not known yet what units need. The strings are valid until the next call. */
bool manager_dependents(Manager *manager, bool fresh, bool wait, Dependents *ret_who);

/* True while a window is open. */
bool manager_has_window(const Manager *manager);

/* True if a window is open, or opens now because of input to a terminal while nothing was parked. A
 * file's status is read for each terminal. */
bool manager_find_window(Manager *manager);

/* The option that says how long. */
const char *manager_window_option(const Manager *manager);

/* What makes plans safe changed: decides again with the last reading and acts, before it returns.
 */
void manager_act_on_safety(Manager *manager);

/* Begins or ends to watch terminals and cgroups, by what is parked now. */
void manager_follow_windows(Manager *manager);

/* Nothing was changed for a while: frees memory, and ends to watch refused affinities while nothing
 * is parked. */
void manager_rest(Manager *manager);

/* What windows have the manager do. */
typedef struct WindowsCalls {
        void (*tick)(Manager *manager);      /* soon */
        void (*act)(Manager *manager);       /* make the plan safe again and carry it out, now */
        void (*carry_out)(Manager *manager); /* the plan as it is, soon */
        void (*missing)(Manager *manager);   /* what is not watched is another now */
        void (*refused)(Manager *manager);   /* an affinity was refused, or forgotten */
} WindowsCalls;

void manager_windows_init(Manager *manager, const WindowsCalls *calls);
int manager_windows_listen(Manager *manager);
void manager_windows_unlisten(Manager *manager);
void manager_windows_done(Manager *manager);

/* Pinned tasks can end without an event. True if it is time to check whether idled could park the
 * CPUs that stay active for them. The timer starts a tick at that time. */
bool manager_should_recheck(const Manager *manager);

/* Notes for every CPU why the plan leaves it out or not. */
void manager_note_causes(Manager *manager, const SafetyNotes *notes);

/* Adds a change to the history if the set of parked CPUs is not that of the last one; in a dry run
 * that set is what the plan leaves out. A plan that cannot be carried out changes nothing. */
void manager_note_change(Manager *manager);

/* Unparks all CPUs for a moment, so that pinned tasks show; a plan is carried out next. */
void manager_widen(Manager *manager);

/* Carries out `plan`, and records why. */
void manager_carry_out(Manager *manager, const Plan *plan, const SafetyNotes *notes);

/* Watches for cgroups that come and go if the present plan makes that necessary, else no longer. */
void manager_watch_groups(Manager *manager);
void manager_unwatch_groups(Manager *manager);

/* Once in a while: has another program changed our knobs, do new cgroups need the plan? */
void manager_check_knobs(Manager *manager);

/* After how many microseconds to do so although no policy needs a tick; 0: nothing is changed. */
uint64_t manager_check_after(const Manager *manager);

/* Reads the configuration into `*ret_config`; the caller logs the errors. */
int manager_read_config(Manager *manager, GPtrArray *errors, Config **ret_config);

/* Reads which profile was chosen before the restart. */
void manager_recall_profile(Manager *manager);

/* Applies the chosen profile in `config`, which is not in effect yet. */
void manager_adopt_profile(Manager *manager, Config *config);

/* As manager_set_profile(), but decides nothing. */
int manager_choose_profile(Manager *manager, const char *name, char **ret_error);

/* Changes the profile if another one is chosen, and signals it. True if options changed. */
bool manager_follow_profile(Manager *manager);

/* Puts policies and actuators of `config` to work in place of the old ones, whose state is kept
 * where the policy is the same. Takes `config` over. */
void manager_use_config(Manager *manager, Config *config);

/* Ends the trial that runs, if any; with `restore` its options are set back and the manager ticks
 * soon. */
static inline void manager_trial_end(Manager *manager, bool restore)
{
        if (manager->trial)
                manager->trial->end(manager->trial, restore);
}

/* Puts options into effect that were changed or set back; NULL: none stayed so. With those of an
 * actuator's section it is opened again. The caller ticks then. */
void manager_use_options(Manager *manager, const OptionChanges *changes);

/* The level of messages to log, and using it where it is not `before`: else what was set by
 * LogControl1 goes on to hold. */
int manager_log_level(const Config *config);
void manager_use_log_level(const Manager *manager, int before);

/* Restores everything and opens the actuators with their current options. */
void manager_reopen_actuators(Manager *manager);

/* Why an actuator could not carry out the plan, as a new string; with the option to blame if it was
 * requested what this machine does not offer. */
char *manager_failure(const Manager *manager, const ActuatorState *a, int error);

/* True if CPUs can be parked, whether or not that succeeds. */
bool manager_can_park(const Manager *manager);

/* Closes actuators and frees the policies' states. */
void manager_drop_config(Manager *manager);

/* After acting between two ticks: sets the timer for the next one, but a tick that is due stays so.
 */
void manager_arm_sooner(Manager *manager);

/* Without a change for so long all is quiet; up to as much again, with some other timer. */
#define QUIET_USEC (5 * G_USEC_PER_SEC)

/* After acting: when nothing was changed for some seconds, frees the memory that acting took. */
void manager_settle_later(Manager *manager);

/* Whether the machine was asleep since the last call; then all knobs count as set by firmware or
 * kernel, and the plan must be carried out again. */
bool manager_note_sleep(Manager *manager);
void manager_distrust_knobs(Manager *manager);

/* Puts the rules of applications in the configuration to work. */
void manager_use_apps(Manager *manager);

/* Listens for CPUs that come and go, and reads energy before counters wrap. */
void manager_listen(Manager *manager);
void manager_unlisten(Manager *manager);

/* Begins, changes or ends the recording, as section [Recording] has it, and takes a sample if one
 * is due. */
void manager_record_follow(Manager *manager);

/* Adds an event to the recording, if there is one, for each of these Change flags. */
void manager_record_changes(Manager *manager, unsigned changes);

/* Ends the recording, which is written then. */
void manager_record_end(Manager *manager);

/* knobs_restore(), and logs the results. */
int manager_restore(Knobs *knobs);

/* A hold came or went: acts at once. `userdata` is the manager. */
void manager_hold_changed(void *userdata);

/* Brings up to date which CPUs the holds are about; true if they changed. */
bool manager_follow_holds(Manager *manager);

/* Calls the listener. */
void manager_changed(Manager *manager, unsigned changes);

#endif
