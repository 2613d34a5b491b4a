/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verbs of idlectl: one in each file of verbs/ that has its name.
 */
#ifndef IDLED_CTL_VERBS_H
#define IDLED_CTL_VERBS_H

#include "cli/verb.h"

extern const Verb verb_status, verb_top, verb_cpus, verb_why, verb_policies, verb_set, verb_profile,
        verb_pause, verb_resume, verb_reload, verb_check, verb_settings, verb_verify, verb_hold,
        verb_run, verb_holds, verb_sleeps, verb_bill, verb_release, verb_doctor, verb_metrics,
        verb_dump;

#endif
