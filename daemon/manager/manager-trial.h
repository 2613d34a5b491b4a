/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Trials, carried out.
 */
#ifndef IDLED_MANAGER_TRIAL_H
#define IDLED_MANAGER_TRIAL_H

#include "manager/manager.h"
#include "manager/trial.h"

/* Begins a trial and decides again, before it returns; a trial of the same sender ends in the same
 * step. -EBUSY: another client's trial runs; -EOPNOTSUPP: a policy of `ignored` is not active; else
 * as config_set(). `*ret_error` says what is wrong. After any error but -EBUSY no trial runs. */
int manager_trial_start(Manager *manager, const TrialRequest *request, int *ret_fd,
                        char **ret_error);

/* No client replaces the trial by name any more, because names on another bus are other
 * clients'. */
void manager_trial_forget_sender(Manager *manager);

#endif
