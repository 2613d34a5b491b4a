/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known of tasks' affinities: scans that go on while the event loop does.
 */
#include "manager/affinity-cache.h"

#include <glib.h>

#include "base/log.h"
#include "sense/affinities.h"

#define COST_FACTOR 100
#define SAVED_USEC  (G_USEC_PER_SEC / 2)

/* This many tasks are scanned at once, before anything else: a task takes up to 50 us. Most
 * machines have fewer, so the answer is available at once. */
#define FIRST   400
#define AT_ONCE 100

/* CPUs that are kept active for pinned tasks are checked again after this time. */
#define AGAIN_USEC (10 * G_USEC_PER_SEC)

struct AffinityCache {
        Ground *ground;
        const CpuSet *parked_now;

        Affinities *tasks;  /* of the last scan; NULL: none yet */
        uint64_t time_usec; /* of that scan */
        int64_t left_usec;  /* what scans might have cost after it */
        uint64_t due_usec;  /* when to scan again because of `tasks`; 0: no need */

        AffinityScan *scan;      /* that goes on; NULL: none */
        sd_event_source *source; /* continues it */
        uint64_t began_usec;
        int64_t budget_usec;   /* what it might cost when it began */
        uint64_t cost_usec;    /* what it did */
        CpuSet parked, online; /* that it took for granted */
        bool is_new;           /* its findings are still unused */
};

AffinityCache *affinity_cache_new(Ground *ground, const CpuSet *parked)
{
        AffinityCache *cache = g_new0(AffinityCache, 1);

        cache->ground = ground;
        cache->parked_now = parked;
        return cache;
}

void affinity_cache_free(AffinityCache *cache)
{
        if (!cache)
                return;
        sd_event_source_disable_unref(cache->source);
        affinity_scan_free(cache->scan);
        affinities_free(cache->tasks);
        g_free(cache);
}

/* What scans may cost now, in microseconds; below zero: not yet. */
static int64_t budget_at(const AffinityCache *cache, uint64_t now)
{
        uint64_t waited = cache->tasks ? now - cache->time_usec : 0;
        int64_t budget = cache->tasks ? cache->left_usec : SAVED_USEC;

        return MIN(budget + (int64_t)(waited / COST_FACTOR), SAVED_USEC);
}

/* Makes one step of the scan; true if there are more. */
static bool step(AffinityCache *cache, unsigned tasks)
{
        uint64_t start = manager_now();
        bool more = affinity_scan_step(cache->scan, tasks);

        cache->cost_usec += manager_now() - start;
        return more;
}

static void take(AffinityCache *cache)
{
        affinities_free(cache->tasks);
        cache->tasks = affinity_scan_end(g_steal_pointer(&cache->scan));
        cache->time_usec = cache->began_usec;
        cache->left_usec = cache->budget_usec - (int64_t)cache->cost_usec;
}

static int on_step(sd_event_source *source, void *userdata)
{
        AffinityCache *cache = userdata;

        if (!cache->scan)
                return 0;
        if (!cpuset_equal(&cache->parked, cache->parked_now))
                g_clear_pointer(&cache->scan, affinity_scan_free);
        else if (step(cache, AT_ONCE))
                return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        else {
                take(cache);
                cache->is_new = true;
        }
        cache->due_usec = manager_now();
        ground_raise(cache->ground, DUE_TICK_SOON);
        return 0;
}

/* Lets the event loop go on with the scan. */
static int go_on_later(AffinityCache *cache)
{
        int r = 0;

        if (!cache->source)
                r = sd_event_add_defer(cache->ground->event, &cache->source, on_step, cache);
        return r < 0 ? r : sd_event_source_set_enabled(cache->source, SD_EVENT_ONESHOT);
}

static int begin(AffinityCache *cache, const Topology *topology, const CpuSet *allowed,
                 const GArray *limits, int64_t budget)
{
        const CpuSet *confined = cpuset_is_empty(cache->parked_now) ? NULL : allowed;
        int r;

        cache->began_usec = manager_now();
        cache->budget_usec = budget;
        cache->cost_usec = 0;
        cache->parked = *cache->parked_now;
        cache->online = topology->online;
        r = affinity_scan_new(cache->ground->setup.root, topology, confined, &cache->scan);
        for (guint i = 0; r >= 0 && i < limits->len; i++)
                affinity_scan_permit(cache->scan, &g_array_index(limits, CpuSet, i));
        return r;
}

bool affinity_cache_refresh(AffinityCache *cache, const Topology *topology, const CpuSet *allowed,
                            const GArray *limits)
{
        bool valid = cpuset_equal(&cache->parked, cache->parked_now) &&
                     cpuset_equal(&cache->online, &topology->online);
        int64_t budget = budget_at(cache, manager_now());
        bool is_new = cache->is_new;
        int r;

        cache->is_new = false;
        if (cache->scan && valid)
                return false;
        if (is_new && valid)
                return true;
        g_clear_pointer(&cache->scan, affinity_scan_free);
        if (budget < 0)
                return false;
        r = begin(cache, topology, allowed, limits, budget);
        if (r < 0) {
                log_debug("Failed to read the affinities of tasks: %s", g_strerror(-r));
                return true;
        }
        if (step(cache, FIRST) && go_on_later(cache) >= 0)
                return false;
        while (affinity_scan_step(cache->scan, AT_ONCE))
                continue;
        take(cache);
        return true;
}

void affinity_cache_expire(AffinityCache *cache)
{
        cache->is_new = false;
}

const Affinities *affinity_cache_tasks(const AffinityCache *cache)
{
        return cache->tasks;
}

void affinity_cache_note(AffinityCache *cache, bool keeps)
{
        uint64_t now = manager_now();
        int64_t budget = budget_at(cache, now);

        cache->due_usec = 0;
        if (keeps && !cache->scan)
                cache->due_usec = budget < 0 ? now + (uint64_t)-budget * COST_FACTOR
                                             : now + AGAIN_USEC;
}

uint64_t affinity_cache_due(const AffinityCache *cache)
{
        return cache->due_usec;
}
