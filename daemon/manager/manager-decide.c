/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Deciding: what the policies request, and what of it is safe.
 */
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"
#include "model/pack.h"

static const CpuSet *allowed_now(const Manager *manager)
{
        return &manager->plan.allowed;
}

unsigned manager_needed_senses(const Manager *manager)
{
        unsigned senses = SENSE_LOAD | active_profile_senses(manager->config) |
                          manager_evaluation_senses(manager) | manager->plan.reads;

        for (guint i = 0; i < manager->policies->len; i++) {
                const ActivePolicy *p = &g_array_index(manager->policies, ActivePolicy, i);

                senses |= p->policy->needs;
                if (p->policy->reads)
                        senses |= p->policy->reads(p->section->options);
        }
        return senses;
}

PolicyInput manager_policy_input(const Manager *manager, const ActivePolicy *active)
{
        const Hold *holds;
        unsigned n_holds = holds_list(manager->holds, &holds);

        return (PolicyInput){
                .holds = holds,
                .n_holds = (int)n_holds,
                .topology = manager->machine.topology,
                .snapshot = manager->readings.seen,
                .allowed = allowed_now(manager),
                .effect = manager_honours(manager, active),
                .idle = manager->machine.idle,
                .frequency = manager->machine.frequency,
                .n_frequency = manager->machine.n_frequency,
                .options = active->section->options,
        };
}

/* Room for the requests of the next plan, which the current plan does not use; NULL if there are no
 * such requests. */
static CpuWish *free_cpu_wishes(const Manager *manager)
{
        if (!manager_wishes_cpus(manager))
                return NULL;
        return manager->cpu_wishes[manager->plan.cpus == manager->cpu_wishes[0]];
}

/* Removes the cores beyond max_cores from the policy's request. */
static void pack_wish(const Manager *manager, ActivePolicy *p, const CpuSet *offered)
{
        PackSize size = { .cores = (int)MIN(p->wish.max_cores, (unsigned)CPUSET_MAX) };
        CpuSet choice = p->wish.allowed, parked;

        if (!p->pack)
                p->pack = g_new0(Pack, 1);
        cpuset_and(&choice, offered);
        pack_update(p->pack, manager->machine.topology, &choice, PACK_EFFICIENCY);
        pack_parked(p->pack, manager->machine.topology, size, &parked);
        cpuset_subtract(&p->wish.allowed, &parked);
}

static void ask(Manager *manager, ActivePolicy *p, const CpuSet *offered)
{
        PolicyInput input = manager_policy_input(manager, p);

        input.offered = offered;
        wish_init(&p->wish);
        if (p->cpus)
                wish_init_cpus(&p->wish, p->cpus, manager->machine.topology->n_cpus);
        p->policy->decide(p->state, &input, &p->wish);
        if (p->wish.max_cores > 0)
                pack_wish(manager, p, offered);
}

/* Adds what the policy requests; while that is ignored, only when to call it again. */
static void merge(const Manager *manager, const ActivePolicy *p, Plan *plan)
{
        Wish timing;

        if (manager_honours(manager, p)) {
                plan_merge(plan, &p->wish);
                return;
        }
        wish_init(&timing);
        timing.period_usec = p->wish.period_usec;
        timing.wake_at_usec = p->wish.wake_at_usec;
        timing.settled = p->wish.settled;
        timing.on_pressure = p->wish.on_pressure;
        timing.reads = p->wish.reads;
        plan_merge(plan, &timing);
}

void manager_decide(Manager *manager, bool by_holds, Plan *ret_plan)
{
        plan_init(ret_plan, free_cpu_wishes(manager), manager->machine.topology->n_cpus);
        for (guint i = 0; i < manager->policies->len && !pauses_any(manager->pauses); i++) {
                ActivePolicy *p = &g_array_index(manager->policies, ActivePolicy, i);

                p->before = p->wish.allowed;
                if (!by_holds || p->policy->wishes & (WISHES_BY_HOLDS | WISHES_BESIDE_HOLDS))
                        ask(manager, p, &ret_plan->allowed);
                merge(manager, p, ret_plan);
                if (p->policy->wishes & WISHES_NAMED_CPUS)
                        cpuset_and(&ret_plan->widest, &p->wish.allowed);
        }
        plan_sanitize_cpus(ret_plan, manager->machine.idle);
        manager->wished = *ret_plan;
}

static bool depends_on_affinities(Safety safety)
{
        return safety == SAFETY_PINNED || safety == SAFETY_NODE || safety == SAFETY_UNKNOWN;
}

/* Parks no more than is parked. */
static void keep_what_is_allowed(const Manager *manager, Plan *plan, const char *why,
                                 const SafetyNotes *notes)
{
        CpuSet added = *allowed_now(manager);

        cpuset_subtract(&added, &plan->allowed);
        CPUSET_FOREACH(cpu, &added) {
                notes->safety[cpu] = SAFETY_UNKNOWN;
                notes->owners[cpu] = why;
        }
        cpuset_or(&plan->allowed, &added);
        cpuset_subtract(&plan->resting, &added);
}

/* True if the plan parks CPUs that are active now, unless a window is open. */
static bool parks_more(Manager *manager, const Plan *plan)
{
        CpuSet leave = *allowed_now(manager);

        cpuset_subtract(&leave, &plan->allowed);
        cpuset_and(&leave, &manager->machine.topology->online);
        if (cpuset_intersects(&leave, &plan->widest) && manager_find_window(manager))
                cpuset_subtract(&leave, &plan->widest);
        return !cpuset_is_empty(&leave);
}

void manager_make_safe(Manager *manager, Plan *plan, const SafetyNotes *notes)
{
        AffinityCache *cache = manager->affinities;
        bool parks = parks_more(manager, plan), units_known, keeps = false;
        bool known = !parks ||
                     affinity_cache_refresh(cache, manager->machine.topology, allowed_now(manager));
        Dependents who;

        if (!parks)
                affinity_cache_expire(cache); /* it will be old when it is wanted */
        units_known = manager_dependents(manager, parks, manager_follows_starts(manager), &who);
        plan_sanitize(plan, manager->machine.topology, &who, notes);
        manager->asking = !known || !units_known;
        if (manager->asking)
                keep_what_is_allowed(
                        manager, plan,
                        known ? "idled is waiting for systemd to report which CPUs its units need"
                              : NULL,
                        notes);
        plan_sanitize_quiet(plan);
        manager->unsafe = false;
        for (int cpu = 0; cpu < manager->machine.topology->n_cpus; cpu++)
                keeps |= depends_on_affinities(notes->safety[cpu]);
        affinity_cache_note(cache, keeps);
}

bool manager_should_recheck(const Manager *manager)
{
        uint64_t due = affinity_cache_due(manager->affinities);

        return due > 0 && manager_now() >= due;
}
