/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Deciding: what the policies request, and what of it is safe.
 */
#include "manager/decided-parts.h"

#include <sys/mman.h>

#include "manager/evaluation.h"
#include "model/pack.h"

static const CpuSet *allowed_now(const Decided *decided)
{
        return &done_plan(decided->done)->allowed;
}

unsigned decided_senses(const Decided *decided)
{
        unsigned senses = SENSE_LOAD | active_profile_senses(decided->ground->config) |
                          evaluation_senses(decided) | done_plan(decided->done)->reads;

        for (guint i = 0; i < decided->policies->len; i++) {
                const ActivePolicy *p = &g_array_index(decided->policies, ActivePolicy, i);

                senses |= p->policy->needs;
                if (p->policy->reads)
                        senses |= p->policy->reads(p->section->options);
        }
        return senses;
}

PolicyInput decided_input(const Decided *decided, const ActivePolicy *active)
{
        const Hold *holds;
        unsigned n_holds = holds_list(asked_holds(decided->asked), &holds);
        PolicyInput input = {
                .holds = holds,
                .n_holds = (int)n_holds,
                .topology = seen_topology(decided->seen),
                .snapshot = seen_snapshot(decided->seen),
                .allowed = allowed_now(decided),
                .effect = evaluation_honours(decided, active) && !decided->ground->setup.dry_run,
                .idle = seen_machine(decided->seen)->idle,
                .frequency = seen_machine(decided->seen)->frequency,
                .n_frequency = seen_machine(decided->seen)->n_frequency,
                .options = active->section->options,
        };

        input.n_contracts = contracts_list(asked_contracts(decided->asked), &input.contracts);
        return input;
}

/* Room for the requests of the next plan, which the current plan does not use; NULL if there are no
 * such requests. */
static CpuWish *free_cpu_wishes(const Decided *decided)
{
        if (!seen_machine(decided->seen)->needed)
                return NULL;
        return decided->cpu_wishes[done_plan(decided->done)->cpus == decided->cpu_wishes[0]];
}

/* Removes the cores beyond max_cores from the policy's request. */
static void pack_wish(const Decided *decided, ActivePolicy *p, const CpuSet *offered)
{
        PackSize size = { .cores = (int)MIN(p->wish.max_cores, (unsigned)CPUSET_MAX) };
        CpuSet choice = p->wish.allowed, parked;

        if (!p->pack)
                p->pack = g_new0(Pack, 1);
        cpuset_and(&choice, offered);
        pack_update(p->pack, seen_topology(decided->seen), &choice, PACK_EFFICIENCY,
                    (PackKinds){ 0 });
        pack_parked(p->pack, seen_topology(decided->seen), size, &parked);
        cpuset_subtract(&p->wish.allowed, &parked);
}

/* `plan` has the requests of the policies of higher rank. */
static void ask(Decided *decided, ActivePolicy *p, const Plan *plan)
{
        PolicyInput input = decided_input(decided, p);

        input.offered = &plan->allowed;
        input.kept = &plan->kept;
        input.contract_cores = plan->contract_cores;
        wish_init(&p->wish);
        if (p->cpus)
                wish_init_cpus(&p->wish, p->cpus, seen_topology(decided->seen)->n_cpus);
        p->policy->decide(p->state, &input, &p->wish);
        if (p->wish.max_cores > 0)
                pack_wish(decided, p, &plan->allowed);
}

/* Adds what the policy requests; while that is ignored, only when to call it again. */
static void merge(const Decided *decided, const ActivePolicy *p, Plan *plan)
{
        Wish timing;

        if (evaluation_honours(decided, p)) {
                plan_merge(plan, &p->wish);
                return;
        }
        wish_init(&timing);
        timing.period_usec = p->wish.period_usec;
        timing.wake_at_usec = p->wish.wake_at_usec;
        timing.settled = p->wish.settled;
        timing.on_pressure = p->wish.on_pressure;
        timing.reads = p->wish.reads;
        timing.p99_us = p->wish.p99_us;
        if (!cpuset_is_empty(&p->wish.kept) &&
            trial_honours(asked_trial(decided->asked), p->policy->name) < 0) {
                timing.kept = plan->allowed; /* no policy parks instead */
                cpuset_and(&timing.kept, &seen_topology(decided->seen)->online);
        }
        plan_merge(plan, &timing);
}

