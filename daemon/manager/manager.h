/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager: owns sensors, policies, actuators and holds, and runs the ticks.
 *
 * It does not depend on D-Bus: its server (bus.c) and its drivers (main.c, tests) call the
 * functions below, and one callback reports changes to them. manager-view.h reads its state.
 */
#ifndef IDLED_MANAGER_H
#define IDLED_MANAGER_H

#include "config/option-changes.h"
#include "holds/holds.h"
#include "manager/ground.h"
#include "manager/pauses.h"
#include "manager/trial.h"

typedef struct Manager Manager;

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

/* Does what is due now, which the event loop would do next: a client whose hold came or went is
 * answered after that. */
void manager_attend(Manager *manager);

/* The machine was asleep: the values that firmware and kernel gave the knobs do not count as taken
 * over, and the plan is carried out again at the next tick, which is now. */
void manager_resumed(Manager *manager);

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

/* Begins a trial and decides again, before it returns; a trial of the same sender ends in the same
 * step. -EBUSY: another client's trial runs; -EOPNOTSUPP: one of the policies is not active; else
 * as config_set(). `*ret_error` says what is wrong. After any error but -EBUSY no trial runs. Takes
 * `trial`. */
int manager_start_trial(Manager *manager, Trial *trial, int *ret_fd, char **ret_error);

/* No client releases holds or replaces the trial by name any more, because names on another bus are
 * other clients'. */
void manager_forget_senders(Manager *manager);

/* Compares every knob with what it should be: one that another program changed is taken over from
 * then on. Logs and signals what changed. */
void manager_verify(Manager *manager);

/* What of systemd's units must be reported now, by the functions below: flags of UnitsWatch. */
unsigned manager_units_wanted(const Manager *manager);
void manager_units_came(Manager *manager, bool top);
void manager_unit_job(Manager *manager, const char *unit, UnitJob job);
void manager_unit_cpus(Manager *manager, const char *unit, const UnitCpus *cpus);
void manager_units_listed(Manager *manager, int error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Manager, manager_free)

#endif
