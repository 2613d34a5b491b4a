/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What idled and idlelab record of a machine: the tables that docs/recording.md describes, filled
 * from snapshots. Callers may add columns of their own to the row.
 */
#ifndef IDLED_RECORDING_SAMPLE_H
#define IDLED_RECORDING_SAMPLE_H

#include "model/idle-table.h"
#include "model/snapshot.h"
#include "model/topology.h"
#include "recording/batch.h"

/* Facts about a CPU that are not in a snapshot; NaN: not known. */
typedef struct RecordingCpu {
        double frequency_khz;    /* while it was busy */
        double parked;           /* 0 or 1 */
        double latency_limit_us; /* by PM QoS */
        double min_khz, max_khz; /* limits of cpufreq */
} RecordingCpu;

/* Nothing of it is known. */
extern const RecordingCpu recording_cpu_unknown;

typedef struct RecordingSampler RecordingSampler;

/* The batch is kept by the caller. */
RecordingSampler *recording_sampler_new(RecordingBatch *batch);
void recording_sampler_free(RecordingSampler *sampler);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RecordingSampler, recording_sampler_free)

/* Facts about the recording and the machine below `root`. */
void recording_facts(RecordingSampler *sampler, int root, const char *program, const char *version,
                     uint64_t interval_usec);

/* Sets a fact about the whole recording, such as "kernel"; value NULL: none. */
void recording_fact(RecordingSampler *sampler, const char *key, const char *value);

/* True before the first sample and when CPUs came or went: recording_machine() is due. */
bool recording_is_other(const RecordingSampler *sampler, const Topology *topology);

/* The CPUs and, by CPU number, their idle states, which the sampler frees when there are other
 * CPUs. Adds an event if there were other CPUs before. */
void recording_machine(RecordingSampler *sampler, const Topology *topology, IdleTable *tables);

/* Adds a row to table machine, and one for each CPU of the snapshot to table cpu. A snapshot
 * without an interval, the first, adds nothing: then false. `cpus` is by CPU number; NULL: nothing
 * known. Callers may then set more values in the row of table machine. */
bool recording_sample(RecordingSampler *sampler, const Snapshot *seen, const RecordingCpu *cpus);

/* To be called with each sample, by the time of CLOCK_REALTIME and CLOCK_BOOTTIME: adds an event if
 * samples are missing, because more than three intervals passed since the last, and one if the
 * clock was set. */
void recording_clocks(RecordingSampler *sampler, uint64_t real_usec, uint64_t boot_usec,
                      uint64_t interval_usec);

/* Something that happened; what is not said is NULL. */
typedef struct RecordingEvent {
        uint64_t time_usec; /* CLOCK_REALTIME */
        const char *kind;   /* "transition", "hold", ...: docs/recording.md */
        const char *cpus;   /* in list format */
        const char *policy;
        const char *text; /* for people; all of it, because only root can read idled's recording */
} RecordingEvent;

void recording_event(RecordingSampler *sampler, const RecordingEvent *event);

/* The same of something that happens now. */
void recording_event_now(RecordingSampler *sampler, const char *kind, const char *cpus,
                         const char *policy, const char *text);

/* What idled decided. Each adds an event if it is not what was said before. `name` NULL: there is
 * no profile; `pauses` NULL: there are none. */
void recording_profile(RecordingSampler *sampler, const char *name, const char *reason);
void recording_pauses(RecordingSampler *sampler, const char *pauses);

/* What a hold asks for; what is not said is 0 or NULL, and `latency_us` negative. */
typedef struct RecordingHold {
        uint64_t id;
        const char *owner;
        unsigned uid;
        int64_t latency_us, p99_us, khz, cores;
        bool global; /* the latency is that of all CPUs */
        const char *cpus, *kinds, *profile, *reason;
} RecordingHold;

/* To be called for each hold, and then for their end: adds events for those that came and went. */
void recording_hold(RecordingSampler *sampler, const RecordingHold *hold);
void recording_holds_end(RecordingSampler *sampler);

#endif
