/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The affinities of tasks as last scanned, and when to scan again.
 *
 * Only a scan of all threads finds pinned tasks. So idled scans when it can matter: when CPUs are
 * about to be parked, or when an earlier scan still keeps one active. An older scan is not enough:
 * a task that pinned itself since then would be moved, and nothing shows that afterwards. In the
 * long run the scans may cost one percent of a CPU. Unspent time accumulates. When all of it is
 * spent, idled parks no more CPUs.
 */
#ifndef IDLED_AFFINITY_CACHE_H
#define IDLED_AFFINITY_CACHE_H

#include "manager/ground.h"
#include "model/plan.h"

typedef struct AffinityCache AffinityCache;

/* When a scan that took several turns of the loop is over a tick is due. `parked` are the parked
 * CPUs, now and later. */
AffinityCache *affinity_cache_new(Ground *ground, const CpuSet *parked);
void affinity_cache_free(AffinityCache *cache);

/* Scans, given the CPUs that the plan in effect allows and those that idled limits units to. False
 * if that would cost too much now, or takes time: then a tick is due when the affinities are
 * known. */
bool affinity_cache_refresh(AffinityCache *cache, const Topology *topology, const CpuSet *allowed,
                            const GArray *limits);

/* What the last scan found, of no use for parking more: the next refresh scans again. */
void affinity_cache_expire(AffinityCache *cache);

/* What the last scan found; NULL before the first. */
const Affinities *affinity_cache_tasks(const AffinityCache *cache);

/* Pinned tasks may go without an event. `keeps`: the last plan keeps CPUs active for them. */
void affinity_cache_note(AffinityCache *cache, bool keeps);

/* When to scan again for that reason, CLOCK_MONOTONIC in microseconds; 0: there is none. */
uint64_t affinity_cache_due(const AffinityCache *cache);

#endif
