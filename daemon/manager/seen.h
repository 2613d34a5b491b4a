/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is seen: the machine and its drivers, readings, and what depends on CPUs.
 */
#ifndef IDLED_SEEN_H
#define IDLED_SEEN_H

#include "manager/affinity-cache.h"
#include "manager/observers.h"
#include "manager/watching.h"

typedef struct Seen Seen;

/* `knobs` are those that idled changes. Negative errno. */
int seen_new(Ground *ground, const Knobs *knobs, Seen **ret_seen);
void seen_free(Seen *seen);

/* Listens for CPUs that come and go, and reads energy before counters wrap. */
void seen_listen(Seen *seen);
void seen_unlisten(Seen *seen);

/* Takes the reading that the policies decide by, of these Sense flags, unless the last one is as
 * good as new. `pressed`: an event reported load. A failure is logged. */
int seen_read(Seen *seen, unsigned senses, bool pressed);

/* Reads CPUs and their groups again; true if something changed. */
bool seen_rescan(Seen *seen);

/* Reads what the machine offers, if an active policy needs it; drops what was read before. */
void seen_read_facts(Seen *seen, bool needed);

/* Whether the drivers differ from those of the last reading of the facts, which no event reports
 * reliably. If so, it reads the facts again, and a tick is due. Costs a few file reads. */
bool seen_recheck_facts(Seen *seen);

/* Takes a better source of energy if there is one now, as after its driver was loaded. Totals begin
 * again, and so do trials that were measured by another one. */
void seen_find_energy(Seen *seen);

/* Whether the machine was asleep since the last call; then all knobs count as set by firmware or
 * kernel, and the plan must be carried out again. */
bool seen_note_sleep(Seen *seen);
void seen_distrust_knobs(Seen *seen);

/* These CPUs are parked from now on. True if others were. */
bool seen_set_parked(Seen *seen, const CpuSet *parked);

/* The CPUs whose knobs the kernel or firmware has set since the last call. */
CpuSet seen_take_returned(Seen *seen);

/* The CPUs, with what their drivers offer and alone; the online CPUs that are kept free of work
 * now; the policies' last reading, and by which sensors others read. */
const MachineFacts *seen_machine(const Seen *seen);
const Topology *seen_topology(const Seen *seen);
const CpuSet *seen_parked(const Seen *seen);
const Snapshot *seen_snapshot(const Seen *seen);
Sensors *seen_sensors(const Seen *seen);

/* Its parts. */
Observers *seen_observers(const Seen *seen);
AffinityCache *seen_affinities(const Seen *seen);
Watching *seen_watching(const Seen *seen);

#endif
