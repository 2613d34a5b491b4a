/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager: owns sensors, policies, actuators and holds, and runs the ticks.
 *
 * It does not depend on D-Bus: its server (bus.c) and its drivers (main.c, tests) call the
 * functions below, and one callback reports changes to them. manager-view.h reads its state.
 */
#ifndef IDLED_MANAGER_H
#define IDLED_MANAGER_H

#include <glib.h>
#include <systemd/sd-event.h>

#include "act/knob/knob.h"
#include "config/config.h"
#include "config/option-changes.h"
#include "holds/holds.h"
#include "manager/pauses.h"
#include "systemd/unit-control.h"

/* The length of the blocks of trials, how long the machine settles before each, and the share of an
 * hour that they take at most. */
typedef struct TrialPace {
        uint64_t block_usec, washout_usec;
        double duty;
} TrialPace;

/* Where the daemon lives and what it may do; from the command line. */
typedef struct ManagerSetup {
        ConfigPaths paths;
        int root;
        int run;              /* directory of the undo record */
        const char *run_path; /* its name, for messages; NULL: none */
        const char *state;    /* directory for state that outlives a restart; NULL: there is none */
        bool dry_run;         /* decide and publish, write nothing */
        bool keep_log_level;  /* it was given on the command line */
        bool live; /* `root` is the running system: PSI triggers and uevents make sense */
        const TrialPace *pace;    /* of trials, for tests; NULL: the usual one */
        uint64_t (*slept)(void);  /* microseconds that the machine has slept; NULL: by its clocks */
        const UnitControl *units; /* NULL: no systemd */
        bool resets_affinities;   /* as ActContext's, and how that is known */
        const char *affinities;
} ManagerSetup;

typedef enum Change {
        CHANGE_PARKED = 1 << 0, /* the plan or what is in effect */
        CHANGE_PAUSED = 1 << 1,
        CHANGE_DEGRADED = 1 << 2, /* knobs that failed or were taken over */
        CHANGE_CONFIG = 1 << 3,
        CHANGE_TOPOLOGY = 1 << 4, /* CPUs came or went: objects too */
        CHANGE_MISSING = 1 << 5,  /* something turned out not to be there */
        CHANGE_HOLDS = 1 << 6,    /* holds came or went, or are about other CPUs */
        CHANGE_PROFILE = 1 << 7,  /* the profile in effect, or why */
        CHANGE_LIMITS = 1 << 8,   /* what single CPUs are held to: governor, latency, idle states */
        CHANGE_KEPT = 1 << 10,    /* the chosen profile is on the disk, or cannot be */
        CHANGE_EVALUATION = 1 << 11, /* what a policy saves */
        CHANGE_TRIAL = 1 << 12,      /* a client's trial came or went */
        CHANGE_REFUSED = 1 << 13,    /* an affinity was refused, or forgotten */
        CHANGE_OBSTACLES = 1 << 9,   /* perhaps: what stands in the way of holds */
} Change;

typedef struct Manager Manager;

/* CLOCK_MONOTONIC in microseconds. */
static inline uint64_t manager_now(void)
{
        return (uint64_t)g_get_monotonic_time();
}

/* Something changed: flags of Change. */
typedef void (*ManagerListener)(Manager *manager, unsigned changes, void *userdata);

/* Has changes reported from now on; the one listener that there is. */
void manager_set_listener(Manager *manager, ManagerListener listener, void *userdata);

/* Finds out whether the kernel keeps affinities, and sets that in `setup`. */
void manager_learn_affinities(ManagerSetup *setup);

/* Tries it, prints the answer, and leaves it for manager_learn_affinities(). */
int manager_probe(const ManagerSetup *setup);

/* A manager with its configuration, sensors, policies and actuators. Nothing of the machine is
 * changed. On failure the errors of the configuration are in `errors` (of ConfigError), as by
 * config_load(). */
int manager_new(const ManagerSetup *setup, sd_event *event, GPtrArray *errors,
                Manager **ret_manager);

/* Restores what an instance before this one left changed, then ticks for the first time. */
int manager_start(Manager *manager);

/* Restores what the record in `knobs` says an instance before this one changed below `root`,
 * reporting to the log; `run_path` is the record's directory, for messages. Returns the first error
 * that left something changed; -EBADMSG: there are lines in the record that make no sense, or knobs
 * of kinds that are not known. */
int manager_recover(Knobs *knobs, int root, const char *run_path);

/* Restores everything, and frees. Returns the first error that left something changed. */
int manager_free(Manager *manager);

/* Reads, decides, acts, and sets the timer for the next time. */
void manager_tick(Manager *manager);

/* Ticks as soon as the loop is free: something that policies must know has changed. */
void manager_wake(Manager *manager);

/* The holds, to add, release and remove them; and the pauses. A tick follows each change. */
Holds *manager_open_holds(Manager *manager);
Pauses *manager_open_pauses(Manager *manager);

/* The machine was asleep: the values that firmware and kernel gave the knobs do not count as taken
 * over, and the plan is carried out again at the next tick, which is now. */
void manager_resumed(Manager *manager);

/* Units or cgroups came or went: the plan is carried out again at the next tick, which is now. */
void manager_groups_changed(Manager *manager);

/* Reads the configuration again. On any error (appended to `errors`) the old one stays whole. */
int manager_reload(Manager *manager, GPtrArray *errors);

/* Sets options at run time, all or none, and decides again; errors as option_changes_make(). */
int manager_set_options(Manager *manager, const OptionValue *options, size_t n, char **ret_error);

/* config_runtime_unmet() of this machine. */
char *manager_option_unmet(const Manager *manager, const char *section, const char *key);

/* Chooses a profile, or with the empty text or PROFILE_AUTO none, and decides again; kept over a
 * restart. Requests of holds take precedence. -ENOENT: there is no such profile; -EINVAL: it
 * contradicts what was set at run time, and all is as it was. `*ret_error` says more. */
int manager_set_profile(Manager *manager, const char *name, char **ret_error);

/* Forgets which CPUs were refused to a service, or with "" to all; how many there were. */
unsigned manager_forget_refused(Manager *manager, const char *unit);

/* Compares every knob with what it should be: one that another program changed is taken over from
 * then on. Logs and signals what changed. */
void manager_verify(Manager *manager);

/* True if application rules name units or cgroups: then the caller must report new units to
 * manager_units_came(). */
bool manager_apps_need_units(const Manager *manager);
void manager_units_came(Manager *manager);

/* True while jobs and CPUs of systemd's units must be reported, by the three functions below. */
bool manager_follows_starts(const Manager *manager);
void manager_unit_job(Manager *manager, const char *unit, UnitJob job);
void manager_unit_cpus(Manager *manager, const char *unit, const UnitCpus *cpus);
void manager_units_listed(Manager *manager, int error);

/* True while new units and cgroups must be reported: manager_groups_changed(). */
bool manager_follows_units(const Manager *manager);

/* Reads CPUs and their groups again; true if something changed. */
bool manager_rescan(Manager *manager);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Manager, manager_free)

#endif
