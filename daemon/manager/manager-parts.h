/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager's parts, for each other: manager.c has its life and its tick. The others are
 *   manager-act.c      carrying out the plan, and whether it is in effect
 *   manager-failure.c  what acting failed at
 *   manager-decide.c   asking the policies, making the plan safe, saying why
 *   manager-config.c   configuration into sections, policies and actuators
 *   manager-facts.c    what the machine offers, for policies
 *   manager-wake.c     what makes it tick: timer, CPUs coming and going
 *   manager-guard.c    load watches while CPUs are parked
 *   manager-windows.c  what must not notice parking: programs that start, terminals, cpusets
 *   manager-evaluate.c measuring what policies save
 *   manager-observe.c  readings for queries
 *   manager-profile.c  which profile is in effect
 *   manager-sleep.c    the machine falls asleep and wakes up
 *   manager-pause.c    clients that pause idled
 *   manager-trial.c    clients that compare two ways of running it
 *   manager-holds.c    requests of clients
 *   manager-apps.c     holds of application rules
 *   manager-record.c   the recording of all this
 */
#ifndef IDLED_MANAGER_PARTS_H
#define IDLED_MANAGER_PARTS_H

#include "manager/manager.h"
#include "manager/profile-choice.h"
#include "manager/trial.h"

/* True if some active policy has requests for single CPUs. */
bool manager_wishes_cpus(const Manager *manager);

/* What the active policies read with their present options, and what decides which profile is in
 * effect: Sense flags. */
unsigned manager_needed_senses(const Manager *manager);
unsigned manager_profile_senses(const Manager *manager);

/* Reads what the machine offers, if an active policy needs it; drops what was read before. */
void manager_read_facts(Manager *manager);
void manager_drop_facts(Manager *manager);

/* Whether the drivers differ from those of the last reading of the facts, which no event reports
 * reliably. If so, it reads the facts again, and the next tick must act. Costs a few file reads. */
bool manager_recheck_facts(Manager *manager);

/* The facts, for actuators. */
ActFacts manager_act_facts(const Manager *manager);

/* What a policy is given to decide by, but for `offered`. */
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

/* True while a window is open, and the option that says how long. */
bool manager_has_window(const Manager *manager);
const char *manager_window_option(const Manager *manager);

/* What makes plans safe changed: decides again with the last reading and acts, before it returns.
 */
void manager_act_on_safety(Manager *manager);

/* Begins or ends to watch terminals and cgroups, by what is parked now. */
void manager_follow_windows(Manager *manager);

/* What windows have the manager do. */
typedef struct WindowsCalls {
        void (*tick)(Manager *manager);      /* soon */
        void (*act)(Manager *manager);       /* make the plan safe again and carry it out, now */
        void (*carry_out)(Manager *manager); /* the plan as it is, soon */
} WindowsCalls;

void manager_windows_init(Manager *manager, const WindowsCalls *calls);
int manager_windows_listen(Manager *manager);
void manager_windows_unlisten(Manager *manager);
void manager_windows_done(Manager *manager);

/* Pinned tasks may go without an event. Whether it is time to check if CPUs that are kept active
 * for them could be parked by now. A tick comes in time for that. */
bool manager_should_look_again(const Manager *manager);

/* Frees what is known of tasks' affinities. */
void manager_drop_pins(Manager *manager);

/* Notes for every CPU why it is parked or not, and a transition if the set of parked CPUs differs
 * from that before. */
void manager_note_causes(Manager *manager, const CpuSet *parked_before, const SafetyNotes *notes);

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
void manager_drop_profile(Manager *manager);

/* Applies the chosen profile in `config`, which is not in effect yet. */
void manager_adopt_profile(Manager *manager, Config *config);

/* Changes the profile if another one is chosen, and signals it. True if options changed. */
bool manager_follow_profile(Manager *manager);

/* Options changed: a profile that contradicted them must be tried again. */
void manager_profile_retry(Manager *manager);

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

/* Sets an option at run time, as manager_set_option() does, without any effect until
 * manager_use_options() is called, after all changes: with those of an actuator's section it is
 * opened again. The caller ticks then. */
int manager_change_option(Manager *manager, const char *section, const char *key, const char *text,
                          char **ret_error);
void manager_use_options(Manager *manager, bool actuators_too);
bool manager_is_actuator_section(const char *section);

/* Tries actuators again that were not available. */
void manager_open_absent(Manager *manager);

/* Closes actuators and frees the policies' states. */
void manager_drop_config(Manager *manager);

/* Sets the timer for the tick after this one, and the load watch until then. */
void manager_arm(Manager *manager, bool changed);

/* Has the timer go off once, after so many microseconds. */
void manager_set_timer(sd_event_source *timer, uint64_t usec);

/* After acting between two ticks: as manager_arm(), but a tick that is due stays so. */
void manager_arm_sooner(Manager *manager);

/* After acting: when nothing was changed for some seconds, frees the memory that acting took. */
void manager_settle_later(Manager *manager);

/* Has the kernel watch for load while CPUs are parked, as the plan asks. Returns how long ticks may
 * be apart meanwhile, in microseconds: 0 without a watch, UINT64_MAX if load causes an event. */
uint64_t manager_guard(Manager *manager);
void manager_unguard(Manager *manager);

/* Whether a new task or the slow trigger called for this tick and a task runs; once. */
bool manager_expects_load(Manager *manager);

/* Whether the machine was asleep since the last call; then all knobs count as set by firmware or
 * kernel, and the plan must be carried out again. */
bool manager_note_sleep(Manager *manager);

/* Puts the rules of applications in the configuration to work. */
void manager_use_apps(Manager *manager);

/* Listens for CPUs that come and go, and reads energy before counters wrap. */
void manager_listen(Manager *manager);
void manager_unlisten(Manager *manager);

/* Begins, changes or ends the recording, as section [Recording] has it. */
void manager_record_follow(Manager *manager);

/* Adds an event to the recording, if there is one, for each of these Change flags. */
void manager_record_changes(Manager *manager, unsigned changes);

/* Takes a sample; ends the recording, which is written then. */
void manager_record_sample(Manager *manager);
void manager_record_end(Manager *manager);

/* The shortest time that a reported power is averaged over. */
#define ENERGY_INTERVAL_USEC 1000000

void manager_observers_init(Manager *manager);
void manager_observers_done(Manager *manager);

/* Logs the result for a knob that had to be restored; a KnobReport. */
void manager_report_restored(const Knob *knob, const char *value, int error, void *userdata);

void manager_pauses_drop(Manager *manager);

/* A hold came or went: acts at once. `userdata` is the manager. */
void manager_hold_changed(void *userdata);

/* Brings up to date which CPUs the holds are about; true if they changed. */
bool manager_follow_holds(Manager *manager);

/* What keeps a cpufreq policy down, as it was in one turn of the loop. */
typedef struct FreqReach {
        uint64_t turn;  /* its number, from 1 on; 0: none yet */
        uint64_t khz;   /* scaling_max_freq; UINT64_MAX: it cannot be read */
        bool boost_off; /* boost could be on, and is off */
} FreqReach;

/* True if a hold asks for a frequency. */
bool manager_holds_frequency(const Manager *manager);

/* Calls the listener. */
void manager_changed(Manager *manager, unsigned changes);

/* CLOCK_MONOTONIC in microseconds. */
uint64_t manager_now(void);

#endif
