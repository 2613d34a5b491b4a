/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verbs of idlelab: one in each file of verbs/ that has its name.
 */
#ifndef IDLED_LAB_VERBS_H
#define IDLED_LAB_VERBS_H

#include "cli/verb.h"

extern const Verb verb_record, verb_export, verb_report, verb_diff, verb_replay, verb_advise,
        verb_latency, verb_estimate, verb_prove;

#endif