/* Pinned tasks can end without an event. True if it is time to check whether idled could park the
 * CPUs that stay active for them. The timer starts a tick at that time. */
static bool should_recheck(const Decided *decided)
{
        uint64_t due = affinity_cache_due(seen_affinities(decided->seen));

        return due > 0 && manager_now() >= due;
}

bool decided_decide(Decided *decided, bool by_holds, Plan *ret_plan)
{
        guint n = pauses_any(asked_pauses(decided->asked)) ? 0 : decided->policies->len;
        Plan before = decided->wished;

        plan_init(ret_plan, free_cpu_wishes(decided), seen_topology(decided->seen)->n_cpus);
        for (guint i = 0; i < n; i++) {
                ActivePolicy *p = &g_array_index(decided->policies, ActivePolicy, i);

                p->before = p->wish.allowed;
                if (!by_holds || p->policy->wishes & (WISHES_BY_HOLDS | WISHES_BESIDE_HOLDS))
                        ask(decided, p, ret_plan);
                merge(decided, p, ret_plan);
                if (p->policy->wishes & WISHES_NAMED_CPUS)
                        cpuset_and(&ret_plan->widest, &p->wish.allowed);
        }
        plan_sanitize_cpus(ret_plan, seen_machine(decided->seen)->idle);
        decided->wished = *ret_plan;
        return !plan_equal(&before, ret_plan) || should_recheck(decided);
}

static bool depends_on_affinities(Safety safety)
{
        return safety == SAFETY_PINNED || safety == SAFETY_NODE || safety == SAFETY_UNKNOWN;
}

/* Parks no more than is parked. */
static void keep_what_is_allowed(const Decided *decided, Plan *plan, const char *why,
                                 const SafetyNotes *notes)
{
        CpuSet added = *allowed_now(decided);

        cpuset_subtract(&added, &plan->allowed);
        CPUSET_FOREACH(cpu, &added) {
                notes->safety[cpu] = SAFETY_UNKNOWN;
                notes->owners[cpu] = why;
        }
        cpuset_or(&plan->allowed, &added);
        cpuset_subtract(&plan->resting, &added);
}

/* True if the plan parks CPUs that are active now, unless a window is open. */
static bool parks_more(Decided *decided, const Plan *plan)
{
        CpuSet leave = *allowed_now(decided);

        cpuset_subtract(&leave, &plan->allowed);
        cpuset_and(&leave, &seen_topology(decided->seen)->online);
        if (cpuset_intersects(&leave, &plan->widest) &&
            watching_find_window(seen_watching(decided->seen)))
                cpuset_subtract(&leave, &plan->widest);
        return !cpuset_is_empty(&leave);
}

void decided_make_safe(Decided *decided, Plan *plan, const SafetyNotes *notes)
{
        g_autoptr(GArray) limits = done_unit_limits(decided->done);
        AffinityCache *cache = seen_affinities(decided->seen);
        bool parks = parks_more(decided, plan), units_known, keeps = false;
        bool known = !parks || affinity_cache_refresh(cache, seen_topology(decided->seen),
                                                      allowed_now(decided), limits);
        Dependents who;

        if (!parks)
                affinity_cache_expire(cache); /* it will be old when it is wanted */
        units_known = watching_dependents(seen_watching(decided->seen), parks,
                                          done_follows_starts(decided->done), &who);
        who.tasks = affinity_cache_tasks(cache);
        plan_sanitize(plan, seen_topology(decided->seen), &who, notes);
        decided->asking = !known || !units_known;
        if (decided->asking)
                keep_what_is_allowed(
                        decided, plan,
                        known ? "idled is waiting for systemd to report which CPUs its units need"
                              : NULL,
                        notes);
        plan_sanitize_quiet(plan);
        ground_take(decided->ground, DUE_UNSAFE);
        for (int cpu = 0; cpu < seen_topology(decided->seen)->n_cpus; cpu++)
                keeps |= depends_on_affinities(notes->safety[cpu]);
        affinity_cache_note(cache, keeps);
}

