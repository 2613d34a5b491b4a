/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is asked: holds, pauses, the profile, application rules, and trials.
 */
#ifndef IDLED_ASKED_H
#define IDLED_ASKED_H

#include "apps/apps.h"
#include "manager/active-profile.h"
#include "manager/contracts.h"
#include "manager/pauses.h"
#include "manager/seen.h"
#include "manager/trial.h"

typedef struct Asked Asked;

/* With the profile that was chosen before the restart. */
Asked *asked_new(Ground *ground, const Seen *seen);
void asked_free(Asked *asked);

/* Its parts: what clients ask for, and the profile that follows from it. Apps are NULL without
 * rules; the trial is NULL if none runs. */
Holds *asked_holds(const Asked *asked);
Contracts *asked_contracts(const Asked *asked);
Pauses *asked_pauses(const Asked *asked);
Apps *asked_apps(const Asked *asked);
const ActiveProfile *asked_profile(const Asked *asked);
const Trial *asked_trial(const Asked *asked);

/* Brings up to date which CPUs the holds are about; true if they changed. */
bool asked_follow_holds(Asked *asked);

/* Brings up to date which kinds of cores the holds request for units. */
void asked_follow_kinds(Asked *asked);

/* True if a hold requests a frequency. */
bool asked_for_frequency(const Asked *asked);

/* Changes the profile if another one must be in effect. True if options changed. */
bool asked_follow_profile(Asked *asked);

/* Applies the profile in `config`, which is not in effect yet. */
void asked_adopt_profile(Asked *asked, Config *config);

/* As manager_set_profile(), but decides nothing. */
int asked_choose_profile(Asked *asked, const char *name, char **ret_error);

/* Puts the rules of applications in the configuration to work; true if these name units or cgroups.
 */
void asked_use_apps(Asked *asked);
bool asked_apps_need_units(const Asked *asked);

/* Puts options into effect that were changed or set back; NULL: none stayed so. With those of an
 * actuator's section it is opened again. The caller has the manager tick. */
void asked_use_options(Asked *asked, const OptionChanges *changes);

/* manager_start_trial(), but decides nothing; and takes back what the trial that runs, if any,
 * changed. Takes `trial`. */
int asked_start_trial(Asked *asked, Trial *trial, int *ret_fd, char **ret_error);
void asked_end_trial(Asked *asked);

/* No client releases holds or replaces the trial by name any more, because names on another bus are
 * other clients'. */
void asked_forget_senders(Asked *asked);

#endif
