/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A trial: settings that a client changes while it compares two ways of running the machine.
 *
 * A trial makes idled ignore the requests of some policies, or honour them whatever they save, and
 * sets options to other values. As with a hold, the client gets a descriptor. When the client
 * closes its last copy or exits, idled restores everything. idled can end a trial, too: it closes
 * its own end, which poll() on the descriptor shows as POLLERR.
 *
 * Only one trial runs at a time, because two would be measured together. A trial that changes
 * nothing keeps others from starting.
 *
 * asked.c makes trials and carries them out.
 */
#ifndef IDLED_TRIAL_H
#define IDLED_TRIAL_H

#include <systemd/sd-event.h>

#include "config/option-changes.h"

/* What becomes of a policy's requests. */
typedef struct TrialPolicy {
        const char *name;
        bool honoured;
} TrialPolicy;

typedef struct Trial {
        char *owner;  /* for people */
        char *sender; /* its name on the bus */
        char *reason;
        GArray *policies;        /* of TrialPolicy */
        OptionChanges *changes;  /* its options */
        sd_event_source *source; /* the client's descriptor */
} Trial;

/* A trial that does nothing yet. It has copies of the policies (TrialPolicy) and the options
 * (OptionValue); texts for people are cleaned. */
Trial *trial_new(const char *owner, const char *sender, const char *reason, const GArray *policies,
                 const GArray *options);
void trial_free(Trial *trial);

/* 1: the policy's requests are honoured; 0: ignored; -1: the trial leaves that as it is, or `trial`
 * is NULL. */
int trial_honours(const Trial *trial, const char *policy);

/* False if `trial` is NULL. */
bool trial_sets(const Trial *trial, const char *section, const char *key);

#endif
