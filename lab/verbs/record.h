/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab record: what its parts share.
 */
#ifndef IDLED_CTL_RECORD_H
#define IDLED_CTL_RECORD_H

#include "cli/verb.h"
#include "recording/file.h"
#include "recording/sample.h"
#include "cli/sleeps-read.h"

/* What was asked for; 0 and NULL: not given. */
typedef struct RecordAsks {
        const char *file, *idle;
        RecordingLimits limits;
        bool append, sleeps;
        bool daemon; /* idled itself keeps a ring, from now on */
        bool causes, exits;
} RecordAsks;

extern RecordAsks record_asked;

/* The recording of idle periods: --idle FILE. */
int record_idle_ask(Ctl *ctl, json_object **ret_answer);
void record_idle_show(const Ctl *ctl, json_object *answer);

/* The recording of samples: FILE. `command` is empty or ends with NULL. */
int record_file_ask(Ctl *ctl, char *const *command, json_object **ret_answer);
void record_file_show(const Ctl *ctl, json_object *answer);

/* What idled knows: its plan, holds and transitions. */
typedef struct RecordDaemon RecordDaemon;

/* `machine` is the table of samples. */
RecordDaemon *record_daemon_new(Client *client, RecordingSampler *sampler, RecordingTable *machine);
void record_daemon_free(RecordDaemon *daemon);

/* Asks idled, at most once a second, and adds the events that came. `cpus` are the rows of the next
 * sample, of `n_cpus` CPUs. */
void record_daemon_ask(RecordDaemon *daemon, RecordingCpu *cpus, int n_cpus);

/* Adds to the row of the sample. */
void record_daemon_put(RecordDaemon *daemon);

#endif