static void drop_policies(GArray *policies)
{
        for (guint i = 0; i < policies->len; i++) {
                ActivePolicy *p = &g_array_index(policies, ActivePolicy, i);

                if (p->state)
                        munmap(p->state, p->policy->state_size + 1);
                g_free(p->cpus);
                g_free(p->pack);
                g_free(p->evaluator);
        }
        g_array_set_size(policies, 0);
}

/* Zeroes. Most of a state is for CPUs or contracts that are not there: in memory of its own, which
 * nothing has used before, that part takes none. */
static void *state_new(const IdledPolicy *policy)
{
        void *state = mmap(NULL, policy->state_size + 1, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (state == MAP_FAILED)
                g_error("out of memory");
        return state;
}

/* Gives `active` the state of the same policy as it was, or a new one. */
static void take_state(const Decided *decided, ActivePolicy *active)
{
        const IdledPolicy *policy = active->policy;
        GArray *old = decided->policies;

        for (guint i = 0; i < old->len; i++) {
                ActivePolicy *p = &g_array_index(old, ActivePolicy, i);

                if (p->policy != policy)
                        continue;
                active->state = g_steal_pointer(&p->state);
                active->evaluator = g_steal_pointer(&p->evaluator);
                active->wish.allowed = p->wish.allowed;
                return;
        }
        active->state = state_new(policy);
        evaluation_begin(decided, active, false);
        if (policy->init)
                policy->init(active->state, seen_topology(decided->seen));
}

static GArray *start_policies(const Decided *decided, const Config *config)
{
        GArray *policies = g_array_new(FALSE, TRUE, sizeof(ActivePolicy));

        for (guint i = 0; i < config->policies->len; i++) {
                const IdledPolicy *policy = g_ptr_array_index(config->policies, i);
                ActivePolicy active = {
                        .policy = policy,
                        .section = config_section(config, policy->name),
                };

                wish_init(&active.wish);
                take_state(decided, &active);
                if (policy->wishes & WISHES_CPUS)
                        active.cpus = g_new0(CpuWish, (gsize)seen_topology(decided->seen)->n_cpus);
                g_array_append_val(policies, active);
        }
        return policies;
}

const ActivePolicy *decided_who(const Decided *decided, unsigned wishes)
{
        const ActivePolicy *p;

        for (unsigned i = 0; (p = decided_policy(decided, i)); i++)
                if (p->policy->wishes & wishes)
                        break;
        return p;
}

void decided_use_config(Decided *decided, const Config *config)
{
        int n_cpus = seen_topology(decided->seen)->n_cpus;
        GArray *policies;
        bool single; /* there are requests for single CPUs */

        evaluation_choose_source(decided, config);
        policies = start_policies(decided, config);
        drop_policies(decided->policies);
        g_array_unref(decided->policies);
        decided->policies = policies;
        single = decided_who(decided, WISHES_CPUS);
        seen_read_facts(decided->seen, single);
        for (int i = 0; i < 2; i++)
                if (single && !decided->cpu_wishes[i])
                        decided->cpu_wishes[i] = g_new0(CpuWish, (gsize)n_cpus);
}

const ActivePolicy *decided_policy(const Decided *decided, unsigned i)
{
        return i < decided->policies->len ? &g_array_index(decided->policies, ActivePolicy, i)
                                          : NULL;
}

History *decided_history(const Decided *decided)
{
        return decided->history;
}

bool decided_is_asking(const Decided *decided)
{
        return decided->asking;
}

Decided *decided_new(Ground *ground, Seen *seen, const Asked *asked, const Done *done)
{
        Decided *decided = g_new0(Decided, 1);

        *decided = (Decided){ .ground = ground, .seen = seen, .asked = asked, .done = done };
        decided->policies = g_array_new(FALSE, TRUE, sizeof(ActivePolicy));
        decided->history = history_new(seen_topology(seen)->n_cpus, manager_now());
        evaluation_init(decided);
        return decided;
}

void decided_free(Decided *decided)
{
        if (!decided)
                return;
        drop_policies(decided->policies);
        g_array_unref(decided->policies);
        evaluation_done(decided);
        history_free(decided->history);
        g_free(decided->cpu_wishes[0]);
        g_free(decided->cpu_wishes[1]);
        g_free(decided);
}
